package house_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/lexsem/lexsem/internal/dev/runs"
)

// unheld is how many figures of a document no run holds: those of history, which
// nothing repeats. The number goes down alone: a new figure needs a run
// (docs/runs/README.md).
var unheld = map[string]int{"docs/HISTORY.md": 430}

// TestFiguresHaveRuns holds the figures of documents to the recorded runs.
func TestFiguresHaveRuns(t *testing.T) {
	all, err := runs.Load("../../../docs/runs")
	if err != nil {
		t.Fatal(err)
	}
	used := map[string]bool{}
	docs := documents(t)
	for _, name := range runs.Documents {
		f := runs.Check(name, docs[name], all)
		for _, p := range f.Problems {
			t.Error(p)
		}
		maps.Copy(used, f.Used)
		for run := range f.Used { // comments are not shown
			if link := "(runs/" + run + ".json)"; strings.HasPrefix(name, "docs/") && !strings.Contains(docs[name], link) {
				t.Errorf("%s has figures of %s and nowhere the link [%s]%s, so a reader cannot find it", name, run, run, link)
			}
		}
		t.Logf("%s: %d figures of runs that commands record, %d of runs that were written by hand, %d of others or chosen, %d without a run", name, f.Held, f.Copied, f.Quoted, f.Unheld)
		if f.Unheld > unheld[name] {
			t.Errorf("%s has %d figures without a run, and may have %d: give the new ones a run (docs/runs/README.md); without one stand those of %v", name, f.Unheld, unheld[name], f.Where)
		} else if f.Unheld < unheld[name] {
			t.Errorf("%s has %d figures without a run: lower unheld from %d, so that it stays so", name, f.Unheld, unheld[name])
		}
	}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		for _, p := range all[name].Problems() {
			t.Error(p)
		}
		if !used[name] {
			t.Errorf("no document uses docs/runs/%s.json; name it or remove it", name)
		}
	}
}
