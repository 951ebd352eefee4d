package chunk

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/rivo/uniseg"

	"github.com/lexsem/lexsem/encoder"
	"github.com/lexsem/lexsem/encoder/tokenizer"
)

// odd are texts of n bytes or a few more that are hard to cut.
var odd = map[string]func(n int) string{
	"no blanks":       func(n int) string { return repeated("a-", n) },
	"one word":        func(n int) string { return repeated("a", n) },
	"long words":      func(n int) string { return repeated(strings.Repeat("a", 900)+" ", n) },
	"long signs":      func(n int) string { return repeated(strings.Repeat("a-", 450)+" ", n) },
	"signs":           func(n int) string { return repeated("!", n) },
	"alternation":     func(n int) string { return repeated("a.b,(c)", n) },
	"full stops":      func(n int) string { return repeated("a.", n) },
	"no letters":      func(n int) string { return "1." + repeated("1,", n) },
	"blanks":          func(n int) string { return "a." + repeated(" ", n) + "b" },
	"blanks of kinds": func(n int) string { return "a." + repeated("\t \u00a0\u2003", n) + "1" },
	"marked blanks":   func(n int) string { return "a." + repeated(" \u0301", n) + "1" },
	"no-break":        func(n int) string { return repeated("a\u00a0", n) },
	"newlines":        func(n int) string { return "a" + repeated("\n", n) + "b" },
	"blank lines":     func(n int) string { return repeated("word\n\n\n", n) },
	"closing":         func(n int) string { return "a." + repeated(`)"`, n) + "1" },
	"marks":           func(n int) string { return "a" + repeated("\u0301\u0323", n) },
	"Han":             func(n int) string { return repeated("長い文", n) },
	"Thai":            func(n int) string { return repeated("ภาษา", n) },
	"emoji":           func(n int) string { return repeated("\U0001f680", n) },
	"code":            func(n int) string { return repeated("if(a[i]<b){f(a);g=h+1};", n) },
	"base64":          func(n int) string { return repeated("TWFuIGlzIGRpc3Rpbmd1aXNoZWQ+/", n) },
	"no UTF-8":        func(n int) string { return repeated("a\x80\x80\x80\x80\x80", n) },
	"sentences":       func(n int) string { return repeated("Some words. And others! ", n) },
}

func repeated(s string, n int) string { return strings.Repeat(s, 1+n/len(s)) }

// readers are encoders of every kind of tokenizer, by name.
func readers(t *testing.T) map[string]encoder.Encoder {
	pieces, err := tokenizer.Parse(strings.NewReader(`{"version": "1.0",
		"normalizer": {"type": "BertNormalizer", "clean_text": true, "handle_chinese_chars": true, "lowercase": true},
		"pre_tokenizer": {"type": "BertPreTokenizer"},
		"post_processor": {"type": "BertProcessing", "cls": ["[CLS]", 1], "sep": ["[SEP]", 2]},
		"model": {"type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##", "max_input_chars_per_word": 100,
			"vocab": {"[UNK]": 0, "[CLS]": 1, "[SEP]": 2, "a": 3, "##a": 4, "b": 5, ".": 6, ",": 7, "-": 8, "(": 9, ")": 10, "!": 11, "words": 12, "some": 13}}}`))
	if err != nil {
		t.Fatal(err)
	}
	hash := encoder.NewHash(8)
	return map[string]encoder.Encoder{"words": hash, "pieces": pieced{hash, pieces}, "blanks": blanks{hash}, "estimate": untold{hash}}
}

// pieced has the tokens of a WordPiece.
type pieced struct {
	encoder.Encoder
	pieces *tokenizer.Tokenizer
}

func (p pieced) Tokenize(_ encoder.Role, text string) encoder.Tokens {
	return p.pieces.Tokenize(text, p.Fingerprint().MaxTokens)
}

// blanks has a token for each character, as byte-level BPE may: those of blanks stand for no bytes.
type blanks struct{ encoder.Encoder }

func (b blanks) Tokenize(_ encoder.Role, text string) (t encoder.Tokens) {
	for i, r := range text {
		if len(t.IDs) == b.Fingerprint().MaxTokens {
			t.Truncated++
			continue
		}
		var o encoder.Span
		if !unicode.IsSpace(r) {
			_, n := utf8.DecodeRuneInString(text[i:])
			o = encoder.Span{Start: int32(i), End: int32(i + n)}
		}
		t.IDs, t.Special, t.Offsets = append(t.IDs, 7), append(t.Special, false), append(t.Offsets, o)
	}
	return t
}

// untold tells no tokens: they are estimated.
type untold struct{ encoder.Encoder }

func (untold) VocabSize() int { return 0 }

// every calls f for each kind of tokenizer, limit and text; parts tells whether the text has breaks.
func every(t *testing.T, f func(t *testing.T, enc encoder.Encoder, limit int, text func(n int) string, parts bool)) {
	for name, enc := range readers(t) {
		for _, limit := range []int{64, MinTokens} {
			for kind, text := range odd {
				for _, parts := range []bool{false, true} {
					t.Run(fmt.Sprintf("%s/%d/%s/%t", name, limit, kind, parts), func(t *testing.T) { f(t, enc, limit, text, parts) })
				}
			}
		}
	}
}

// breaksOf are breaks in a text, many and also among blanks at its front.
func breaksOf(text string, some bool) (breaks []int) {
	for at := 0; some && at < len(text); at += 1 + len(text)/50 {
		if utf8.RuneStart(text[at]) {
			breaks = append(breaks, at)
		}
	}
	return breaks
}

// TestLinear: of any text a splitter reads a bounded number of times its bytes.
func TestLinear(t *testing.T) {
	every(t, func(t *testing.T, enc encoder.Encoder, limit int, text func(int) string, parts bool) {
		const n, times = 6_000, 80
		read := 0
		c := New(enc, limit, 0)
		c.enc = counting{c.enc, &read}
		s := text(n)
		split(t, c, "A title", s, breaksOf(s, parts))
		if read > times*len(s) {
			t.Errorf("%d bytes of %d were read", read, len(s))
		}
	})
}

// TestSplitIsCancelled: once its context has ended, which the tokenizer does here, Split ends after a call or two of it.
func TestSplitIsCancelled(t *testing.T) {
	every(t, func(t *testing.T, enc encoder.Encoder, limit int, text func(int) string, parts bool) {
		const n = 3_000
		s := text(n)
		if strings.HasPrefix(s, "aa") {
			return // is read as a whole, in a few calls
		}
		calls, after := 0, 0
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		c := New(enc, limit, 0)
		c.enc = calling{c.enc, func() {
			if ctx.Err() != nil {
				after++
			}
			if calls++; calls == 4 {
				cancel()
			}
		}}
		calls = 0
		if _, err := c.Split(ctx, "A title", s, breaksOf(s, parts)); ctx.Err() != nil && !errors.Is(err, context.Canceled) {
			t.Errorf("after %d calls: %v", calls, err)
		}
		if after > 12 {
			t.Errorf("the text was read %d times after the end of the context", after)
		}
	})
	c := New(encoder.NewHash(8), 0, 0)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, s := range []string{"", "short", strings.Repeat("Some words. ", 500)} {
		if got, err := c.Split(ctx, "", s, nil); !errors.Is(err, context.Canceled) || got != nil {
			t.Errorf("of %d bytes: %v, %v", len(s), got, err)
		}
	}
}

// calling calls a function before it reads a text.
type calling struct {
	encoder.Encoder
	call func()
}

func (c calling) Tokenize(role encoder.Role, text string) encoder.Tokens {
	c.call()
	return c.Encoder.Tokenize(role, text)
}

// TestBreaksAmongBlanks: blanks at the front of a text are not read again for each break among them.
func TestBreaksAmongBlanks(t *testing.T) {
	text := strings.Repeat(" ", 2_000_000) + "word. Another word."
	breaks := make([]int, 2_000_000)
	for i := range breaks {
		breaks[i] = i
	}
	breaks = append(breaks, strings.Index(text, "Another"))
	if got, want := parts(text, breaks), []Span{{0, breaks[2_000_000]}, {breaks[2_000_000], len(text)}}; !slices.Equal(got, want) {
		t.Errorf("%d parts, %v; want %v", len(got), got[:min(len(got), 3)], want)
	}
}

// TestSentences: they are those of the library, also where long runs are left out of what it reads.
func TestSentences(t *testing.T) {
	signs := []string{". ", ".", "! ", ")", "\"", "”", "\u00a0", "\t", "\u0301", "\u00ad", "1", "—", ",", "a", "A", "い", "\n", "\r\n", "\u2028", "\xff"}
	shorter := 0
	for i, a := range signs {
		for j, b := range signs {
			for _, ends := range []string{"", "a", ".", " A"} {
				n := 10 + 60*((i+j)%3)
				text := "Ab" + a + strings.Repeat(b, n) + strings.Repeat(a+b, n) + ends
				var want []string
				for state, rest := -1, text; rest != ""; {
					var s string
					s, rest, state = uniseg.FirstSentenceInString(rest, state)
					want = append(want, s)
				}
				if got := slices.Collect(Sentences(text)); !slices.Equal(got, want) {
					t.Fatalf("%q: sentences %q, want %q", text, got, want)
				}
				if short, _ := shortened(text); len(short) < len(text) {
					shorter++
				}
			}
		}
	}
	if shorter < 50 {
		t.Errorf("%d texts had long runs: the test shows nothing", shorter)
	}
	for kind, text := range odd {
		short, _ := shortened(text(3_000))
		longest, run := 0, 0
		for _, r := range short {
			if run++; kindOf(r) == none {
				run = 0
			}
			longest = max(longest, run)
		}
		if kind != "marks" && longest > 4*longRun { // marks need no looking ahead
			t.Errorf("%s: a run of %d characters is read", kind, longest)
		}
	}
}
