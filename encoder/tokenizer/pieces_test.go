package tokenizer

import (
	"errors"
	"slices"
	"testing"

	"github.com/lexsem/lexsem/encoder"
)

func somePieces() Pieces {
	return Pieces{Texts: []string{"<s>", "<pad>", "</s>", "<unk>", "▁", "a", "à", "\u0300", "b", "<mask>"},
		Scores: []float32{0, 0, 0, 0, -1, -2, -3, -4, -5, 0},
		Rules:  map[rune]string{'\t': " ", '\u0340': "\u0300", '\x01': ""}, Start: 0, Pad: 1, End: 2, Unknown: 3}
}

// Rules of code points come first; what has none is composed.
func TestFromPieces(t *testing.T) {
	tok, err := FromPieces(somePieces())
	if err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string][]int32{
		"ab": {0, 4, 5, 8, 2}, "a\u0300": {0, 4, 6, 2}, "à\x01": {0, 4, 6, 2}, "a\t\tb": {0, 4, 5, 4, 8, 2},
		"a\u0340":       {0, 4, 5, 7, 2}, // which has a rule of its own
		"b\u0300":       {0, 4, 8, 7, 2}, // no such letter
		"a <mask> b":    {0, 4, 5, 9, 4, 8, 2},
		"a\u0300\u0301": {0, 4, 6, 2}, // the rest of a grapheme is dropped
	} {
		if got := tok.Tokenize(text, 0).IDs; !slices.Equal(got, want) {
			t.Errorf("%q: %v, want %v", text, got, want)
		}
	}
	if pair, err := tok.PairFrame(); err != nil || len(pair.Between) != 2 {
		t.Errorf("a pair is framed as %+v, %v", pair, err)
	}
	digests := map[string]bool{tok.Digest(): true}
	for name, change := range map[string]func(p *Pieces){
		"rule": func(p *Pieces) { p.Rules['\t'] = "" }, "score": func(p *Pieces) { p.Scores[5]-- },
		"piece": func(p *Pieces) { p.Texts[8] = "c" }, "start": func(p *Pieces) { p.Start = 1 },
	} {
		p := somePieces()
		change(&p)
		other, err := FromPieces(p)
		if name == "start" {
			if !errors.Is(err, encoder.ErrTokenizer) { // <pad> twice
				t.Error(name, err)
			}
			continue
		}
		if err != nil || digests[other.Digest()] {
			t.Errorf("another %s: the same digest, %v", name, err)
		}
		digests[other.Digest()] = true
	}
	for name, change := range map[string]func(p *Pieces){
		"no pieces": func(p *Pieces) { *p = Pieces{} }, "scores": func(p *Pieces) { p.Scores = p.Scores[1:] },
		"unknown": func(p *Pieces) { p.Unknown = 10 }, "negative": func(p *Pieces) { p.Pad = -1 }, "rule": func(p *Pieces) { p.Rules['a'] = "\xff" },
	} {
		p := somePieces()
		change(&p)
		if _, err := FromPieces(p); !errors.Is(err, encoder.ErrTokenizer) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
