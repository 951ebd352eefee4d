package bench

import (
	"context"
	"errors"
	"testing"

	"github.com/lexsem/lexsem/encoder"
	"github.com/lexsem/lexsem/index"
)

// Negatives are the passages at the ranks asked for, fewer at the end of the
// corpus, and none once the caller has given up.
func TestHardNegatives(t *testing.T) {
	corpus, err := ReadCorpora(townCorpus(t, 50), ReadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	s, err := NewSetting(context.Background(), encoder.NewHash(16), NewTargets(corpus.Passages), SettingOptions{Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	negatives, query := s.hardNegatives(), s.Passages[7].Dense
	exact, err := s.Index.Search(nil, query, index.SearchOptions{K: 50})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ from, to, want int }{{20, 30, 10}, {0, 1, 1}, {45, 60, 5}, {60, 70, 0}} {
		got, err := negatives(context.Background(), query, c.from, c.to)
		if err != nil || len(got) != c.want {
			t.Fatalf("ranks %d to %d: %d passages (%v), want %d", c.from, c.to, len(got), err, c.want)
		}
		for i, at := range got {
			if a, b := exact[c.from+i].Distance, 1-dot(query, s.Passages[at].Dense); a-b > 1e-5 || b-a > 1e-5 {
				t.Errorf("rank %d: passage %d at distance %v, want %v", c.from+i, at, b, a)
			}
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := negatives(ctx, query, 0, 5); !errors.Is(err, context.Canceled) {
		t.Errorf("after the end: %v", err)
	}
}

func dot(a, b []float32) float32 {
	var sum float32
	for i := range a {
		sum += a[i] * b[i]
	}
	return sum
}
