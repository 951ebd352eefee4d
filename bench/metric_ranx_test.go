package bench

import (
	"strconv"
	"strings"
	"testing"
)

// TestMetricsEqualRanx holds every metric to what ranx and ir_measures said about the same
// 1,000 runs (testdata/make_ranx.py): the second judge for the linear gain,
// the only one for the exponential.
func TestMetricsEqualRanx(t *testing.T) {
	runs := readTrecRuns(t)
	expected := readRecorded[map[string]map[string]float64](t, "testdata/ranx.jsonl.gz")
	if len(runs) != 1000 || len(expected) != 1000 {
		t.Fatalf("%d runs and %d answers, want 1,000 of each", len(runs), len(expected))
	}
	compared, named := 0, map[string]struct{}{}
	for i, run := range runs {
		compared += holdTo(t, "run "+strconv.Itoa(i), run.Qrels, run.rankings(t), 1, expected[i])
		for _, outside := range []map[string]map[string]float64{expected[i], run.Expected} {
			for _, values := range outside {
				for name := range values {
					family, _, _ := strings.Cut(name, "@")
					named[family] = struct{}{}
				}
			}
		}
	}
	if compared < 40*1000 {
		t.Errorf("compared %d values, want 40 a query", compared)
	}
	for _, k := range MetricKinds() {
		if _, ok := named[k.Name]; !ok {
			t.Errorf("no outside figure of %s was compared", k.Name)
		}
	}
}
