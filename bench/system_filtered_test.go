package bench

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/lexsem/lexsem/encoder"
)

// TestFiltered: a search within a folder by that folder's own sums is that of the folder alone; by the sums of all it is
// another one over the same passages.
func TestFiltered(t *testing.T) {
	ctx, enc := t.Context(), encoder.NewHash(16)
	dirs := []string{townCorpus(t, 60), townCorpus(t, 90)} // the first 60 texts are in both
	other := filepath.Join(filepath.Dir(dirs[1]), "other")
	if err := os.Rename(dirs[1], other); err != nil {
		t.Fatal(err)
	}
	dirs[1] = other
	all, err := ReadCorpora(strings.Join(dirs, ","), ReadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	var fit *Fit
	names := func(c *Corpus, system, id string) []string {
		t.Helper()
		s, err := NewSetting(ctx, enc, NewTargets(c.Passages), SettingOptions{Seed: 1})
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		sys, err := ParseSystem(system)
		if err != nil {
			t.Fatal(err)
		}
		var r Retriever
		r, fit, err = sys.Prepare(ctx, s)
		if err != nil {
			t.Fatal(err)
		}
		questions, err := s.Questions(ctx, []string{all.Passages[7].Body[:40], all.Passages[20].Body[:30]}, sys.Need)
		if err != nil {
			t.Fatal(err)
		}
		var found []string
		for i := range questions {
			questions[i].ID = id
		}
		hits, err := r.Retrieve(ctx, questions, 20)
		if errors.Is(err, ErrOption) {
			return nil
		}
		if err != nil {
			t.Fatal(err)
		}
		for _, hs := range hits {
			for _, h := range hs {
				_, name, ok := strings.Cut(s.Targets.ID(h.Target), ":")
				if !ok {
					name = s.Targets.ID(h.Target)
				}
				found = append(found, name)
			}
		}
		return found
	}
	for i, dir := range dirs {
		alone, err := ReadCorpora(dir, ReadOptions{})
		if err != nil {
			t.Fatal(err)
		}
		folder := filepath.Base(dir) + ":"
		want := strings.Join(names(alone, "rlr", "q"), " ")
		if got := strings.Join(names(all, "filtered:rlr/own", folder+"q"), " "); got != want {
			t.Errorf("folder %d by its own sums: %s\nwant %s", i, got, want)
		}
		whole := names(all, "filtered:rlr", folder+"q")
		if got := strings.Join(whole, " "); (got == want) != (i == 1) || len(whole) != 40 { // the second folder has all texts
			t.Errorf("folder %d by the sums of all: %s", i, got)
		}
	}
	if got := names(all, "filtered:rlr", "q"); got != nil {
		t.Errorf("a query of no folder: %v", got)
	}
	if got := names(all, "filtered:slr/own", filepath.Base(dirs[0])+":q"); len(got) != 40 || fit.Queries == 0 || fit.Bytes == 0 { // a fit a folder
		t.Errorf("by fits to each folder: %v, %+v", got, fit)
	}
	for _, name := range []string{"filtered", "filtered:", "filtered:/own", "filtered:nothing", "filtered:rlr/other"} {
		if _, err := ParseSystem(name); !errors.Is(err, ErrUnknownName) {
			t.Errorf("%q: error %v", name, err)
		}
	}
}
