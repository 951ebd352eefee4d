package bench

import (
	"context"
	"errors"
	"testing"

	"github.com/lexsem/lexsem/encoder"
)

// The sides differ in what they move and are fitted so, each by its own loss,
// and the shared index stays as it is.
func TestSide(t *testing.T) {
	systems := []string{"side:passage:slr", "side:both:slr", "side:passage:llr", "side:both:llr", "slr", "dense"}
	o := Options{Data: townCorpus(t, 60), Systems: systems, Tasks: []string{"keyword"}, QueriesPerPassage: 6}
	rep, err := Run(context.Background(), encoder.NewHash(16), o)
	if err != nil {
		t.Fatal(err)
	}
	if q, p, b := rep.Fit["slr"], rep.Fit["side:passage:slr"], rep.Fit["side:both:slr"]; q.Loss == p.Loss || p.Loss == b.Loss || q.Loss == b.Loss || p.Cached || b.Cached {
		t.Errorf("fits of queries %+v, passages %+v, both %+v", q, p, b)
	}
	got := map[string]float64{}
	for _, r := range rep.Results {
		got[r.System] = r.Metrics["ndcg@10"]
	}
	o.Systems = []string{"dense", "slr"}
	if rep, err = Run(context.Background(), encoder.NewHash(16), o); err != nil {
		t.Fatal(err)
	}
	for _, r := range rep.Results {
		if r.Metrics["ndcg@10"] != got[r.System] {
			t.Errorf("%s: ndcg@10 %v after another side was measured, %v alone", r.System, got[r.System], r.Metrics["ndcg@10"])
		}
	}
	chance := 1.0 / 60
	for _, s := range systems[:4] {
		if !(got[s] > 3*chance) || got[s] == got["slr"] || got[s] == got["dense"] {
			t.Errorf("%s: ndcg@10 %v beside %v", s, got[s], got)
		}
	}
	for _, name := range []string{"side:query:slr", "side:slr", "side:passage:", "side:both:nothing", "side"} {
		if _, err := ParseSystem(name); !errors.Is(err, ErrUnknownName) {
			t.Errorf("%q: error %v", name, err)
		}
	}
}
