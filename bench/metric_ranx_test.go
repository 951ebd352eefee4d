package bench

import (
	"strconv"
	"strings"
	"testing"
)

// TestMetricsEqualOthers holds every metric to two outside implementations on the same 1,000 runs: to trec_eval
// (metric_trec_test.go), to ranx and ir_measures (testdata/make_ranx.py), and, where those are one only, to another
// (testdata/make_second.py).
func TestMetricsEqualOthers(t *testing.T) {
	runs := readTrecRuns(t)
	judges := map[string]map[string]struct{}{} // of each family
	names := func(judge string, expected map[string]map[string]float64) {
		for _, values := range expected {
			for name := range values {
				family, _, _ := strings.Cut(name, "@")
				if judges[family] == nil {
					judges[family] = map[string]struct{}{}
				}
				judges[family][judge] = struct{}{}
			}
		}
	}
	for file, c := range map[string]struct {
		within float64
		least  int // values of a query
	}{"ranx": {1e-6, 40}, "second": {1e-5, 13}} {
		expected := readRecorded[map[string]map[string]float64](t, "testdata/"+file+".jsonl.gz")
		if len(runs) != 1000 || len(expected) != 1000 {
			t.Fatalf("%s: %d runs and %d answers, want 1,000 of each", file, len(runs), len(expected))
		}
		compared := 0
		for i, run := range runs {
			compared += holdTo(t, file+", run "+strconv.Itoa(i), run.Qrels, run.rankings(t), 1, expected[i], c.within)
			names(file, expected[i])
			names("trec_eval", run.Expected)
		}
		if compared < c.least*1000 {
			t.Errorf("%s: compared %d values, want %d a query", file, compared, c.least)
		}
	}
	for _, k := range MetricKinds() {
		if len(judges[k.Name]) < 2 && k.ScoreAll == nil {
			t.Errorf("%s is held to %v, want two outside implementations", k.Name, judges[k.Name])
		}
	}
}
