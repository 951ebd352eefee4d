package bench

import (
	"context"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/lexsem/lexsem/encoder"
	"github.com/lexsem/lexsem/internal/bench/constants"
)

// Each constant that a system names changes what it finds or how it scores, and the
// shipped value by name is what stands without it.
func TestConstantsAreRead(t *testing.T) {
	ctx := context.Background()
	c, err := ReadCorpora(townCorpus(t, 50), ReadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	s, err := NewSetting(ctx, encoder.NewHash(256), NewTargets(c.Passages), SettingOptions{Seed: 1, QueriesPerPassage: 2})
	if err != nil {
		t.Fatal(err)
	}
	var texts []string
	for _, q := range c.Queries[:12] {
		texts = append(texts, q.Text+" quagmire zephyr") // which no passage has
	}
	questions, err := s.Questions(ctx, texts, encoder.NeedDense|encoder.NeedHidden)
	if err != nil {
		t.Fatal(err)
	}
	for i := range questions { // part of each is unknown to the encoder
		questions[i].Output.Tokens.Special = slices.Clone(questions[i].Output.Tokens.Special)
		questions[i].Output.Tokens.Special[1] = true
	}
	ask := func(system System, with constants.Values) [][]Hit {
		s.Constants = with
		defer func() { s.Constants = nil }()
		r, _, err := system.Prepare(ctx, s)
		if err != nil {
			t.Fatal(system.Name, with, err)
		}
		hits, err := r.Retrieve(ctx, questions, 50)
		if err != nil {
			t.Fatal(system.Name, with, err)
		}
		return hits
	}
	read := map[string]bool{}
	for _, name := range []string{"hybrid:dense", "rrf", "convex", "rlr", "rlr+whiten", "rlr-local", "slr", "hybrid:rlr", "engine:hybrid/tokens"} {
		system, err := ParseSystem(name)
		if err != nil || len(system.Constants) == 0 {
			t.Fatal(name, system.Constants, err)
		}
		shipped := ask(system, nil)
		for _, constant := range system.Constants {
			known, ok := constants.Named(constant)
			if !ok {
				t.Fatal(constant)
			}
			read[constant] = true
			other := known.Try[0]
			if other == known.Shipped {
				other = known.Try[1]
			}
			if constant == "cell" {
				other = 20
			} else if constant == "reach" {
				other = 1 // more than most questions reach
			} else if constant == "spread" {
				other = .01 // below what so small a fit learns
			}
			if reflect.DeepEqual(ask(system, constants.Values{constant: other}), shipped) {
				t.Errorf("%s does not read %s=%v", name, constant, other)
			}
			if !math.IsNaN(known.Shipped) && !strings.Contains(name, "whiten") && !sameHits(ask(system, constants.Values{constant: known.Shipped}), shipped) {
				t.Errorf("%s: %s=%v is not what is shipped", name, constant, known.Shipped)
			}
		}
	}
	for _, known := range constants.All() {
		if !read[known.Name] {
			t.Errorf("no system reads %s", known.Name)
		}
	}
}

// sameHits compares up to rounding.
func sameHits(a, b [][]Hit) bool {
	return slices.EqualFunc(a, b, func(a, b []Hit) bool {
		return slices.EqualFunc(a, b, func(a, b Hit) bool { return a.Target == b.Target && math.Abs(a.Score-b.Score) < 1e-6 })
	})
}

// Questions in a language that the model does not read are marked, as in a database.
func TestQuestionsUnread(t *testing.T) {
	s, err := NewSetting(t.Context(), named{encoder.NewHash(64), "all-MiniLM-L6-v2"}, NewTargets([]Passage{{ID: "a", Body: "a bridge"}}), SettingOptions{})
	if err != nil {
		t.Fatal(err)
	}
	questions, err := s.Questions(t.Context(), []string{"Wer hat die Brücke über den Fluss gebaut?", "Who has built the bridge across the river?"}, encoder.NeedDense)
	if err != nil || questions[0].Output.Tokens.Unknown() != .5 || questions[1].Output.Tokens.Unknown() != 0 {
		t.Errorf("%+v, %v", questions, err)
	}
}

// named is an encoder under the name of another.
type named struct {
	encoder.Encoder
	model string
}

func (n named) Fingerprint() encoder.Fingerprint {
	fp := n.Encoder.Fingerprint()
	fp.Model = n.model
	return fp
}
