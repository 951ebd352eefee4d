package bench

import (
	"context"
	"errors"
	"testing"

	"github.com/lexsem/lexsem/encoder"
)

func TestSparse(t *testing.T) {
	o := Options{Data: townCorpus(t, 60), Systems: []string{"sparse:slr", "sparse:slr-idf", "sparse:clr"}, Tasks: []string{"part:5"}, QueriesPerPassage: 2}
	rep, err := Run(context.Background(), encoder.NewHash(64), o)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range rep.Results {
		// Five words of a passage share more tokens with it than with others.
		if want := map[string]float64{"sparse:slr": .5, "sparse:slr-idf": .5, "sparse:clr": .1}[r.System]; !(r.Metrics["ndcg@10"] > want) {
			t.Errorf("%s: ndcg@10 %.3f", r.System, r.Metrics["ndcg@10"])
		}
	}
	for _, name := range []string{"sparse", "sparse:", "sparse:rlr", "sparse:llr", "sparse:poem"} {
		if _, err := ParseSystem(name); !errors.Is(err, ErrUnknownName) {
			t.Errorf("%q: %v", name, err)
		}
	}
}
