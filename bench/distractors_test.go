package bench

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/lexsem/lexsem/encoder"
)

// Distractors are searched, but no query asks for them and no bridge is fitted
// to them, while the sums of rlr are those of all that is searched.
func TestDistractors(t *testing.T) {
	run := func(o Options) *Report {
		t.Helper()
		o.Seed = 5 // neither of the two passages with one text is drawn alone
		o.Systems, o.Tasks, o.QueriesPerPassage = []string{"dense", "rlr", "slr", "rlr+slr", "lexical:slr"}, []string{"query", "keyword"}, 6
		rep, err := Run(context.Background(), encoder.NewHash(16), o)
		if err != nil {
			t.Fatal(err)
		}
		return rep
	}
	data := townCorpus(t, 120)
	alone := run(Options{Data: data, PassagesLimit: 40})
	among := run(Options{Data: data, PassagesLimit: 40, Distractors: true})
	if among.Documents != 40 || among.Distractors != 81 || among.Distinct <= alone.Distinct {
		t.Fatalf("%d asked for, %d distractors, %d distinct; want 40, 81 and more than %d", among.Documents, among.Distractors, among.Distinct, alone.Distinct)
	}
	for _, system := range []string{"slr", "lexical:slr"} {
		if a, b := alone.Fit[system], among.Fit[system]; a.Queries != b.Queries || a.Passages != b.Passages || b.Loss != a.Loss {
			t.Errorf("the fit of %s has seen %+v among distractors, %+v without", system, b, a)
		}
	}
	if got := among.Fit["rlr"].Passages; got != among.Distinct {
		t.Errorf("rlr summed %d passages of %d", got, among.Distinct)
	}
	for i, r := range among.Results {
		other := alone.Results[i]
		if !slices.Equal(among.Tasks[i/5].Queries, alone.Tasks[i/5].Queries) {
			t.Fatalf("%s asks other queries", r.Task)
		}
		if r.Metrics["ndcg@10"] > other.Metrics["ndcg@10"]+1e-9 && r.System == "dense" {
			t.Errorf("%s: dense finds more among distractors: %v and %v", r.Task, r.Metrics, other.Metrics)
		}
	}
	if !strings.Contains(among.Searched("documents"), "40 documents among 81 others") {
		t.Error(among.Searched("documents"))
	}

	for _, o := range []Options{
		{Data: data, Distractors: true, Systems: []string{"dense"}},
		{Data: data, Distractors: true, PassagesLimit: 121, Systems: []string{"dense"}},
		{Data: data, Distractors: true, PassagesLimit: 40, Systems: []string{"unseen:rlr"}},
	} {
		if _, err := Run(context.Background(), encoder.NewHash(16), o); !errors.Is(err, ErrOption) || !strings.Contains(err.Error(), "--passages-limit") {
			t.Errorf("%+v: error %v", o, err)
		}
	}
}

// A target that is asked for keeps the name that it has among all.
func TestTargetsOf(t *testing.T) {
	all := &Corpus{Passages: []Passage{{ID: "a", Body: "one"}, {ID: "b", Body: "two"}, {ID: "c", Body: "one"}, {ID: "d", Body: "three"}}}
	got := NewTargets(all.Passages).of(&Corpus{Passages: all.Passages[2:]})
	if got.Len() != 2 || got.ID(0) != "a" || got.ID(1) != "d" || got.Texts[0] != "one" {
		t.Errorf("asked for: %+v", got)
	}
}
