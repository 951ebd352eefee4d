package answer

import (
	"testing"

	"github.com/lexsem/lexsem/engine"
)

// TestUnlikely: a first page is unlikely where each hit is known to be.
func TestUnlikely(t *testing.T) {
	for name, c := range map[string]struct {
		first int // rank
		p     []float32
		want  bool
	}{
		"none":         {1, nil, false},
		"low":          {1, []float32{0.02, 0.09}, true},
		"one is not":   {1, []float32{0.02, 0.1}, false},
		"not known":    {1, []float32{0, 0}, false},
		"a later page": {11, []float32{0.02}, false},
	} {
		var hits []engine.Hit
		for i, p := range c.p {
			hits = append(hits, engine.Hit{Rank: c.first + i, Probability: p})
		}
		if got := Unlikely(hits); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

func TestMorePassages(t *testing.T) {
	long, short := engine.Hit{Chunks: 9}, engine.Hit{Chunks: 1}
	for name, c := range map[string]struct {
		q    engine.Query
		hits []engine.Hit
		want bool
	}{
		"a book":         {engine.Query{K: 10}, []engine.Hit{short, long}, true},
		"as many":        {engine.Query{K: 2}, []engine.Hit{short, long}, false},
		"short texts":    {engine.Query{K: 10}, []engine.Hit{short, short}, false},
		"its passages":   {engine.Query{K: 10, PerChunk: true}, []engine.Hit{short, long}, false},
		"its places":     {engine.Query{K: 10, Places: true}, []engine.Hit{short, long}, false},
		"hits of groups": {engine.Query{K: 10, GroupBy: "x"}, []engine.Hit{short, long}, false},
		"none":           {engine.Query{K: 10}, nil, false},
	} {
		if got := MorePassages(c.q, c.hits); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}
