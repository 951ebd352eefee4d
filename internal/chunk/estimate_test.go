package chunk

import (
	"context"
	"strings"
	"testing"

	"github.com/lexsem/lexsem/encoder"
)

func TestEstimate(t *testing.T) {
	for text, want := range map[string]int{
		"": 0, " \n": 0, "word": 1, "words": 2, "two words": 3, "a, b.": 4, "東京": 2, "naïvely": 2, "\xff\xff": 2, "x\x00y": 3,
	} {
		tokens := estimate{}.Tokenize(encoder.Passage, text)
		if len(tokens.IDs) != want {
			t.Errorf("%q: %d tokens at %v, want %d", text, len(tokens.IDs), tokens.Offsets, want)
		}
		last := int32(0)
		for _, o := range tokens.Offsets {
			if o.Start < last || o.End <= o.Start || int(o.End) > len(text) {
				t.Errorf("%q: spans %v", text, tokens.Offsets)
			}
			last = o.End
		}
	}
}

// An encoder without a tokenizer has texts cut where it says what it reads, or the
// caller asks for it, and else takes them whole.
func TestSplitWithoutTokenizer(t *testing.T) {
	enc := encoder.Func("f", 4, func(context.Context, []string) ([][]float32, error) { return nil, nil })
	text := strings.Repeat("Some words stand here in a row. ", 40)
	whole, cut := New(enc, 0, 0), New(enc, 64, 0)
	if spans := split(t, whole, "", text, nil); spans != nil {
		t.Errorf("without a limit there are %d chunks", len(spans))
	}
	spans := split(t, cut, "Title", text, nil)
	if len(spans) < 4 {
		t.Fatalf("%d chunks of at most 64 tokens", len(spans))
	}
	for _, s := range spans {
		if n := cut.tokens(Passage("Title", text[s.Start:s.End])); n > 64 {
			t.Errorf("a chunk of %d tokens", n)
		}
	}
	if spans[len(spans)-1].End != len(strings.TrimSpace(text)) {
		t.Error("the end of the text is in no chunk")
	}
}
