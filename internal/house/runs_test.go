package house_test

import (
	"maps"
	"slices"
	"testing"

	"github.com/lexsem/lexsem/internal/runs"
)

// unheld is how many figures of a document no run holds yet. The numbers go down
// alone: a new figure needs a run (docs/runs/README.md).
var unheld = map[string]int{
	"README.md":          0,
	"docs/BENCHMARKS.md": 0,
	"docs/METHOD.md":     0,
	"docs/DECISIONS.md":  150,
	"docs/HISTORY.md":    520,
}

// TestFiguresHaveRuns holds the figures of documents to the recorded runs.
func TestFiguresHaveRuns(t *testing.T) {
	all, err := runs.Load("../../docs/runs")
	if err != nil {
		t.Fatal(err)
	}
	used := map[string]bool{}
	docs := documents(t)
	for _, name := range slices.Sorted(maps.Keys(unheld)) {
		f := runs.Check(name, docs[name], all)
		for _, p := range f.Problems {
			t.Error(p)
		}
		maps.Copy(used, f.Used)
		t.Logf("%s: %d figures of runs that commands record, %d of runs that were written by hand or from the document, %d of others or chosen, %d without a run", name, f.Held, f.Copied, f.Quoted, f.Unheld)
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
