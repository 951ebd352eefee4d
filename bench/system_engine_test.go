package bench

import (
	"maps"
	"testing"

	"github.com/lexsem/lexsem/encoder"
)

// TestFiguresAreTheEngines: the figures of a system are those of a database that is searched in the same way, to
// the last bit.
func TestFiguresAreTheEngines(t *testing.T) {
	pairs := map[string]string{"dense": "engine:dense/none/chunk=-1", "rlr": "engine:dense/rlr/chunk=-1", "bm25": "engine:lexical/chunk=-1", "hybrid": "engine:hybrid/rlr/chunk=-1", "hybrid:dense": "engine:hybrid/none/chunk=-1"}
	o := Options{Data: townCorpus(t, 150), Tasks: []string{"query", "keyword", "part:6"}}
	for system, same := range pairs {
		o.Systems = append(o.Systems, system, same)
	}
	r, err := Run(t.Context(), encoder.NewHash(64), o)
	if err != nil {
		t.Fatal(err)
	}
	figures := map[string]map[string]float64{}
	for _, of := range r.Results {
		figures[of.Task+" "+of.System] = of.Metrics
	}
	for _, task := range o.Tasks {
		for system, same := range pairs {
			a, b := figures[task+" "+system], figures[task+" "+same]
			if len(a) == 0 || !maps.Equal(a, b) {
				t.Errorf("%s: %s has %v, %s %v", task, system, a, same, b)
			}
		}
	}
}
