package kinds

import (
	"math"
	"testing"
)

// Every kind counts alike, within it every corpus, within that every task.
func TestTaskWeights(t *testing.T) {
	got := Weights([]Name{{"a", "query"}, {"a", "keyword"}, {"a", "keyword-rake"}, {"b", "keyword"}, {"b", "queries:k3"}, {"b", "keyword-yake"}, {"c", "part:8"}, {"c", "verbose:query"}})
	for i, want := range []float64{1, .25, .25, .5 / 3, .5 / 3, .5 / 3, 1, 1} {
		if math.Abs(got[i]-want) > 1e-9 {
			t.Errorf("task %d counts %v, want %v", i, got[i], want)
		}
	}
	if k := Of("nothing"); k != "" {
		t.Errorf("nothing is of the kind %q", k)
	}
}
