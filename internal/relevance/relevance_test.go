package relevance

import (
	"math"
	"testing"
)

// TestProbability holds the estimate to values worked out by hand, between which it grows with the cosine and the words.
func TestProbability(t *testing.T) {
	odds := func(x float64) float64 { return 1 / (1 + math.Exp(-x)) }
	for name, c := range map[string]struct {
		e    Evidence
		want float64
	}{
		"hybrid":          {Evidence{Dense: true, Lexical: true, Cosine: 0.5, Presence: 1}, odds(11.9*0.5 + 3.7 - 7.6)},
		"nonsense":        {Evidence{Dense: true, Lexical: true, Cosine: 0.31, Unrelated: 0.05}, odds(11.9*0.26/0.95 - 7.6)},
		"a narrow cone":   {Evidence{Dense: true, Lexical: true, Cosine: 0.89, Unrelated: 0.78, Presence: 1}, odds(11.9*0.5 + 3.7 - 7.6)},
		"dense":           {Evidence{Dense: true, Cosine: 0.5}, odds(0.5)},
		"lexical":         {Evidence{Lexical: true, Presence: 0.5, Cosine: 1, Unrelated: 0.5}, odds(-0.2)},
		"unknown":         {Evidence{Dense: true, Lexical: true, Cosine: 0.9, Presence: 1, Unknown: 1}, odds(3.2)},
		"half unknown":    {Evidence{Dense: true, Lexical: true, Cosine: 0.5, Presence: 1, Unknown: 0.5}, odds((2.05 + 3.2) / 2)},
		"dense, unknown":  {Evidence{Dense: true, Cosine: 0.9, Unknown: 1}, odds(-3.6)},
		"local bridges":   {Evidence{Dense: true, Cosine: 7}, odds(8)},
		"opposite":        {Evidence{Dense: true, Cosine: -1, Unrelated: 0.9}, odds(-22)},
		"nothing at hand": {Evidence{Dense: true, Lexical: true}, odds(-7.6)},
	} {
		if got := Probability(c.e); math.Abs(got-c.want) > 1e-12 {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}

// TestFitted: the constants are those of the default model alone.
func TestFitted(t *testing.T) {
	for model, want := range map[string]bool{"all-MiniLM-L6-v2": true, "all-MiniLM-L6-v2-int8": true, "all-MiniLM-L6-v2+splade:words": true, "static+splade:words": false, "multilingual-e5-small-q4": false, "bge-small-en-v1.5": false, "static": false, "": false} {
		if Fitted(model) != want {
			t.Errorf("%q: %v", model, !want)
		}
	}
}
