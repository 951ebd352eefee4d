package house_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/lexsem/lexsem/internal/dev/runs"
)

// TestFiguresHaveRuns holds the figures of documents to the recorded runs.
func TestFiguresHaveRuns(t *testing.T) {
	all, err := runs.Load("../../../docs/runs")
	if err != nil {
		t.Fatal(err)
	}
	docs := documents(t)
	names, err := runs.Documents("../../..")
	if err != nil || len(names) < 3 {
		t.Fatalf("%v, %v", names, err)
	}
	for _, name := range names {
		f := runs.Check(name, docs[name], all)
		for _, p := range f.Problems {
			t.Error(p)
		}
		for run := range f.Used { // comments are not shown
			if link := "runs/" + run + ".json)"; name != "README.md" && !strings.Contains(docs[name], link) {
				t.Errorf("%s has figures of %s and nowhere a link to it, as [%s](%s, so a reader cannot find it", name, run, run, link)
			}
		}
		t.Logf("%s: %d figures of runs that commands record, %d of runs that were written by hand, %d of others or chosen, %d without a run", name, f.Held, f.Copied, f.Quoted, f.Unheld)
		if f.Unheld > 0 {
			t.Errorf("%s has %d figures without a run: give them one (docs/runs/README.md); without one stand those of %v", name, f.Unheld, f.Where)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		for _, p := range all[name].Problems() {
			t.Error(p)
		}
	}
}
