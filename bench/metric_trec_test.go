package bench

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/lexsem/lexsem/internal/bench/random"
	"github.com/lexsem/lexsem/internal/testkit/recorded"
)

// trecRun is one line of testdata/trec_eval.jsonl.gz.
type trecRun struct {
	Qrels     Qrels
	Run       map[string][][2]any
	Expected  map[string]map[string]float64 // of relevance level 1
	Expected2 map[string]map[string]float64 // of level 2
}

// rankings reads the run as bench score does.
func (r trecRun) rankings(t *testing.T) Rankings {
	t.Helper()
	var file strings.Builder
	for q, answer := range r.Run {
		for _, p := range answer {
			fmt.Fprintf(&file, "%s Q0 %s 0 %v t\n", q, p[0], p[1])
		}
	}
	out, err := ReadRun(strings.NewReader(file.String()), "run", ReadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func readTrecRuns(t *testing.T) []trecRun {
	t.Helper()
	return readRecorded[trecRun](t, "testdata/trec_eval.jsonl.gz")
}

func readRecorded[T any](t *testing.T, name string) []T {
	t.Helper()
	out, err := recorded.Lines[T](name)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// TestMetricsEqualTrecEval holds every metric to what trec_eval said about
// 1,000 random runs (testdata/make_trec_eval.py), ties, negative grades and
// unanswered queries among them, for two relevance levels. The exported form of a run
// gives the same figures.
func TestMetricsEqualTrecEval(t *testing.T) {
	compared := 0
	runs := readTrecRuns(t)
	for i, rec := range runs {
		read := rec.rankings(t)
		var file strings.Builder
		if err := writeRun(&file, "t", read); err != nil {
			t.Fatal(err)
		}
		exported, err := ReadRun(strings.NewReader(file.String()), "run", ReadOptions{})
		if err != nil {
			t.Fatal(err)
		}
		for level, expected := range map[int]map[string]map[string]float64{1: rec.Expected, 2: rec.Expected2} {
			for _, rankings := range []Rankings{read, exported} {
				compared += holdTo(t, fmt.Sprintf("run %d level %d", i, level), rec.Qrels, rankings, level, expected, 1e-6)
			}
		}
	}
	if len(runs) != 1000 || compared < 4*28*1000 {
		t.Fatalf("read %d runs and compared %d values, want 1000 runs of 28 values a query, four times", len(runs), compared)
	}
}

// holdTo compares our figures of a run with others, query → metric → value, and counts them. A query may lack some.
func holdTo(t *testing.T, run string, qrels Qrels, rankings Rankings, level int, expected map[string]map[string]float64, within float64) (compared int) {
	t.Helper()
	all := map[string]struct{}{}
	for _, values := range expected {
		for name := range values {
			all[name] = struct{}{}
		}
	}
	names := slices.Sorted(maps.Keys(all))
	metrics, err := ParseMetrics(names, level)
	if err != nil {
		t.Fatal(err)
	}
	got, err := Evaluate(qrels, rankings, metrics)
	if err != nil {
		t.Fatal(err)
	}
	if len(got.Queries) != len(expected) {
		t.Fatalf("%s: averaged over %v, the other over %d queries", run, got.Queries, len(expected))
	}
	for _, m := range metrics {
		sum, n := 0.0, 0
		for j, q := range got.Queries {
			want, ok := expected[q][m.Name]
			if !ok {
				continue
			}
			sum, n = sum+want, n+1
			if math.Abs(got.Values[m.Name][j]-want) > within {
				t.Errorf("%s query %s: %s is %v, the other says %v", run, q, m.Name, got.Values[m.Name][j], want)
			}
		}
		compared += n
		if want := sum / float64(n); n == len(got.Queries) && math.Abs(got.Mean[m.Name]-want) > within {
			t.Errorf("%s: mean %s is %v, want %v", run, m.Name, got.Mean[m.Name], want)
		}
	}
	return compared
}

// TestRunsRankAsTrecEval holds the order of 1,000 random runs with heavy ties, and of their exported
// files, to trec_eval's rule written out: scores in single precision fall, and so do ids of equal scores.
func TestRunsRankAsTrecEval(t *testing.T) {
	rng := random.New(3, "ties")
	names, level := []string{"ndcg@1", "ndcg@10", "ndcg-exp@5", "map", "mrr", "bpref", "rprec", "rbp", "recall@10"}, 1
	metrics, err := ParseMetrics(names, level)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 1000 {
		qrels, hits := map[string]int{"first": 1}, []Ranked(nil)
		for d := range 1 + rng.IntN(30) {
			id := string(rune('A'+rng.IntN(58))) + strconv.Itoa(d)
			if rng.IntN(2) == 0 {
				qrels[id] = rng.IntN(5) - 1
			}
			hits = append(hits, Ranked{ID: id, Score: float64(rng.IntN(4)) + float64(rng.IntN(3))*1e-9})
		}
		var want []Ranked // by selection: the best that is left
		for left := slices.Clone(hits); len(left) > 0; {
			best := 0
			for j, h := range left {
				if a, b := float32(h.Score), float32(left[best].Score); a > b || a == b && h.ID > left[best].ID {
					best = j
				}
			}
			want = append(want, left[best])
			left = slices.Delete(left, best, best+1)
		}
		ours := slices.Clone(hits)
		for j := range ours {
			ours[j].Score = float64(float32(ours[j].Score))
		}
		Rank(ours)
		var file strings.Builder
		if err := writeRun(&file, "t", Rankings{"q": ours}); err != nil {
			t.Fatal(err)
		}
		exported, err := ReadRun(strings.NewReader(file.String()), "run", ReadOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(order(ours), order(want)) || !slices.Equal(order(exported["q"]), order(want)) {
			t.Fatalf("run %d: ranked %v, exported %v, want %v", i, order(ours), order(exported["q"]), order(want))
		}
		a, err := Evaluate(Qrels{"q": qrels}, Rankings{"q": ours}, metrics)
		if err != nil {
			t.Fatal(err)
		}
		b, err := Evaluate(Qrels{"q": qrels}, exported, metrics)
		if err != nil || !maps.Equal(a.Mean, b.Mean) {
			t.Fatalf("run %d: %v, exported %v, %v", i, a.Mean, b.Mean, err)
		}
	}
}
