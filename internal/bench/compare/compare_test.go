package compare

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/lexsem/lexsem/bench"
	"github.com/lexsem/lexsem/encoder"
	"github.com/lexsem/lexsem/internal/bench/corpustest"
)

func measured(t *testing.T, o bench.Options) *bench.Report {
	t.Helper()
	rep, err := bench.Run(context.Background(), encoder.NewHash(32), o)
	if err != nil {
		t.Fatal(err)
	}
	return rep
}

func TestCompare(t *testing.T) {
	dir := corpustest.Town(t, 120)
	o := bench.Options{Data: dir, Systems: []string{"dense", "bm25"}, Tasks: []string{"query"}}
	a := measured(t, o)
	o.QueriesLimit = 30
	b := measured(t, o)
	same, err := Compare(a, b, "ndcg@10", "", 1)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range same {
		if c.Delta != 0 || c.P != 1 || c.PHolm != 1 || c.Low != 0 || c.High != 0 || c.Queries != 30 || c.Better+c.Worse != 0 {
			t.Errorf("a run against itself differs: %+v", c)
		}
	}
	against, err := Compare(a, b, "ndcg@10", "dense", 1)
	if err != nil || len(against) != 1 || against[0].System != "bm25" { // dense against itself is left out, also of the correction
		t.Fatalf("%+v, %v", against, err)
	}
	bm25 := against[0]
	if bm25.PHolm != bm25.P {
		t.Errorf("one comparison is corrected: %+v", bm25)
	}
	moved := *b
	moved.Results = slices.Clone(b.Results)
	moved.Results[0].PerQuery = map[string][]float64{"ndcg@10": slices.Repeat([]float64{.5}, 30)}
	if against, err := Compare(a, &moved, "ndcg@10", "dense", 1); err != nil || len(against) != 2 {
		t.Errorf("a base that changed is compared: %+v, %v", against, err)
	}
	moved.Results = b.Results[:1]
	if _, err := Compare(a, &moved, "ndcg@10", "dense", 1); !errors.Is(err, ErrReport) || !strings.Contains(err.Error(), "nothing but dense") {
		t.Errorf("the base alone: %v", err)
	}
	if !(bm25.Delta > 0) || bm25.Base != "dense" || bm25.P > .05 || !(bm25.PHolm >= bm25.P) {
		t.Errorf("bm25 against dense: %+v", bm25)
	}
	if !(0 < bm25.Low && bm25.Low < bm25.Delta && bm25.Delta < bm25.High) {
		t.Errorf("the interval of bm25 against dense: %+v", bm25)
	}
	// The figures are those of the report where the queries are all the same.
	whole, _ := Compare(a, a, "ndcg@10", "dense", 1)
	if got, want := whole[0].P, a.Results[1].VsDense.P; got != want {
		t.Errorf("p is %v, the report says %v", got, want)
	}
	other, seed, fewer := *a, *b, *b
	other.Data = "another"
	seed.Seed++
	if judged, err := Compare(a, &seed, "ndcg@10", "", 1); err != nil || len(judged) != 2 {
		t.Errorf("judged queries do not depend on the seed: %v", err)
	}
	o.Tasks = []string{"query", "part:4"}
	made := measured(t, o)
	drawn := *made
	drawn.Seed++
	fewer.Documents--
	for name, f := range map[string]func() error{
		"data":   func() error { _, err := Compare(a, &other, "ndcg@10", "", 1); return err },
		"seed":   func() error { _, err := Compare(made, &drawn, "ndcg@10", "", 1); return err },
		"fewer":  func() error { _, err := Compare(a, &fewer, "ndcg@10", "", 1); return err },
		"metric": func() error { _, err := Compare(a, b, "map@7", "", 1); return err },
		"base":   func() error { _, err := Compare(a, b, "ndcg@10", "nobody", 1); return err },
	} {
		if err := f(); !errors.Is(err, ErrReport) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
