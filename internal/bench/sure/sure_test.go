package sure

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/lexsem/lexsem/bench"
	"github.com/lexsem/lexsem/encoder"
	"github.com/lexsem/lexsem/internal/stat"
	"github.com/lexsem/lexsem/internal/testkit/trial"
)

func TestMetricsByHand(t *testing.T) {
	for _, c := range []struct {
		ranks, reference []float64
		rdc, roc         float64
	}{
		// σ of 1, 2, 3 is √(2/3), that of 1, 3, 5 twice as much.
		{[]float64{1, 3, 5}, []float64{1, 2, 3}, .5, 1},
		{[]float64{3, 2, 1}, []float64{1, 2, 3}, 1, 0},
		{[]float64{1, 2, 50}, []float64{1, 2, 11}, 1 - (deviation([]float64{1, 2, 50})-deviation([]float64{1, 2, 11}))/deviation([]float64{1, 2, 50}), 1},
		{[]float64{2, 1, 3}, []float64{1, 2, 3}, 1, 2. / 3},
		{[]float64{4, 4}, []float64{1, 2}, 0, 0},
		{[]float64{4, 4}, []float64{7, 7}, 1, 1},
		{[]float64{5}, []float64{1}, 1, 1},
	} {
		if got := rdcTerm(c.ranks, c.reference); math.Abs(got-c.rdc) > 1e-12 {
			t.Errorf("RDC of %v against %v is %v, want %v", c.ranks, c.reference, got, c.rdc)
		}
		if got := rocTerm(c.ranks, c.reference); math.Abs(got-c.roc) > 1e-12 {
			t.Errorf("ROC of %v against %v is %v, want %v", c.ranks, c.reference, got, c.roc)
		}
	}
}

// TestMetricLaws: both lie in [0, 1], are 1 of equal ranks, and do not change
// when system and reference change places.
func TestMetricLaws(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	draw := func(n int) []float64 {
		x := make([]float64, n)
		for i := range x {
			x[i] = float64(1 + rng.IntN(9))
		}
		return x
	}
	for range 2000 {
		n := 2 + rng.IntN(4)
		a, b := draw(n), draw(n)
		for name, f := range map[string]func(x, y []float64) float64{"RDC": rdcTerm, "ROC": rocTerm} {
			v := f(a, b)
			if !(v >= 0 && v <= 1) || math.Abs(v-f(b, a)) > 1e-12 || f(a, a) != 1 {
				t.Fatalf("%s of %v and %v is %v and %v, of equals %v", name, a, b, v, f(b, a), f(a, a))
			}
		}
	}
}

// folder writes a corpus with versions: precise ones repeat the words asked
// for, noisy ones bury them.
func folder(t *testing.T, n int) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "made")
	files := map[string]string{}
	add := func(name, format string, args ...any) { files[name] += fmt.Sprintf(format+"\n", args...) }
	for i := range n {
		ask := fmt.Sprintf("harbour%d tide%d", i, i*7%n)
		add("queries.jsonl", `{"_id":"q%d","text":"%s"}`, i, ask)
		add("corpus.jsonl", `{"_id":"p%d","text":"%s with boats and old nets by the wall"}`, i, ask)
		add("qrels/test.tsv", "q%d\tp%d\t1", i, i)
		add("variants/key-sentences.jsonl", `{"_id":"p%d","text":"%s"}`, i, ask)
		add("variants/key-sentences-with-noise.jsonl", `{"_id":"p%d","text":"%s lies among words of other matters such as %s"}`, i, ask, strings.Repeat(fmt.Sprintf("grain%d mill%d ", i, i+1), 9))
		add("variants/summaries.jsonl", `{"_id":"p%d","text":"%s boats"}`, i, ask)
		if i%2 == 0 { // the same text as the passage
			add("variants/expansions.jsonl", `{"_id":"p%d","text":"%s with boats and old nets by the wall"}`, i, ask)
		} else {
			add("variants/expansions.jsonl", `{"_id":"p%d","text":"%s with boats and old nets by the wall and much more to say of gulls and of rain"}`, i, ask)
		}
		if i < n/2 {
			add("variants/passages-with-keywords-replaced.jsonl", `{"_id":"p%d","text":"haven%d ebb%d with boats and old nets by the wall"}`, i, i, i)
		}
	}
	trial.Files(t, dir, files)
	return dir
}

func TestRun(t *testing.T) {
	dir := folder(t, 30)
	o := Options{Data: dir, Systems: []string{"dense", "rlr", "bm25"}, Setting: bench.SettingOptions{Seed: 1}}
	rep, err := Run(context.Background(), encoder.NewHash(128), o)
	if err != nil {
		t.Fatal(err)
	}
	if len(rep.Results) != 9 || rep.Reference != "constructed" || rep.Documents != 30 {
		t.Fatalf("%+v", rep)
	}
	byName := map[string]result{}
	for _, r := range rep.Results {
		byName[r.System+" "+r.Testbed] = r
		if (r.ROC == nil) != (r.Testbed == "equivalence") || (r.VsDense == nil) != (r.System == "dense") || r.MedianGap < 1 {
			t.Errorf("%+v", r)
		}
	}
	if p := byName["dense precision"]; p.Queries != 30 || *p.ROC < .9 {
		t.Errorf("precise texts lie nearer, yet ROC is %v on %d queries", *p.ROC, p.Queries)
	}
	if a := byName["dense abstraction"]; a.Queries != 30 || a.Same != 15 {
		t.Errorf("half of the expansions repeat the passage: %+v", a)
	}
	if v, w := byName["rlr precision"].VsDense, byName["bm25 precision"].VsDense; !slices.Equal(stat.Holm([]float64{v.PRDC, w.PRDC}), []float64{v.HolmRDC, w.HolmRDC}) ||
		!slices.Equal(stat.Holm([]float64{v.PROC, w.PROC}), []float64{v.HolmROC, w.HolmROC}) || v.HolmRDC == v.PRDC && w.HolmRDC == w.PRDC {
		t.Errorf("p is not corrected over the systems: %+v, %+v", v, w)
	}
	for _, r := range rep.Results {
		if v := r.VsDense; v != nil && (math.Abs(v.DeltaGap-(r.Gap-byName["dense "+r.Testbed].Gap)) > 1e-9 || !(v.PGap > 0) || v.HolmGap < v.PGap) {
			t.Errorf("%s %s: gap %v, difference %v, p %v, corrected %v", r.System, r.Testbed, r.Gap, v.DeltaGap, v.PGap, v.HolmGap)
		}
	}
	if v := byName["rlr equivalence"].VsDense; v.PROC != 0 || v.HolmROC != 0 {
		t.Errorf("a p of ROC where there is none: %+v", v)
	}
	// The replaced words share nothing with the query: they stand far behind,
	// and BM25 does not find them at all.
	e, b := byName["dense equivalence"], byName["bm25 equivalence"]
	if e.Queries != 15 || e.LeftOut != 15 || e.First < .99 || e.Gap < 3 {
		t.Errorf("equivalence: %+v", e)
	}
	if b.First != 1 {
		t.Errorf("bm25 has the passage first in %v of the queries", b.First)
	}
	again, err := Run(context.Background(), encoder.NewHash(128), o)
	if err != nil || again.Results[0].RDC != rep.Results[0].RDC || again.Results[1].VsDense.PRDC != rep.Results[1].VsDense.PRDC {
		t.Errorf("a second run differs (%v)", err)
	}
}

// TestReference holds a system against its own ranks: RDC and ROC are 1.
func TestReference(t *testing.T) {
	dir := folder(t, 20)
	d, err := read(dir, bench.ReadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	beds, targets := d.arrange()
	setting, err := bench.NewSetting(context.Background(), encoder.NewHash(64), targets, bench.SettingOptions{Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	var texts []string
	for _, q := range d.Queries {
		texts = append(texts, q.Text)
	}
	questions, err := setting.Questions(context.Background(), texts, encoder.NeedDense)
	if err != nil {
		t.Fatal(err)
	}
	s, _ := bench.ParseSystem("dense")
	retriever, _, err := s.Prepare(context.Background(), setting)
	if err != nil {
		t.Fatal(err)
	}
	ranks, _, err := beds.rank(context.Background(), retriever, questions, setting.Report)
	if err != nil {
		t.Fatal(err)
	}
	var lines strings.Builder
	for i, q := range d.Queries {
		var parts []string
		for v, r := range ranks[i] {
			parts = append(parts, fmt.Sprintf("%q: %v", v, r))
		}
		fmt.Fprintf(&lines, "{\"query\": %q, \"ranks\": {%s}}\n", q.ID, strings.Join(parts, ", "))
	}
	file := filepath.Join(t.TempDir(), "reference.jsonl")
	if err := os.WriteFile(file, []byte(lines.String()), 0o644); err != nil {
		t.Fatal(err)
	}
	rep, err := Run(context.Background(), encoder.NewHash(64), Options{Data: dir, Systems: []string{"dense"}, Reference: file, Setting: bench.SettingOptions{Seed: 1}})
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range rep.Results {
		if r.RDC != 1 || r.ROC == nil || *r.ROC != 1 {
			t.Errorf("against its own ranks %s has RDC %v and ROC %v", r.Testbed, r.RDC, r.ROC)
		}
	}
}

func TestBadInput(t *testing.T) {
	for name, text := range map[string]string{
		"not JSON":      "ranks",
		"no ranks":      `{"query":"q1"}`,
		"other version": `{"query":"q1","ranks":{"poem":1}}`,
		"rank 0":        `{"query":"q1","ranks":{"passage":0}}`,
		"other field":   `{"query":"q1","ranks":{"passage":1},"x":1}`,
		"twice":         "{\"query\":\"q1\",\"ranks\":{\"passage\":1}}\n{\"query\":\"q1\",\"ranks\":{\"passage\":1}}",
	} {
		_, err := parseReference(strings.NewReader(text), "ref.jsonl")
		var line *bench.LineError
		if !errors.As(err, &line) || line.File != "ref.jsonl" || line.Line < 1 {
			t.Errorf("%s: %v", name, err)
		}
	}
	dir := folder(t, 6)
	o := Options{Data: dir, Systems: []string{"dense"}, Reference: filepath.Join(dir, "queries.jsonl")}
	if _, err := Run(context.Background(), encoder.NewHash(16), o); !errors.Is(err, bench.ErrBrokenLine) {
		t.Errorf("queries as reference: %v", err)
	}
	if err := os.WriteFile(filepath.Join(dir, "few.jsonl"), []byte(`{"query":"q0","ranks":{"passage":1}}`), 0o644); err != nil {
		t.Fatal(err)
	}
	o.Reference = filepath.Join(dir, "few.jsonl")
	if _, err := Run(context.Background(), encoder.NewHash(16), o); !errors.Is(err, errData) {
		t.Errorf("a reference without most ranks: %v", err)
	}
	stray := filepath.Join(dir, "variants", "summaries.jsonl")
	if err := os.WriteFile(stray, []byte(`{"_id":"nobody","text":"x"}`), 0o644); err != nil {
		t.Fatal(err)
	}
	var line *bench.LineError
	if _, err := read(dir, bench.ReadOptions{}); !errors.As(err, &line) || line.File != stray || !errors.Is(err, bench.ErrUnknownID) {
		t.Errorf("a version of an unknown passage: %v", err)
	}
	if err := os.Remove(stray); err != nil {
		t.Fatal(err)
	}
	if _, err := read(dir, bench.ReadOptions{}); !errors.Is(err, errData) {
		t.Errorf("no versions: %v", err)
	}
}

// TestRetrieval: nDCG@10 is that of bench over the passages, where the versions
// are not known to sums and BM25.
func TestRetrieval(t *testing.T) {
	dir := folder(t, 40)
	systems := []string{"dense", "rlr", "bm25", "hybrid"}
	ctx, enc := context.Background(), encoder.NewHash(24)
	alone, err := Run(ctx, enc, Options{Data: dir, Systems: systems, PassagesAlone: true, Setting: bench.SettingOptions{Seed: 1}})
	if err != nil {
		t.Fatal(err)
	}
	want, err := bench.Run(ctx, enc, bench.Options{Data: dir, Systems: systems, Tasks: []string{"query"}, Metrics: []string{"ndcg@10"}, Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range want.Results {
		if got := alone.NDCG[r.System]; math.Abs(got-r.Metrics["ndcg@10"]) > 1e-9 {
			t.Errorf("%s: nDCG@10 %v, without versions %v", r.System, got, r.Metrics["ndcg@10"])
		}
	}
	all, err := Run(ctx, enc, Options{Data: dir, Systems: systems, Setting: bench.SettingOptions{Seed: 1}})
	if err != nil {
		t.Fatal(err)
	}
	for i, r := range all.Results {
		if same := r.RDC == alone.Results[i].RDC; same != (r.System == "dense") && r.Testbed == "precision" && r.System != "bm25" {
			t.Errorf("%s: RDC %v with and %v without the versions in the sums", r.System, r.RDC, alone.Results[i].RDC)
		}
	}
}

// TestSample: a limit draws queries by the seed, and other versions are gone.
func TestSample(t *testing.T) {
	dir := folder(t, 30)
	drawn := func(seed uint64) *versions {
		d, err := read(dir, bench.ReadOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if err := d.sample(8, seed); err != nil {
			t.Fatal(err)
		}
		return d
	}
	a, b := drawn(1), drawn(2)
	if len(a.Queries) != 8 || len(a.Versions["summaries"]) != 8 || len(a.Passages) != 30 || slices.Equal(a.Queries, b.Queries) {
		t.Errorf("%d queries, %d summaries, %d passages", len(a.Queries), len(a.Versions["summaries"]), len(a.Passages))
	}
	for _, q := range a.Queries {
		if _, ok := a.Versions["summaries"][a.Qrels.Best(q.ID)]; !ok {
			t.Errorf("%s has lost its summary", q.ID)
		}
	}
	rep, err := Run(context.Background(), encoder.NewHash(16), Options{Data: dir, Systems: []string{"dense"}, QueriesLimit: 8, Setting: bench.SettingOptions{Seed: 1}})
	if err != nil || rep.Results[0].Queries != 8 || rep.Documents != 30 {
		t.Errorf("%+v, %v", rep, err)
	}
}
