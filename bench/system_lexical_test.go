package bench

import (
	"context"
	"errors"
	"testing"

	"github.com/lexsem/lexsem/encoder"
)

func TestLexicalOnly(t *testing.T) {
	o := Options{Data: townCorpus(t, 60), Systems: []string{"clr", "slr", "lexical:slr", "lexical:clr"}, Tasks: []string{"keyword"}, QueriesPerPassage: 6}
	rep, err := Run(context.Background(), encoder.NewHash(64), o)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]float64{}
	for _, r := range rep.Results {
		got[r.System] = r.Metrics["ndcg@10"]
	}
	for _, of := range []string{"slr", "clr"} {
		whole, alone := rep.Fit[of], rep.Fit["lexical:"+of]
		if alone.Cached || alone.Queries != whole.Queries || alone.Queries == 0 || alone.Loss == whole.Loss {
			t.Errorf("%s: fitted %+v, alone %+v: want another fit of the same queries", of, whole, alone)
		}
	}
	chance := 1.0 / 60
	if !(got["lexical:slr"] > 3*chance) || !(got["slr"] > got["lexical:slr"]) {
		t.Fatalf("ndcg@10 %v: want the lexical side above chance and below the whole", got)
	}
	// w of clr comes from the dense vector: without that no query would differ from another.
	if !(got["lexical:clr"] > 3*chance) || got["lexical:clr"] == got["clr"] {
		t.Fatalf("ndcg@10 %v: want lexical:clr above chance, and not clr", got)
	}
	for _, name := range []string{"lexical:rlr+slr", "lexical:whiten+slr", "lexical:", "lexical:nothing", "lexical"} {
		if _, err := ParseSystem(name); !errors.Is(err, ErrUnknownName) {
			t.Errorf("%q: error %v", name, err)
		}
	}
}
