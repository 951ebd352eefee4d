package bench

import (
	"context"
	"math"
	"testing"

	"github.com/lexsem/lexsem/encoder"
)

// TestDifferencesByMetric: each metric has its own test and its own family.
func TestDifferencesByMetric(t *testing.T) {
	rep, err := Run(context.Background(), encoder.NewHash(64), Options{Data: townCorpus(t, 60), Systems: []string{"dense", "rlr", "bm25", "rrf"}, Tasks: []string{"part:4"}, Metrics: []string{"recall@100", "mrr", "bpref"}})
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range rep.Results[1:] {
		if len(r.VsDenseBy) != 4 { // with ndcg@10
			t.Errorf("%s is compared by %v", r.System, r.VsDenseBy)
		}
		for m, d := range r.VsDenseBy {
			if want := r.Metrics[m] - rep.Results[0].Metrics[m]; math.Abs(d.Delta-want) > 1e-12 || !(d.P > 0 && d.P <= d.PHolm && d.PHolm <= min(1, 3*d.P)+1e-12) {
				t.Errorf("%s by %s: %+v, want a difference of %v", r.System, m, d, want)
			}
		}
		if d := r.VsDenseBy["ndcg@10"]; *r.VsDense != Comparison(d) {
			t.Errorf("%s: %+v, by metric %+v", r.System, *r.VsDense, d)
		}
	}
}
