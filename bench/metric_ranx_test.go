package bench

import (
	"math"
	"testing"
)

// TestMetricsEqualRanx holds every metric to what ranx said about the same
// 1,000 runs (testdata/make_ranx.py): the second judge for the linear gain,
// the only one for the exponential.
func TestMetricsEqualRanx(t *testing.T) {
	runs := readTrecRuns(t)
	expected := readRecorded[map[string]map[string]float64](t, "testdata/ranx.jsonl.gz")
	if len(runs) != 1000 || len(expected) != 1000 {
		t.Fatalf("%d runs and %d answers, want 1,000 of each", len(runs), len(expected))
	}
	compared, n := 0, 0
	for i, run := range runs {
		var metrics []Metric
		for _, values := range expected[i] {
			for name := range values {
				m, err := ParseMetric(name)
				if err != nil {
					t.Fatal(err)
				}
				metrics = append(metrics, m)
			}
			break
		}
		got, err := Evaluate(run.Qrels, run.rankings(), metrics)
		if err != nil {
			t.Fatal(err)
		}
		for j, q := range got.Queries {
			for _, m := range metrics {
				if want := expected[i][q][m.Name]; math.Abs(got.Values[m.Name][j]-want) > 1e-6 {
					t.Errorf("run %d query %s: %s is %v, ranx says %v", i, q, m.Name, got.Values[m.Name][j], want)
				}
				compared++
			}
		}
		n++
	}
	t.Logf("compared %d runs", n)
	if compared < 24*1000 {
		t.Errorf("compared %d values, want 24 a query", compared)
	}
}
