package bench

import (
	"context"
	"maps"
	"reflect"
	"sync"
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

// TestSearchesEncodeNoQuestion: a database is asked in the question's encoding, so its times are those of searches, and
// answers as if it had encoded the question itself.
func TestSearchesEncodeNoQuestion(t *testing.T) {
	c, err := ReadCorpora(townCorpus(t, 60), ReadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	enc := &counted{Encoder: encoder.NewHash(64)}
	s, err := NewSetting(t.Context(), enc, NewTargets(c.Passages), SettingOptions{Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for _, name := range []string{"engine:hybrid", "engine:hybrid/tokens", "engine:dense/rlr/tokens"} {
		system, r := prepared(t, s, name)
		questions, err := s.Questions(t.Context(), []string{s.Targets.Texts[3], c.Queries[0].Text}, system.Need)
		if err != nil {
			t.Fatal(err)
		}
		before := enc.queries
		known, err := r.Retrieve(t.Context(), questions, 10)
		if err != nil || enc.queries != before {
			t.Errorf("%s encodes %d questions again, %v", name, enc.queries-before, err)
		}
		for i := range questions {
			questions[i].Output = encoder.Output{}
		}
		own, err := r.Retrieve(t.Context(), questions, 10)
		if err != nil || enc.queries == before || !reflect.DeepEqual(own, known) || len(own[0]) == 0 {
			t.Errorf("%s finds %v by its own encodings, %v by those of the run, %v", name, own, known, err)
		}
	}
}

// counted counts the calls that encode queries.
type counted struct {
	encoder.Encoder
	mu      sync.Mutex
	queries int
}

func (c *counted) Encode(ctx context.Context, role encoder.Role, in []encoder.Input, need encoder.Need) ([]encoder.Output, error) {
	if role == encoder.Query {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.queries++
	}
	return c.Encoder.Encode(ctx, role, in, need)
}
