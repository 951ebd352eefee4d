package bench

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"maps"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/lexsem/lexsem/encoder"
	"github.com/lexsem/lexsem/internal/bench/parallel"
)

func TestRun(t *testing.T) {
	dir, runs := townCorpus(t, 60), filepath.Join(t.TempDir(), "runs")
	o := Options{Data: dir, Systems: []string{"dense", "rlr", "slr", "rlr+slr"}, Tasks: []string{"query", "keyword", "part:6"}, QueriesPerPassage: 4, RunsDir: runs, Version: "v0", Seed: 3}
	rep, err := Run(context.Background(), encoder.NewHash(256), o)
	if err != nil {
		t.Fatal(err)
	}
	if rep.Data != "tiny" || rep.Documents != 61 || rep.Distinct != 60 || rep.Encoder != "hash-256" || rep.Seed != 3 || len(rep.Results) != 12 {
		t.Errorf("report is %+v", rep)
	}
	for _, name := range []string{"rlr", "slr", "rlr+slr"} {
		f, ok := rep.Fit[name]
		if !ok || f.Passages != 60 || f.Seconds <= 0 || (f.Queries > 0) != (name != "rlr") {
			t.Errorf("fit of %s is %+v", name, f)
		}
	}
	byName := map[string]Result{}
	for _, r := range rep.Results {
		byName[r.System+" "+r.Task] = r
		if (r.VsDense == nil) != (r.System == "dense") || r.MsPerQuery <= 0 {
			t.Errorf("%s on %s: vs dense %v, %v ms", r.System, r.Task, r.VsDense, r.MsPerQuery)
		}
		for _, m := range DefaultMetrics {
			if v, ok := r.Metrics[m]; !ok || !(v >= 0 && v <= 1) {
				t.Errorf("%s on %s: %s is %v", r.System, r.Task, m, v)
			}
		}
		rescore(t, runs, r)
	}
	if q := byName["dense query"].Queries; q != 20 {
		t.Errorf("%d judged queries, want 20", q)
	}
	if q := byName["dense part:6"].Queries; q != 60 {
		t.Errorf("%d spans, want one for each distinct text", q)
	}
	// The two passages of one text tie; the larger id comes first, and both
	// are found.
	run := readRun(t, filepath.Join(runs, "query.dense.trec"))
	i := slices.IndexFunc(run["q0"], func(r Ranked) bool { return r.ID == "p060" })
	if i < 0 || run["q0"][i+1].ID != "p000" || math.Nextafter32(float32(run["q0"][i].Score), -1) != float32(run["q0"][i+1].Score) {
		t.Errorf("equal texts are ranked %v", run["q0"])
	}
	// A span lies near its passage: a harness that mixed up queries and
	// passages could not find it. Chance is below .1.
	if v := byName["dense part:6"].Metrics["ndcg@10"]; v < .6 {
		t.Errorf("dense part:6 ndcg@10 is %v", v)
	}
}

// rescore checks that the files of a run give the figures of the report, with either file of judgements.
func rescore(t *testing.T, runs string, r Result) {
	t.Helper()
	base := filepath.Join(runs, strings.ReplaceAll(r.Task, ":", "-"))
	var metrics []Metric
	for name := range r.Metrics {
		m, _ := ParseMetric(name)
		metrics = append(metrics, m)
	}
	for _, judgements := range []string{".qrels.tsv", ".qrels"} {
		f, err := os.Open(base + judgements)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		qrels := Qrels{}
		if err := eachQrel(f, "qrels", ReadOptions{}, qrels.Add); err != nil {
			t.Fatal(err)
		}
		s, err := Evaluate(qrels, readRun(t, base+"."+r.System+".trec"), metrics)
		if err != nil || !reflect.DeepEqual(s.Mean, r.Metrics) {
			t.Errorf("%s on %s: the run file scores %v, the report says %v (%v)", r.System, r.Task, s, r.Metrics, err)
		}
	}
}

func readRun(t *testing.T, name string) Rankings {
	t.Helper()
	f, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	r, err := ReadRun(f, name, ReadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// figures are what must not depend on time.
func figures(rep *Report) map[string]map[string]float64 {
	out := map[string]map[string]float64{}
	for _, r := range rep.Results {
		m := maps.Clone(r.Metrics)
		if r.VsDense != nil {
			m["p"] = r.VsDense.P
		}
		out[r.System+" "+r.Task] = m
	}
	return out
}

func TestRunIsDeterministic(t *testing.T) {
	o := Options{Data: townCorpus(t, 40), Tasks: []string{"keyword", "part:6"}, QueriesLimit: 25, QueriesPerPassage: 3}
	var want map[string]map[string]float64
	cache := t.TempDir()
	for i, dir := range []string{"", "", cache, cache} {
		o.CacheDir = dir
		rep, err := Run(context.Background(), encoder.NewHash(48), o)
		if err != nil {
			t.Fatal(err)
		}
		if rep.Results[0].Queries != 25 {
			t.Errorf("%d queries with a limit of 25", rep.Results[0].Queries)
		}
		got := figures(rep)
		if want == nil {
			want = got
		} else if !reflect.DeepEqual(got, want) {
			t.Errorf("run %d (cache %q) differs:\n%v\n%v", i, dir, got, want)
		}
	}
	if files, _ := os.ReadDir(cache); len(files) == 0 {
		t.Error("nothing was cached")
	}
	o.Seed = 2
	rep, err := Run(context.Background(), encoder.NewHash(48), o)
	if err != nil {
		t.Fatal(err)
	}
	if reflect.DeepEqual(figures(rep), want) {
		t.Error("another seed gives the same figures")
	}
}

// TestRunLeavesTheEncoderOpen: it belongs to the caller.
func TestRunLeavesTheEncoderOpen(t *testing.T) {
	enc := encoder.NewHash(32)
	_, err := Run(context.Background(), enc, Options{Data: townCorpus(t, 12), Systems: []string{"dense"}, Tasks: []string{"part:4"}, CacheDir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := enc.Encode(context.Background(), encoder.Query, encoder.Texts("x"), encoder.NeedDense); err != nil {
		t.Errorf("after Run: %v", err)
	}
}

// countingEncoder counts the texts that reach it.
type countingEncoder struct {
	encoder.Encoder
	texts map[string]int
}

func (c countingEncoder) Encode(ctx context.Context, role encoder.Role, in []encoder.Input, need encoder.Need) ([]encoder.Output, error) {
	for _, t := range in {
		c.texts[role.String()+t.Text]++
	}
	return c.Encoder.Encode(ctx, role, in, need)
}

func TestEachTextIsEncodedOnce(t *testing.T) {
	enc := countingEncoder{encoder.NewHash(32), map[string]int{}}
	rep, err := Run(context.Background(), enc, Options{Data: townCorpus(t, 30), Systems: append([]string{"slr"}, DefaultSystems...), Tasks: []string{"query", "part:4"}, QueriesPerPassage: 2})
	if err != nil {
		t.Fatal(err)
	}
	if rep.Fit["slr"].Queries == 0 || rep.Fit["slr"].Queries != rep.Fit["rlr+slr"].Queries {
		t.Errorf("fits used %+v", rep.Fit)
	}
	for text, n := range enc.texts {
		if n != 1 {
			t.Errorf("%q was encoded %d times", text, n)
		}
	}
}

func TestRunRefusals(t *testing.T) {
	dir := townCorpus(t, 12)
	for name, c := range map[string]struct {
		o    Options
		want error
	}{
		"system":        {Options{Data: dir, Systems: []string{"nothing"}}, ErrUnknownName},
		"dense:1":       {Options{Data: dir, Systems: []string{"dense:1"}}, ErrUnknownName},
		"empty system":  {Options{Data: dir, Systems: []string{""}}, ErrUnknownName},
		"twice":         {Options{Data: dir, Systems: []string{"rlr", "rlr"}}, ErrDuplicateID},
		"twice, turned": {Options{Data: dir, Systems: []string{"rlr+slr", "slr+rlr"}}, ErrDuplicateID},
		"task":          {Options{Data: dir, Tasks: []string{"nothing"}}, ErrUnknownName},
		"no span":       {Options{Data: dir, Tasks: []string{"part:900"}}, ErrNoQueries},
		"metric":        {Options{Data: dir, Metrics: []string{"ndcg"}}, ErrUnknownName},
		"no data":       {Options{Data: filepath.Join(dir, "none")}, os.ErrNotExist},
	} {
		_, err := Run(context.Background(), encoder.NewHash(16), c.o)
		if !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", name, err, c.want)
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := Run(ctx, encoder.NewHash(16), Options{Data: dir}); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}

// TestReportJSON holds the names that others read.
func TestReportJSON(t *testing.T) {
	rep := sampleReport()
	var b bytes.Buffer
	if err := rep.WriteJSON(&b); err != nil {
		t.Fatal(err)
	}
	var got map[string]any
	if err := json.Unmarshal(b.Bytes(), &got); err != nil {
		t.Fatal(err)
	}
	for key, want := range map[string]any{"data": "towns", "documents": 61., "encoder": "hash-64", "seed": 1., "version": "v0"} {
		if got[key] != want {
			t.Errorf("%s is %v, want %v", key, got[key], want)
		}
	}
	results := got["results"].([]any)
	dense, rlr := results[0].(map[string]any), results[1].(map[string]any)
	if _, there := dense["vs_dense"]; there {
		t.Error("dense is compared with itself")
	}
	if rlr["system"] != "rlr" || rlr["task"] != "part:16" || rlr["queries"] != 50. || rlr["ms_per_query"] != .25 ||
		!reflect.DeepEqual(rlr["metrics"], map[string]any{"ndcg@1": .95, "ndcg@10": .975}) ||
		!reflect.DeepEqual(rlr["vs_dense"], map[string]any{"delta_ndcg@10": .125, "p": .0001, "p_holm": .0003}) {
		t.Errorf("result is %v", rlr)
	}
	if s := got["fit"].(map[string]any)["rlr"].(map[string]any)["seconds"]; s != 1.5 {
		t.Errorf("fit seconds are %v", s)
	}
}

func sampleReport() *Report {
	return &Report{Data: "towns", Documents: 61, Distinct: 60, Encoder: "hash-64", Seed: 1, Version: "v0",
		Results: []Result{
			{System: "dense", Task: "part:16", Queries: 50, Metrics: map[string]float64{"ndcg@1": .8, "ndcg@10": .85}, MsPerQuery: .2},
			{System: "rlr", Task: "part:16", Queries: 50, Metrics: map[string]float64{"ndcg@1": .95, "ndcg@10": .975}, MsPerQuery: .25,
				VsDense: &Comparison{Delta: .125, P: .0001, PHolm: .0003}},
			{System: "dense", Task: "query", Queries: 9, Metrics: map[string]float64{"ndcg@1": 1, "ndcg@10": 1}, MsPerQuery: 10},
		},
		Fit: map[string]Fit{"rlr": {Seconds: 1.5, Passages: 60}},
	}
}

func TestReportTable(t *testing.T) {
	var b strings.Builder
	if err := sampleReport().WriteTable(&b, nil); err != nil {
		t.Fatal(err)
	}
	want := `towns · 61 documents · hash-64 · seed 1

task     system  queries  ndcg@1  ndcg@10  Δ ndcg@10  p (Holm)  ms/query
part:16  dense        50    80.0     85.0                          0.200
         rlr                95.0     97.5      +12.5    0.0003     0.250
query    dense         9   100.0    100.0                         10.000

p: paired randomization test on ndcg@10 against dense, by Holm's method over the systems of a task: 1 here.
`
	if b.String() != want {
		t.Errorf("the table is\n%s\nwant\n%s", b.String(), want)
	}
}

// TestParallelStopsAtTheFirstError and leaves no work behind.
func TestParallelStopsAtTheFirstError(t *testing.T) {
	boom := errors.New("boom")
	calls := make([]bool, 10_000)
	err := parallel.Each(context.Background(), len(calls), func(i int) error {
		calls[i] = true
		if i == 10 {
			return boom
		}
		return nil
	})
	if !errors.Is(err, boom) || calls[len(calls)-1] {
		t.Errorf("%v, last call made: %v", err, calls[len(calls)-1])
	}
	sum := make([]float64, 100)
	if err := parallel.Each(context.Background(), 100, func(i int) error { sum[i] = 1; return nil }); err != nil {
		t.Fatal(err)
	}
	total := 0.0
	for _, x := range sum {
		total += x
	}
	if math.Abs(total-100) > 0 {
		t.Errorf("%v of 100 calls", total)
	}
}
