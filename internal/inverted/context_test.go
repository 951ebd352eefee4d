package inverted_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"testing"

	"github.com/lexsem/lexsem/internal/inverted"
)

// TestContext: what a context ends returns its error, also where it ends in the
// middle, and searches after it are right.
func TestContext(t *testing.T) {
	x, ids := many(t, rand.New(rand.NewPCG(1, 11)), 15_000)
	query := terms("w0", "w1", "w2")
	want, err := x.Search(t.Context(), nil, query, 50, nil)
	if err != nil {
		t.Fatal(err)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if err := x.Scores(ended, make([]float64, len(ids)), query, ids); !errors.Is(err, context.Canceled) {
		t.Errorf("Scores: %v", err)
	}
	if err := x.Match(ended, make([]inverted.Match, len(ids)), query, ids); !errors.Is(err, context.Canceled) {
		t.Errorf("Match: %v", err)
	}
	if _, err := x.Compacted(ended); !errors.Is(err, context.Canceled) {
		t.Errorf("Compacted: %v", err)
	}
	if err := x.Verify(ended); !errors.Is(err, context.Canceled) {
		t.Errorf("Verify: %v", err)
	}
	for range 20 {
		ctx, cancel := context.WithCancel(t.Context())
		asked := 0
		_, err := x.Search(ctx, nil, query, 50, func(uint64) bool { asked++; cancel(); return true })
		if !errors.Is(err, context.Canceled) || asked == 0 || asked > 4096 {
			t.Fatalf("Search asked for %d documents: %v", asked, err)
		}
		got, err := x.Search(t.Context(), nil, query, 50, nil)
		if err != nil || len(got) != len(want) || got[0] != want[0] || got[49] != want[49] {
			t.Fatalf("the next search is wrong: %v", err)
		}
	}
}
