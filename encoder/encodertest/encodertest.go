// Package encodertest tests encoders. Start with [Run], the conformance suite that every encoder.Encoder of
// texts must pass, or [RunImages], the suite for images.
package encodertest

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/lexsem/lexsem/encoder"
	"github.com/lexsem/lexsem/internal/pooling"
	"github.com/lexsem/lexsem/internal/testkit/encoders"
)

// texts are distinct and of different lengths, so that batches get mixed.
var texts = []string{
	"The cat sat on the mat.",
	"Ships of the line carried seventy-four guns, and their crews numbered six hundred men or more.",
	"database",
	"How do plants turn light into sugar?",
	"func main() { fmt.Println(\"hello\") }",
	"Straße, naïve café, 東京 und Αθήνα",
	"A recipe for bread: flour, water, salt, yeast and a hot oven.",
	"quarterly revenue grew",
}

// awkward are difficult texts that real input contains sooner or later.
func awkward() map[string]string {
	return map[string]string{
		"empty":              "",
		"blank":              " \t\r\n  ",
		"NUL":                "a\x00b",
		"only NUL":           "\x00\x00",
		"invalid UTF-8":      "\xff\xfe abc \xc3(",
		"lone surrogate":     "x\xed\xa0\x80y",
		"byte order mark":    "\ufeffhello",
		"U+FFFD":             "\ufffd",
		"combining marks":    "\u0301\u0301\u0301",
		"special literals":   "[CLS] [SEP] [PAD] [UNK] [MASK] [",
		"word of 1 MB":       strings.Repeat("x", 1<<20),
		"combining 1 MB":     strings.Repeat("\u0301", 1<<19),
		"emoji with joiners": "👩\u200d👩\u200d👧\u200d👦 👍🏽",
	}
}

// Run tests the contract of encoder.Encoder. open returns an open encoder, which Run closes. Run opens
// three: one that first gets many concurrent calls, one for the sequential tests, and one to be
// closed. Vectors of a text may differ between batches by rounding, down to a cosine of .9999.
//
// Every encoder must return dense vectors in the order of its texts, to several callers at once, and
// stop with its context and after Close. Optional features are tested if the encoder has them: a
// tokenizer if VocabSize is above 0, hidden states unless it returns ErrNoHidden, logits unless
// ErrNoLogits, and probe vectors if Fingerprint().Probed().
func Run(t *testing.T, open func(t *testing.T) encoder.Encoder) {
	type part struct {
		name   string
		test   func(*testing.T, encoder.Encoder)
		tokens bool // for encoders that tell tokens
	}
	run := func(parts ...part) {
		e := open(t)
		for _, p := range parts {
			if p.tokens && e.VocabSize() == 0 {
				continue
			}
			t.Run(p.name, func(t *testing.T) { p.test(t, e) })
		}
		if err := e.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	}
	in := encoder.Texts(texts...)
	run(part{name: "Concurrency", test: func(t *testing.T, e encoder.Encoder) { testConcurrency(t, e, in) }})
	run([]part{
		{name: "Fingerprint", test: testFingerprint},
		{name: "Batches", test: testBatches},
		{name: "Awkward", test: testAwkward},
		{name: "Roles", test: testRoles},
		{name: "Truncation", test: testTruncation, tokens: true},
		{name: "Media", test: testMedia},
		{name: "Needs", test: testNeeds},
		{name: "Ownership", test: testOwnership},
		{name: "Cancel", test: func(t *testing.T, e encoder.Encoder) {
			many := make([]string, 20000)
			for i := range many {
				many[i] = fmt.Sprint(texts[i%len(texts)], " ", i)
			}
			testCancel(t, e, in, encoder.Texts(many...))
		}},
	}...)
	t.Run("Close", func(t *testing.T) { testClose(t, open(t), in) })
}

func encode(t *testing.T, e encoder.Encoder, role encoder.Role, texts []string, need encoder.Need) []encoder.Output {
	t.Helper()
	out, err := e.Encode(context.Background(), role, encoder.Texts(texts...), need)
	if err != nil {
		t.Fatalf("encode %d texts: %v", len(texts), err)
	}
	if len(out) != len(texts) {
		t.Fatalf("%d results for %d texts", len(out), len(texts))
	}
	return out
}

func checkSame(t *testing.T, what string, got, want []float32) {
	t.Helper()
	if len(got) != len(want) {
		t.Errorf("%s: length %d, want %d", what, len(got), len(want))
	} else if c := encoders.Cosine(got, want); !(c >= encoder.MinProbeCosine) {
		t.Errorf("%s: cosine %.6f, want at least %v", what, c, encoder.MinProbeCosine)
	}
}

// checkOutput tests what must hold for every text.
func checkOutput(t *testing.T, e encoder.Encoder, role encoder.Role, text string, o encoder.Output) {
	t.Helper()
	if len(o.Dense) != e.Dim() {
		t.Fatalf("dense vector of length %d, want %d", len(o.Dense), e.Dim())
	}
	var s float64
	for _, x := range o.Dense {
		s += float64(x) * float64(x)
	}
	if !(math.Abs(s-1) < 1e-4) {
		t.Errorf("dense vector of squared length %v, want 1", s)
	}
	k := o.Tokens
	if e.VocabSize() == 0 {
		if len(k.IDs)+len(k.Special)+len(k.Offsets)+k.Truncated > 0 || len(e.Tokenize(role, text).IDs) > 0 {
			t.Errorf("tokens of an encoder that says it has no vocabulary: %.200v", k)
		}
		return
	}
	if want := e.Tokenize(role, text); !slices.Equal(k.IDs, want.IDs) || !slices.Equal(k.Special, want.Special) ||
		!slices.Equal(k.Offsets, want.Offsets) || k.Truncated != want.Truncated {
		t.Errorf("Encode fed other tokens than Tokenize gives: %.200v, want %.200v", k, want)
	}
	if len(k.IDs) > e.Fingerprint().MaxTokens {
		t.Errorf("%d tokens, the limit is %d", len(k.IDs), e.Fingerprint().MaxTokens)
	}
	if len(k.Special) != len(k.IDs) || len(k.Offsets) != len(k.IDs) {
		t.Fatalf("%d ids, %d flags, %d offsets", len(k.IDs), len(k.Special), len(k.Offsets))
	}
	last := int32(0)
	for i, span := range k.Offsets {
		if k.IDs[i] < 0 || int(k.IDs[i]) >= e.VocabSize() {
			t.Errorf("id %d is outside [0, %d)", k.IDs[i], e.VocabSize())
		}
		if span == (encoder.Span{}) {
			if !k.Special[i] {
				t.Errorf("token %d has lexical weight but stands for no bytes", i)
			}
			continue
		}
		if span.Start < 0 || span.Start >= span.End || int(span.End) > len(text) || span.Start < last {
			t.Errorf("token %d has the span %v after %d in a text of %d bytes", i, span, last, len(text))
		}
		last = span.Start
	}
}

func testFingerprint(t *testing.T, e encoder.Encoder) {
	f := e.Fingerprint()
	if f.Model == "" || f.Precision == "" || f.MaxTokens < 0 {
		t.Errorf("incomplete fingerprint: model %q, precision %q, limit %d", f.Model, f.Precision, f.MaxTokens)
	}
	if (f.Tokenizer != "") != (f.VocabSize > 0) || f.VocabSize > 0 && f.MaxTokens < 3 {
		t.Errorf("the fingerprint names the tokenizer %q of %d ids, and a limit of %d tokens", f.Tokenizer, f.VocabSize, f.MaxTokens)
	}
	checkPrint(t, e, encode(t, e, encoder.Passage, encoder.ProbeTexts[:], encoder.NeedDense))
}

// checkPrint compares the fingerprint with the encoder and its vectors of the probes.
func checkPrint(t *testing.T, e encoder.Encoder, probes []encoder.Output) {
	f := e.Fingerprint()
	if f.Dim != e.Dim() || f.VocabSize != e.VocabSize() {
		t.Errorf("fingerprint says dimension %d and %d ids, the encoder %d and %d", f.Dim, f.VocabSize, e.Dim(), e.VocabSize())
	}
	if err := encoder.Check("itself", f, e.Fingerprint()); err != nil {
		t.Error(err)
	}
	for i, o := range probes {
		if f.Probed() { // then all are there
			checkSame(t, fmt.Sprintf("probe %d against the fingerprint", i), o.Dense, f.Probe[i])
		}
	}
}

func testBatches(t *testing.T, e encoder.Encoder) {
	if out := encode(t, e, encoder.Passage, nil, encoder.NeedDense); len(out) != 0 {
		t.Errorf("%d results for no text", len(out))
	}
	single := make([][]float32, len(texts))
	for i, text := range texts {
		o := encode(t, e, encoder.Passage, []string{text}, encoder.NeedDense)[0]
		checkOutput(t, e, encoder.Passage, text, o)
		single[i] = o.Dense
		for k := range i {
			if encoders.Cosine(single[k], o.Dense) > 0.999 {
				t.Errorf("%q and %q have the same vector", texts[k], text)
			}
		}
	}
	var many []string // each text several times, in changing order
	for i := range 5 {
		for k := range texts {
			many = append(many, texts[(k*(2*i+1)+i)%len(texts)])
		}
	}
	for i, o := range encode(t, e, encoder.Passage, many, encoder.NeedDense) {
		checkOutput(t, e, encoder.Passage, many[i], o)
		checkSame(t, fmt.Sprintf("text %d of a batch against itself alone", i), o.Dense, single[slices.Index(texts, many[i])])
	}
}

func testAwkward(t *testing.T, e encoder.Encoder) {
	var names, all []string
	for name, text := range awkward() {
		names, all = append(names, name), append(all, text)
	}
	for _, role := range []encoder.Role{encoder.Passage, encoder.Query} {
		for i, o := range encode(t, e, role, all, encoder.NeedDense) {
			t.Run(names[i]+" as "+role.String(), func(t *testing.T) { checkOutput(t, e, role, all[i], o) })
		}
	}
}

func testRoles(t *testing.T, e encoder.Encoder) {
	for _, role := range []encoder.Role{encoder.Passage, encoder.Query} {
		for i, o := range encode(t, e, role, texts, encoder.NeedDense) {
			checkOutput(t, e, role, texts[i], o)
		}
		if e.VocabSize() == 0 {
			continue
		}
		for i, special := range e.Tokenize(role, "").Special {
			if !special {
				t.Errorf("%s: token %d of the empty text has lexical weight", role, i)
			}
		}
		plain := e.Tokenize(role, "database")
		if n := len(plain.Lexical(nil)); n == 0 {
			t.Errorf("%s: no lexical token in %q", role, "database")
		}
		for i, special := range plain.Special {
			if !special && int(plain.Offsets[i].End) > len("database") {
				t.Errorf("%s: offsets %v are not relative to the text", role, plain.Offsets)
			}
		}
	}
}

func testTruncation(t *testing.T, e encoder.Encoder) {
	limit := e.Fingerprint().MaxTokens
	long := "word" + strings.Repeat(" word", limit+9)
	texts := []string{"word", long, long + " word"}
	out := encode(t, e, encoder.Passage, texts, encoder.NeedDense)
	for i, o := range out {
		checkOutput(t, e, encoder.Passage, texts[i], o)
	}
	short, cut, more := out[0].Tokens, out[1].Tokens, out[2].Tokens
	if short.Truncated != 0 || len(cut.IDs) != limit || cut.Truncated < 10 || more.Truncated != cut.Truncated+1 {
		t.Errorf("limit %d: cut %d, then %d of %d tokens, then %d with one more word", limit, short.Truncated, cut.Truncated, len(cut.IDs), more.Truncated)
	}
}

// testMedia: a text may declare its media type, and an encoder refuses an unknown type with the position of
// the input.
func testMedia(t *testing.T, e encoder.Encoder) {
	in := encoder.Texts(texts[:2]...)
	in[1].Media = encoder.MediaText
	out, err := e.Encode(context.Background(), encoder.Passage, in, encoder.NeedDense)
	if err != nil || len(out) != 2 {
		t.Fatalf("%s: %d results, %v", encoder.MediaText, len(out), err)
	}
	checkSame(t, "a text that says its media type", out[1].Dense, encode(t, e, encoder.Passage, texts[1:2], encoder.NeedDense)[0].Dense)
	in[1] = encoder.Input{Media: "application/x-nobody-knows", Data: []byte{0}}
	for _, need := range []encoder.Need{0, encoder.NeedDense} {
		_, err = e.Encode(context.Background(), encoder.Passage, in, need)
		var at *encoder.TextError
		if !errors.Is(err, encoder.ErrMedia) || !errors.As(err, &at) || at.Text != 1 {
			t.Errorf("an unknown media type: %v, want ErrMedia for input 1", err)
		}
	}
}

func testNeeds(t *testing.T, e encoder.Encoder) {
	for _, o := range encode(t, e, encoder.Passage, texts[:3], 0) {
		if o.Dense != nil || o.Hidden != nil || o.Logits != nil || len(o.Tokens.IDs) == 0 && e.VocabSize() > 0 {
			t.Error("asked for nothing: want tokens and no tensor")
		}
	}
	for i, o := range encode(t, e, encoder.Passage, texts, encoder.NeedDense) {
		if o.Hidden != nil || o.Logits != nil {
			t.Errorf("text %d: a tensor that was not asked for", i)
		}
	}
	testHidden(t, e)
	logits, err := e.Encode(context.Background(), encoder.Passage, encoder.Texts(texts[:2]...), encoder.NeedLogits)
	switch {
	case errors.Is(err, encoder.ErrNoLogits):
	case err != nil:
		t.Errorf("asked for logits: %v, want ErrNoLogits or logits", err)
	default:
		for _, o := range logits {
			if len(o.Logits) != e.VocabSize() || o.Dense != nil || o.Hidden != nil {
				t.Errorf("asked for logits: %d of %d, dense %d, hidden %d", len(o.Logits), e.VocabSize(), len(o.Dense), len(o.Hidden))
			}
		}
	}
}

// testHidden tests encoders that return the states of the tokens.
func testHidden(t *testing.T, e encoder.Encoder) {
	if !hasHidden(t, e) {
		return
	}
	dense := encode(t, e, encoder.Passage, texts, encoder.NeedDense)
	hidden := encode(t, e, encoder.Passage, texts, encoder.NeedHidden)
	both := encode(t, e, encoder.Passage, texts, encoder.NeedDense|encoder.NeedHidden)
	for i := range texts {
		if hidden[i].Dense != nil || hidden[i].Logits != nil || both[i].Logits != nil {
			t.Errorf("text %d: a tensor that was not asked for", i)
		}
		if want := len(hidden[i].Tokens.IDs) * e.Dim(); len(hidden[i].Hidden) != want {
			t.Fatalf("text %d: %d hidden values, want %d", i, len(hidden[i].Hidden), want)
		}
		checkSame(t, fmt.Sprintf("dense of text %d with hidden", i), both[i].Dense, dense[i].Dense)
		checkSame(t, fmt.Sprintf("hidden of text %d with dense", i), both[i].Hidden, hidden[i].Hidden)
		if !pooling.Pooling(e.Fingerprint().Pooling).Known() {
			continue // which tokens are pooled is not known here
		}
		pooled := make([]float32, e.Dim())
		if !pooling.Pooling(e.Fingerprint().Pooling).Pool(pooled, both[i].Hidden) {
			t.Errorf("text %d: the hidden states cannot be pooled", i)
		}
		checkSame(t, fmt.Sprintf("dense of text %d against its pooled hidden states", i), pooled, both[i].Dense)
	}
}

// hasHidden asks an encoder for hidden states; an encoder without them must return ErrNoHidden.
func hasHidden(t *testing.T, e encoder.Encoder) bool {
	t.Helper()
	_, err := e.Encode(context.Background(), encoder.Passage, encoder.Texts(texts[:1]...), encoder.NeedHidden)
	if err != nil && !errors.Is(err, encoder.ErrNoHidden) {
		t.Errorf("asked for hidden states: %v, want ErrNoHidden or the states", err)
	}
	return err == nil
}

func testOwnership(t *testing.T, e encoder.Encoder) {
	needs := []encoder.Need{encoder.NeedDense}
	if hasHidden(t, e) {
		needs = append(needs, encoder.NeedDense|encoder.NeedHidden)
	}
	for _, need := range needs {
		twice := []string{texts[0], texts[0]}
		first := encode(t, e, encoder.Passage, twice, need)
		want := slices.Clone(first[1].Dense)
		clear(first[0].Dense)
		clear(first[0].Hidden)
		clear(first[0].Tokens.IDs)
		checkSame(t, "a text after its twin in the batch was overwritten", first[1].Dense, want)
		again := encode(t, e, encoder.Passage, twice[:1], need)[0]
		checkOutput(t, e, encoder.Passage, twice[0], again)
		checkSame(t, "a text after its first result was overwritten", again.Dense, want)
	}
}

func testConcurrency(t *testing.T, e encoder.Encoder, in []encoder.Input) {
	var got [8][2][]encoder.Output
	var wg sync.WaitGroup
	for g := range got {
		wg.Go(func() {
			for i := range got[g] {
				k := (g + i) % len(in)
				out, err := e.Encode(context.Background(), encoder.Passage, slices.Concat(in[k:], in[:k]), encoder.NeedDense)
				if err != nil || len(out) != len(in) {
					t.Errorf("goroutine %d: %d results, %v", g, len(out), err)
					return
				}
				got[g][i] = append(out[len(in)-k:], out[:len(in)-k]...)
			}
		})
	}
	wg.Wait()
	want, err := e.Encode(context.Background(), encoder.Passage, in, encoder.NeedDense)
	if err != nil {
		t.Fatal(err)
	}
	for g := range got {
		for i, out := range got[g] {
			for j := range out {
				checkSame(t, fmt.Sprintf("goroutine %d, round %d, input %d", g, i, j), out[j].Dense, want[j].Dense)
			}
		}
	}
}

func testCancel(t *testing.T, e encoder.Encoder, in, many []encoder.Input) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := e.Encode(ctx, encoder.Passage, in, encoder.NeedDense); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled before: %v, want context.Canceled", err)
	}
	ctx, cancel = context.WithTimeout(context.Background(), 50*time.Millisecond)
	defer cancel()
	start := time.Now()
	out, err := e.Encode(ctx, encoder.Passage, many, encoder.NeedDense)
	if err == nil && len(out) != len(many) || err != nil && !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("cancelled midway: %d results, %v", len(out), err)
	}
	if took := time.Since(start); took > 5*time.Second {
		t.Errorf("cancelled after 50 ms, but it took %v", took)
	}
}

func testClose(t *testing.T, e encoder.Encoder, in []encoder.Input) {
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	for _, need := range []encoder.Need{0, encoder.NeedDense, encoder.NeedHidden} {
		if _, err := e.Encode(context.Background(), encoder.Passage, in, need); !errors.Is(err, encoder.ErrClosed) {
			t.Errorf("after Close: %v, want ErrClosed", err)
		}
	}
	if err := e.Close(); !errors.Is(err, encoder.ErrClosed) {
		t.Errorf("second Close: %v, want ErrClosed", err)
	}
}
