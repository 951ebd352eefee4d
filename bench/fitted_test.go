package bench

import (
	"context"
	"os"
	"path/filepath"
	"reflect"
	"testing"

	"github.com/lexsem/lexsem/encoder"
)

// TestFitsAreKept runs twice with a cache folder: the second run fits nothing
// and measures the same, also where a kept file is damaged.
func TestFitsAreKept(t *testing.T) {
	o := Options{Data: townCorpus(t, 50), Systems: []string{"dense", "slr", "hybrid:slr", "lexical:slr"},
		Tasks: []string{"keyword"}, QueriesPerPassage: 4, CacheDir: t.TempDir()}
	run := func() *Report {
		rep, err := Run(context.Background(), encoder.NewHash(64), o)
		if err != nil {
			t.Fatal(err)
		}
		for i := range rep.Results {
			rep.Results[i].MsPerQuery, rep.Results[i].CPUMsPerQuery = 0, 0
		}
		return rep
	}
	first := run()
	if first.Fit["slr"].Cached || first.Fit["lexical:slr"].Cached || !first.Fit["hybrid:slr"].Cached {
		t.Errorf("fits of the first run: %+v; slr and its ablation are fitted, the fusion shares the bridge of slr", first.Fit)
	}
	if !(first.Fit["slr"].Loss > 0) {
		t.Errorf("no loss of slr: %+v", first.Fit["slr"])
	}
	second := run()
	for name, f := range second.Fit {
		if !f.Cached || f.Queries != first.Fit[name].Queries || f.Loss != first.Fit[name].Loss {
			t.Errorf("%s in the second run: %+v, first %+v", name, f, first.Fit[name])
		}
	}
	if !reflect.DeepEqual(first.Results, second.Results) {
		t.Error("kept bridges give other figures")
	}
	files, err := filepath.Glob(filepath.Join(o.CacheDir, "bridges", "*.bridge"))
	if err != nil || len(files) != 2 {
		t.Fatalf("%d bridges kept (%v), want 2", len(files), err)
	}
	for _, f := range files {
		raw, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		raw[len(raw)/2] ^= 1
		if err := os.WriteFile(f, raw, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	third := run()
	if third.Fit["slr"].Cached || !reflect.DeepEqual(first.Results, third.Results) {
		t.Errorf("after damage: %+v", third.Fit)
	}
	o.Seed = 2
	if other := run(); other.Fit["slr"].Cached {
		t.Error("another seed took the bridge of the first")
	}
}

// TestFitPassages: a fit to some passages takes queries of those alone, and keeps no bridge for that to all; as many as
// there are, or more, are all.
func TestFitPassages(t *testing.T) {
	o := Options{Data: townCorpus(t, 50), Systems: []string{"slr"}, Tasks: []string{"keyword"}, QueriesPerPassage: 4, CacheDir: t.TempDir()}
	fits := map[int]Fit{}
	for _, n := range []int{0, 20, 100} {
		o.FitPassages = n
		rep, err := Run(context.Background(), encoder.NewHash(64), o)
		if err != nil {
			t.Fatal(err)
		}
		fits[n] = rep.Fit["slr"]
	}
	if all, some, more := fits[0], fits[20], fits[100]; some.Passages != 20 || some.Queries > 80 || some.Cached || some.Loss == all.Loss || more.Passages != all.Passages || more.Loss != all.Loss {
		t.Errorf("all %+v, 20 %+v, 100 %+v", all, some, more)
	}
}

// TestFitRate: another rate makes another bridge, and takes none that was kept of the first.
func TestFitRate(t *testing.T) {
	o := Options{Data: townCorpus(t, 50), Systems: []string{"slr"}, Tasks: []string{"keyword"}, QueriesPerPassage: 4, CacheDir: t.TempDir()}
	fits := map[float64]Fit{}
	for _, rate := range []float64{0, .02, .2} {
		o.FitRate = rate
		rep, err := Run(context.Background(), encoder.NewHash(64), o)
		if err != nil {
			t.Fatal(err)
		}
		fits[rate] = rep.Fit["slr"]
	}
	if own, same, other := fits[0], fits[.02], fits[.2]; same.Loss != own.Loss || other.Cached || other.Loss == own.Loss {
		t.Errorf("default %+v, .02 %+v, .2 %+v", own, same, other)
	}
}

func TestCasesAreTheGreatestDifferences(t *testing.T) {
	o := Options{Data: townCorpus(t, 60), Systems: []string{"dense", "rlr"}, Tasks: []string{"query", "part:4"}, Cases: 3}
	rep, err := Run(context.Background(), encoder.NewHash(32), o)
	if err != nil {
		t.Fatal(err)
	}
	if len(rep.Cases) == 0 {
		t.Fatal("no cases")
	}
	for i, task := range o.Tasks {
		base, rlr := rep.Results[2*i], rep.Results[2*i+1]
		least, most, n := 0.0, 0.0, 0
		for j := range rlr.PerQuery[compareBy] {
			d := rlr.PerQuery[compareBy][j] - base.PerQuery[compareBy][j]
			least, most = min(least, d), max(most, d)
		}
		low, high := 0.0, 0.0
		for _, c := range rep.Cases {
			if c.Task != task {
				continue
			}
			n++
			low, high = min(low, c.Delta), max(high, c.Delta)
			if c.Query == "" || c.Want.Text == "" || c.Delta == 0 || c.System != "rlr" || (c.Delta > 0) != (c.SystemRank > 0 && (c.DenseRank == 0 || c.SystemRank < c.DenseRank)) {
				t.Errorf("case %+v", c)
			}
		}
		if low != least || high != most || n > 6 {
			t.Errorf("%s: %d cases from %v to %v, differences run from %v to %v", task, n, low, high, least, most)
		}
	}
}

func TestSampleKeepsJudgementsOfWhatIsLeft(t *testing.T) {
	c, err := ReadCorpus(townCorpus(t, 60), ReadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	s := c.Sample(20, 1)
	if len(s.Passages) != 20 || len(s.Queries) == 0 || len(s.Queries) >= len(c.Queries) {
		t.Fatalf("%d passages, %d queries", len(s.Passages), len(s.Queries))
	}
	for _, q := range s.Queries {
		if !s.Qrels.HasPositive(q.ID) {
			t.Errorf("query %s has nothing left", q.ID)
		}
	}
	if again := c.Sample(20, 1); !reflect.DeepEqual(s, again) {
		t.Error("one seed draws two samples")
	}
	if all := c.Sample(0, 1); all != c {
		t.Error("no limit draws a sample")
	}
}

// TestApproximateIndex asks for a graph: on a small corpus it finds what exact
// search finds.
func TestApproximateIndex(t *testing.T) {
	o := Options{Data: townCorpus(t, 60), Systems: []string{"dense"}, Tasks: []string{"keyword"}}
	exact, err := Run(context.Background(), encoder.NewHash(32), o)
	if err != nil {
		t.Fatal(err)
	}
	o.Index, o.Ef = "hnsw", 64
	graph, err := Run(context.Background(), encoder.NewHash(32), o)
	if err != nil || graph.Index != "hnsw" || !reflect.DeepEqual(exact.Results[0].Metrics, graph.Results[0].Metrics) {
		t.Errorf("%v: exact %v, graph %v", err, exact.Results[0].Metrics, graph.Results[0].Metrics)
	}
	o.Index = "tree"
	if _, err := Run(context.Background(), encoder.NewHash(32), o); err == nil {
		t.Error("an unknown index was taken")
	}
}
