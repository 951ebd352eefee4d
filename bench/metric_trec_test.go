package bench

import (
	"math"
	"testing"

	"github.com/lexsem/lexsem/internal/testkit/recorded"
)

// trecRun is one line of testdata/trec_eval.jsonl.gz.
type trecRun struct {
	Qrels    Qrels
	Run      map[string][][2]any
	Expected map[string]map[string]float64
}

func (r trecRun) rankings() Rankings {
	out := Rankings{}
	for q, answer := range r.Run {
		for _, p := range answer {
			out[q] = append(out[q], Ranked{ID: p[0].(string), Score: p[1].(float64)})
		}
		Rank(out[q])
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
// unanswered queries among them.
func TestMetricsEqualTrecEval(t *testing.T) {
	compared, n := 0, 0
	runs := readTrecRuns(t)
	for i, rec := range runs {
		var metrics []Metric
		for _, ms := range rec.Expected {
			for name := range ms {
				m, err := ParseMetric(name)
				if err != nil {
					t.Fatal(err)
				}
				metrics = append(metrics, m)
			}
			break
		}
		got, err := Evaluate(rec.Qrels, rec.rankings(), metrics)
		if err != nil {
			t.Fatal(err)
		}
		if len(got.Queries) != len(rec.Expected) {
			t.Fatalf("run %d: averaged over %v, trec_eval over %d queries", i, got.Queries, len(rec.Expected))
		}
		for _, m := range metrics {
			sum := 0.0
			for j, q := range got.Queries {
				want := rec.Expected[q][m.Name]
				sum += want
				if math.Abs(got.Values[m.Name][j]-want) > 1e-6 {
					t.Errorf("run %d query %s: %s is %v, trec_eval says %v", i, q, m.Name, got.Values[m.Name][j], want)
				}
				compared++
			}
			if want := sum / float64(len(got.Queries)); math.Abs(got.Mean[m.Name]-want) > 1e-6 {
				t.Errorf("run %d: mean %s is %v, want %v", i, m.Name, got.Mean[m.Name], want)
			}
		}
		n++
	}
	t.Logf("compared %d runs", n)
	if len(runs) != 1000 || compared < 20*1000 {
		t.Fatalf("read %d runs and compared %d values, want 1000 runs of 20 values a query", len(runs), compared)
	}
}
