package bench

import (
	"bufio"
	"compress/gzip"
	"encoding/json"
	"math"
	"os"
	"testing"
)

// TestMetricsEqualTrecEval holds every metric to what trec_eval said about
// 1,000 random runs (testdata/make_trec_eval.py), ties, negative grades and
// unanswered queries among them.
func TestMetricsEqualTrecEval(t *testing.T) {
	f, err := os.Open("testdata/trec_eval.jsonl.gz")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	runs, compared := 0, 0
	in := bufio.NewScanner(z)
	in.Buffer(nil, 1<<20)
	for in.Scan() {
		var rec struct {
			Qrels    Qrels
			Run      map[string][][2]any
			Expected map[string]map[string]float64
		}
		if err := json.Unmarshal(in.Bytes(), &rec); err != nil {
			t.Fatal(err)
		}
		rankings := Rankings{}
		for q, answer := range rec.Run {
			for _, p := range answer {
				rankings[q] = append(rankings[q], Ranked{ID: p[0].(string), Score: p[1].(float64)})
			}
			Rank(rankings[q])
		}
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
		got, err := Evaluate(rec.Qrels, rankings, metrics)
		if err != nil {
			t.Fatal(err)
		}
		if len(got.Queries) != len(rec.Expected) {
			t.Fatalf("run %d: averaged over %v, trec_eval over %d queries", runs, got.Queries, len(rec.Expected))
		}
		for _, m := range metrics {
			sum := 0.0
			for i, q := range got.Queries {
				want := rec.Expected[q][m.Name]
				sum += want
				if math.Abs(got.Values[m.Name][i]-want) > 1e-6 {
					t.Errorf("run %d query %s: %s is %v, trec_eval says %v", runs, q, m.Name, got.Values[m.Name][i], want)
				}
				compared++
			}
			if want := sum / float64(len(got.Queries)); math.Abs(got.Mean[m.Name]-want) > 1e-6 {
				t.Errorf("run %d: mean %s is %v, want %v", runs, m.Name, got.Mean[m.Name], want)
			}
		}
		runs++
	}
	if in.Err() != nil || runs != 1000 || compared < 20*1000 {
		t.Fatalf("read %d runs and compared %d values (%v), want 1000 runs of 20 values a query", runs, compared, in.Err())
	}
}
