package modelspec

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/lexsem/lexsem/encoder"
)

// framed is a tokenizer of pairs: a token a byte.
type framed struct{ encoder.Tokenizer }

func (framed) Tokenize(text string, max int) encoder.Tokens {
	var t encoder.Tokens
	for _, b := range []byte(text[:min(len(text), max)]) {
		t.IDs = append(t.IDs, int32(b))
	}
	t.Truncated = len(text) - len(t.IDs)
	return t
}

func (framed) PairFrame() (PairFrame, error) {
	return PairFrame{Between: []TypedToken{{1000, 2}}, Second: 1}, nil
}

// TestScore: every pair is scored once and its score stands in its place, also of more
// pairs than are scored together.
func TestScore(t *testing.T) {
	p, err := NewPairs(framed{}, 32)
	if err != nil {
		t.Fatal(err)
	}
	texts := make([]string, 2*pairsWindow+3)
	for i := range texts {
		texts[i] = fmt.Sprint(i)
	}
	runs := 0
	read := func(_ context.Context, scores []float64, pairs []encoder.Output, types [][]int32) error {
		runs++
		for i, pair := range pairs {
			at := slices.Index(pair.Tokens.IDs, 1000)
			if at != 1 || types[i][0] != 0 || types[i][1] != 2 || types[i][2] != 1 || len(types[i]) != len(pair.Tokens.IDs) {
				return fmt.Errorf("tokens %v of the types %v", pair.Tokens.IDs, types[i])
			}
			for _, digit := range pair.Tokens.IDs[at+1:] {
				scores[i] = 10*scores[i] + float64(digit-'0')
			}
		}
		return nil
	}
	scores, err := p.Score(t.Context(), "q", texts, read)
	if err != nil || runs != 3 || len(scores) != len(texts) {
		t.Fatalf("%d scores in %d runs, %v", len(scores), runs, err)
	}
	for i, s := range scores {
		if s != float64(i) {
			t.Fatalf("text %d has the score %v", i, s)
		}
	}
	bad := errors.New("refused")
	if scores, err := p.Score(t.Context(), "q", texts, func(context.Context, []float64, []encoder.Output, [][]int32) error { return bad }); !errors.Is(err, bad) || scores != nil {
		t.Errorf("%d scores, %v", len(scores), err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if scores, err := p.Score(ctx, "q", texts, read); !errors.Is(err, context.Canceled) || scores != nil {
		t.Errorf("%d scores, %v", len(scores), err)
	}
}
