package bench

import (
	"context"
	"errors"
	"testing"

	"github.com/lexsem/lexsem/encoder"
)

// What is learned from the passages left out does not depend on those that are
// searched, and differs from what these would teach.
func TestUnseen(t *testing.T) {
	systems := []string{"dense", "whiten", "unseen:whiten", "unseen:rlr+slr", "rlr+slr"}
	o := Options{Data: townCorpus(t, 120), Systems: systems, Tasks: []string{"keyword"}, PassagesLimit: 60, QueriesPerPassage: 6}
	rep, err := Run(context.Background(), encoder.NewHash(16), o)
	if err != nil {
		t.Fatal(err)
	}
	if rep.Documents != 60 {
		t.Fatalf("%d passages are searched, want 60", rep.Documents)
	}
	got := map[string]float64{}
	for _, r := range rep.Results {
		got[r.System] = r.Metrics["ndcg@10"]
	}
	if got["unseen:whiten"] == got["whiten"] || got["unseen:whiten"] == got["dense"] {
		t.Errorf("whitening by unseen passages is that by the searched ones, or none: %v", got)
	}
	if !(got["unseen:rlr+slr"] < got["rlr+slr"]) {
		t.Errorf("a bridge fitted to other passages is as good as one fitted to these: %v", got)
	}
	if q := rep.Fit["unseen:rlr+slr"].Queries; q == 0 || rep.Fit["unseen:rlr+slr"].Passages != 60 {
		t.Errorf("fit of unseen:rlr+slr: %+v", rep.Fit["unseen:rlr+slr"])
	}
	o.PassagesLimit = 0
	if _, err := Run(context.Background(), encoder.NewHash(16), o); !errors.Is(err, ErrOption) {
		t.Errorf("without passages left out: %v", err)
	}
	for _, name := range []string{"unseen", "unseen:", "unseen:nothing", "unseen:dense"} {
		if _, err := ParseSystem(name); !errors.Is(err, ErrUnknownName) {
			t.Errorf("%q: error %v", name, err)
		}
	}
}

// A passage that was left out but has the text of one that is searched is not
// unseen.
func TestLeftOutTargets(t *testing.T) {
	all := &Corpus{Passages: []Passage{{ID: "a", Body: "one"}, {ID: "b", Body: "two"}, {ID: "c", Body: "one"}, {ID: "d", Body: "three"}}}
	got := leftOutTargets(all, NewTargets(all.Passages[:1]))
	if got.Len() != 2 || got.ID(0) != "b" || got.ID(1) != "d" {
		t.Errorf("left out: %v", got.Members)
	}
}
