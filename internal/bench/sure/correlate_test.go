package sure

import (
	"context"
	"errors"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/lexsem/lexsem/bench"
	"github.com/lexsem/lexsem/encoder"
)

// made is a report of one system; rdc and roc are those on precision, its
// abstraction has one less and equivalence a fixed RDC.
func made(data, encoder string, rdc, roc, ndcg float64) *Report {
	less := func(x float64) *float64 { x -= .1; return &x }
	return &Report{Data: data, Encoder: encoder, NDCG: map[string]float64{"dense": ndcg}, Results: []result{
		{System: "dense", Testbed: "precision", RDC: rdc, ROC: &roc},
		{System: "dense", Testbed: "abstraction", RDC: 1 - rdc, ROC: less(roc)},
		{System: "dense", Testbed: "equivalence", RDC: 4 * rdc},
	}}
}

func TestCorrelate(t *testing.T) {
	reports := []*Report{
		made("x", "a", .1, .9, .4), made("x", "b", .2, .7, .6), made("x", "c", .3, .8, .5), made("x", "d", .4, .6, .7),
		made("y", "a", .4, .9, .1), made("y", "b", .5, .8, .2), made("y", "c", .6, .7, .3), made("y", "d", .7, .6, .4),
	}
	got, err := Correlate(reports)
	if err != nil {
		t.Fatal(err)
	}
	// On x the ranks of RDC are 1 2 3 4, those of nDCG 1 3 2 4: 1 − 6·2/60; ROC is turned about. Y has straight orders.
	want := map[Correlation]bool{}
	for _, c := range []Correlation{
		{"x", "rdc", "ndcg@10", .8}, {"x", "roc", "ndcg@10", -1}, {"y", "rdc", "ndcg@10", 1}, {"y", "roc", "ndcg@10", -1},
		{"all", "rdc", "precision–abstraction", -1}, {"all", "rdc", "precision–equivalence", 1}, {"all", "rdc", "abstraction–equivalence", -1},
		{"all", "roc", "precision–abstraction", 1},
	} {
		want[c] = true
	}
	if len(got.Rows) != len(want) || len(got.Systems) != 4 || got.Systems[0] != "a dense" {
		t.Errorf("%+v", got)
	}
	for _, r := range got.Rows {
		r.Spearman = math.Round(1e9*r.Spearman) / 1e9
		if !want[r] {
			t.Errorf("%+v", r)
		}
	}
	for name, bad := range map[string][]*Report{
		"not on each set": reports[:7], "twice": append(reports[:8:8], reports[0]), "one system": {reports[0]},
	} {
		if _, err := Correlate(bad); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

func TestReadReports(t *testing.T) {
	dir := folder(t, 12)
	rep, err := Run(context.Background(), encoder.NewHash(16), Options{Data: dir, Systems: []string{"dense", "bm25"}, Setting: bench.SettingOptions{Seed: 1}})
	if err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(dir, "report.json")
	f, err := os.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for range 2 {
		if err := bench.WriteJSON(f, rep); err != nil {
			t.Fatal(err)
		}
	}
	got, err := ReadReports(name)
	if err != nil || len(got) != 2 || got[1].NDCG["bm25"] != rep.NDCG["bm25"] || len(got[1].Results) != len(rep.Results) {
		t.Errorf("%+v, %v", got, err)
	}
	for _, other := range []string{filepath.Join(dir, "queries.jsonl"), filepath.Join(dir, "none")} {
		if _, err := ReadReports(other); err == nil {
			t.Errorf("%s was read", other)
		}
	}
	if _, err := ReadReports(filepath.Join(dir, "queries.jsonl")); !errors.Is(err, errReport) || !strings.HasSuffix(err.Error(), "it has no results") {
		t.Errorf("queries: %v", err)
	}
}

func TestMeanOverSets(t *testing.T) {
	m := measured{"x": {"rdc": .25, "roc": 1}, "y": {"rdc": .75}}
	if v, ok := m.mean("rdc", []string{"x", "y"}); v != .5 || !ok {
		t.Errorf("the mean of .25 and .75 is %v, %v", v, ok)
	}
	if _, ok := m.mean("roc", []string{"x", "y"}); ok {
		t.Error("a mean of what one set lacks")
	}
}
