package process

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/lexsem/lexsem/encoder"
	"github.com/lexsem/lexsem/encoder/encodertest"
)

// TestMain makes the test binary the program that an encoder starts, if the variable says how it is to behave.
func TestMain(m *testing.M) {
	if how := os.Getenv("LEXSEM_TEST_PROGRAM"); how != "" {
		answers(how)
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// answers plays a program with the model hash-64. how: "tokens", "plain" (no tokenizer), or a fault.
func answers(how string) {
	h := encoder.NewHash(64)
	in := bufio.NewReader(os.Stdin)
	for n := 0; ; n++ {
		line, err := in.ReadBytes('\n')
		if err != nil {
			return
		}
		var r request
		if err := json.Unmarshal(line, &r); err != nil {
			fmt.Println(`{"error":"no JSON"}`)
			continue
		}
		if mark := os.Getenv("LEXSEM_TEST_MARK"); r.Op == "encode" && len(r.Texts) > 0 && r.Texts[0] == "die" && mark != "" {
			if _, err := os.Stat(mark); how == "dies" || err != nil { // "once": the second start finds the mark
				_ = os.WriteFile(mark, nil, 0o600)
				fmt.Fprintln(os.Stderr, "out of memory on the accelerator")
				os.Exit(3)
			}
		}
		reply := map[string]any{}
		switch {
		case r.Op == "info":
			reply["model"], reply["dim"] = "test-"+how, 64
			if how != "plain" {
				reply["vocab"], reply["max_tokens"], reply["hidden"] = h.VocabSize(), h.Fingerprint().MaxTokens, false
			}
			if how == "no dim" {
				delete(reply, "dim")
			}
		case len(r.Texts) == 1 && r.Texts[0] == "hang":
			time.Sleep(time.Hour)
		case len(r.Texts) == 1 && r.Texts[0] == "chat":
			fmt.Println("loading weights")
			continue
		case len(r.Texts) == 1 && r.Texts[0] == "refuse":
			reply["error"] = "this text is refused"
		default:
			role := encoder.Passage
			if r.Role == "query" {
				role = encoder.Query
			}
			out, err := h.Encode(context.Background(), role, encoder.Texts(r.Texts...), encoder.NeedDense)
			if err != nil {
				reply["error"] = err.Error()
				break
			}
			var vectors [][]float32
			var all []map[string]any
			for i, o := range out {
				for j := range o.Dense {
					o.Dense[j] *= 3 // lengths do not count
				}
				vectors = append(vectors, o.Dense)
				offsets := [][2]int{}
				for _, s := range o.Tokens.Offsets {
					offsets = append(offsets, [2]int{utf8.RuneCountInString(r.Texts[i][:s.Start]), utf8.RuneCountInString(r.Texts[i][:s.End])})
				}
				ids, special := append([]int32{}, o.Tokens.IDs...), append([]bool{}, o.Tokens.Special...)
				if how == "bad id" {
					ids[0] = int32(h.VocabSize())
				}
				all = append(all, map[string]any{"ids": ids, "special": special, "offsets": offsets, "truncated": o.Tokens.Truncated})
			}
			if how == "too few" {
				vectors = vectors[1:]
			}
			if how == "short" {
				vectors[0] = vectors[0][1:]
			}
			reply["vectors"], reply["tokens"] = vectors, all
		}
		raw, err := json.Marshal(reply)
		if err != nil {
			panic(err)
		}
		fmt.Printf("%s\n", raw)
	}
}

// open starts the test binary as the program.
func open(t *testing.T, how string, o Options) (encoder.Encoder, error) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("LEXSEM_TEST_PROGRAM", how)
	o.Command = []string{self}
	return New(context.Background(), o)
}

func must(t *testing.T, how string, o Options) encoder.Encoder {
	t.Helper()
	e, err := open(t, how, o)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func TestContract(t *testing.T) {
	for _, how := range []string{"tokens", "plain"} {
		t.Run(how, func(t *testing.T) {
			encodertest.Run(t, func(t *testing.T) encoder.Encoder { return must(t, how, Options{BatchTexts: 5}) })
		})
	}
}

// TestAsInTheProcess: vectors and tokens are those that the model gives without a process between.
func TestAsInTheProcess(t *testing.T) {
	e := must(t, "tokens", Options{BatchTexts: 2})
	defer e.Close()
	h := encoder.NewHash(64)
	texts := []string{"Straße, naïve 東京", "a b", "", "\xff x é", "last"}
	got, err := e.Encode(context.Background(), encoder.Query, encoder.Texts(texts...), encoder.NeedDense)
	if err != nil {
		t.Fatal(err)
	}
	for i, text := range texts {
		want, err := h.Encode(context.Background(), encoder.Query, encoder.Texts(strings.ToValidUTF8(text, "\ufffd")), encoder.NeedDense)
		if err != nil {
			t.Fatal(err)
		}
		for j, x := range want[0].Dense {
			if d := x - got[i].Dense[j]; d > 1e-6 || d < -1e-6 {
				t.Fatalf("%q: vector %v, want %v", text, got[i].Dense[j], x)
			}
		}
		if i != 3 && fmt.Sprint(got[i].Tokens) != fmt.Sprint(want[0].Tokens) {
			t.Errorf("%q: tokens %+v, want %+v", text, got[i].Tokens, want[0].Tokens)
		}
		for _, s := range got[i].Tokens.Offsets {
			if int(s.End) > len(text) {
				t.Errorf("%q: a token ends at %d", text, s.End)
			}
		}
	}
}

func TestFaults(t *testing.T) {
	for how, want := range map[string]error{"no dim": encoder.ErrContract, "too few": encoder.ErrContract, "short": encoder.ErrContract, "bad id": encoder.ErrContract} {
		if _, err := open(t, how, Options{}); !errors.Is(err, want) {
			t.Errorf("%s: %v", how, err)
		}
	}
	for _, command := range [][]string{nil, {""}, {filepath.Join(t.TempDir(), "nothing")}} {
		if _, err := New(context.Background(), Options{Command: command}); !errors.Is(err, encoder.ErrUnavailable) {
			t.Errorf("%q: %v", command, err)
		}
	}
	e := must(t, "tokens", Options{})
	defer e.Close()
	patience := &e.(*model).program.o.Timeout // short only where the program hangs
	long := *patience
	encode := func(text string) error {
		_, err := e.Encode(context.Background(), encoder.Query, encoder.Texts(text), encoder.NeedDense)
		return err
	}
	if err := encode("refuse"); err == nil || !strings.Contains(err.Error(), "this text is refused") {
		t.Errorf("a refusal: %v", err)
	}
	if err := encode("chat"); !errors.Is(err, encoder.ErrContract) || !strings.Contains(err.Error(), "standard error") {
		t.Errorf("other output: %v", err)
	}
	*patience = 100 * time.Millisecond
	if err := encode("hang"); !errors.Is(err, encoder.ErrUnavailable) || !strings.Contains(err.Error(), "no answer in 100ms") {
		t.Errorf("no answer: %v", err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
	defer cancel()
	if _, err := e.Encode(ctx, encoder.Query, encoder.Texts("hang"), encoder.NeedDense); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a deadline: %v", err)
	}
	if tokens := e.Tokenize(encoder.Query, "hang"); len(tokens.IDs) != 0 {
		t.Errorf("tokens without an answer: %v", tokens)
	}
	*patience = long
	if err := encode("fine"); err == nil || !strings.Contains(err.Error(), "reading the tokens") {
		t.Errorf("what Tokenize could not tell: %v", err)
	}
	if err := encode("fine"); err != nil {
		t.Errorf("after all that: %v", err)
	}
	if _, err := e.Encode(context.Background(), encoder.Query, encoder.Texts("x"), encoder.NeedHidden); !errors.Is(err, encoder.ErrNoHidden) {
		t.Errorf("hidden states: %v", err)
	}
}

// TestStartsAgain: a program that ends is started again; one that ends again is told with its last words.
func TestStartsAgain(t *testing.T) {
	for how, want := range map[string]bool{"once": true, "dies": false} {
		t.Setenv("LEXSEM_TEST_MARK", filepath.Join(t.TempDir(), "mark"))
		e := must(t, how, Options{})
		_, err := e.Encode(context.Background(), encoder.Passage, encoder.Texts("die", "not"), encoder.NeedDense)
		if (err == nil) != want || err != nil && (!errors.Is(err, encoder.ErrUnavailable) || !strings.Contains(err.Error(), "out of memory on the accelerator")) {
			t.Errorf("%s: %v", how, err)
		}
		if err := e.Close(); err != nil {
			t.Errorf("%s: closing: %v", how, err)
		}
	}
}
