package bench

import (
	"errors"
	"math"
	"testing"

	"github.com/lexsem/lexsem/encoder"
	"github.com/lexsem/lexsem/engine/remote"
	"github.com/lexsem/lexsem/engine/remote/backendtest"
)

// TestOverIsTheEngine: in front of another engine that misses nothing the figures are
// those of the engine, hit by hit.
func TestOverIsTheEngine(t *testing.T) {
	enc := encoder.NewHash(24)
	c, err := ReadCorpus(townCorpus(t, 200), ReadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	m := &backendtest.Memory{}
	s, err := NewSetting(t.Context(), enc, NewTargets(c.Passages), SettingOptions{Seed: 1, Over: func() (remote.Backend, error) { return m, nil }})
	if err != nil {
		t.Fatal(err)
	}
	var questions []Question
	for _, q := range c.Queries {
		questions = append(questions, Question{Text: q.Text})
	}
	for _, mode := range []string{"", ":dense", ":lexical", ":dense/none"} {
		var answers [2][][]Hit
		for i, name := range []string{"engine" + mode, "over" + mode} {
			sys, err := ParseSystem(name)
			if err != nil {
				t.Fatal(err)
			}
			r, _, err := sys.Prepare(t.Context(), s)
			if err != nil {
				t.Fatal(err)
			}
			if answers[i], err = r.Retrieve(t.Context(), questions, 10); err != nil {
				t.Fatal(err)
			}
		}
		for q := range questions {
			a, b := answers[0][q], answers[1][q]
			if len(a) != len(b) {
				t.Fatalf("%s: %d hits of the engine, %d over", mode, len(a), len(b))
			}
			for i := range a {
				if math.Abs(a[i].Score-b[i].Score) > 1e-4 {
					t.Fatalf("%s: query %d, hit %d scores %v, over %v", mode, q, i, a[i].Score, b[i].Score)
				}
			}
		}
	}
	if m.Created != 1 {
		t.Errorf("%d indexes were made for four systems", m.Created)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	for _, bad := range []string{"over:dense/none/tokens", "over:x"} {
		if _, err := ParseSystem(bad); !errors.Is(err, ErrOption) {
			t.Errorf("%s: %v", bad, err)
		}
	}
	none, err := NewSetting(t.Context(), enc, NewTargets(c.Passages), SettingOptions{Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	sys, err := ParseSystem("over")
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := sys.Prepare(t.Context(), none); !errors.Is(err, ErrOption) {
		t.Errorf("without an engine elsewhere: %v", err)
	}
	if err := none.Close(); err != nil {
		t.Error(err)
	}
}
