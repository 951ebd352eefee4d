package bench

import (
	"context"
	"errors"
	"testing"

	"github.com/lexsem/lexsem/encoder"
)

func TestLexicalOnly(t *testing.T) {
	o := Options{Data: townCorpus(t, 60), Systems: []string{"dense", "slr", "lexical:slr"}, Tasks: []string{"keyword"}, QueriesPerPassage: 6}
	rep, err := Run(context.Background(), encoder.NewHash(64), o)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]float64{}
	for _, r := range rep.Results {
		got[r.System] = r.Metrics["ndcg@10"]
	}
	chance := 1.0 / 60
	if !(got["lexical:slr"] > 3*chance) || !(got["slr"] > got["lexical:slr"]) {
		t.Fatalf("ndcg@10 %v: want the lexical side above chance and below the whole", got)
	}
	for _, name := range []string{"lexical:rlr+slr", "lexical:clr", "lexical:", "lexical:nothing", "lexical"} {
		if _, err := ParseSystem(name); !errors.Is(err, ErrUnknownName) {
			t.Errorf("%q: error %v", name, err)
		}
	}
}
