package engine_test

import (
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/lexsem/lexsem/engine"
	"github.com/lexsem/lexsem/internal/testkit/trial"
)

// mixed are the databases of which files are mixed: the first is the one that gets
// files of the others. All have the same ids, and texts that say whose they are. Those
// with a past have the first two commits of the first in common with it; then each has
// its own, so many in each of two sittings.
var mixed = []struct {
	name    string
	past    bool
	sitting [2]int
}{
	{"ours", true, [2]int{2, 2}},
	{"a copy with as many commits", true, [2]int{2, 2}},
	{"a copy with one commit more", true, [2]int{2, 3}},
	{"a copy with one commit less", true, [2]int{2, 1}},
	{"a copy with one more before", true, [2]int{3, 2}},
	{"a copy with one less before", true, [2]int{1, 2}},
	{"another database", false, [2]int{2, 2}},
}

// mixable makes them.
func mixable(t *testing.T) (dirs []string) {
	t.Helper()
	made := 0
	write := func(whose int, parts ...[2]int) {
		e := open(t, dirs[whose], mixedOptions)
		for _, part := range parts {
			d := docs(part[0], part[1])
			made++
			for i := range d {
				d[i].Text += fmt.Sprint(" told by whose", whose)
				d[i].Metadata["made"] = made // so that none is stored as it is, and each call commits
			}
			if _, err := e.Upsert(t.Context(), d); err != nil {
				t.Fatal(err)
			}
		}
		if err := e.Flush(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := e.Close(); err != nil {
			t.Fatal(err)
		}
	}
	for i := range mixed {
		dirs = append(dirs, filepath.Join(t.TempDir(), "db"))
		if i > 0 && mixed[i].past {
			if err := os.CopyFS(dirs[i], os.DirFS(dirs[0])); err != nil {
				t.Fatal(err)
			}
			continue
		}
		write(i, [2]int{0, 30}, [2]int{30, 60})
	}
	for i, m := range mixed {
		write(i, [][2]int{{20, 50}, {55, 90}, {0, 5}}[:m.sitting[0]]...)
		write(i, [][2]int{{25, 55}, {70, 95}, {5, 9}}[:m.sitting[1]]...)
	}
	return dirs
}

var mixedOptions = engine.Options{MemoryMiB: 64, Local: true}

// oursNearly says that rows are all of them ours, and but for two those that are wanted: local
// bridges that are built anew are not those that grew with the commits.
func oursNearly(rows, want, ours []string) bool {
	others := 0
	for _, row := range rows {
		if !slices.Contains(ours, row) {
			return false
		}
		if !slices.Contains(want, row) {
			others++
		}
	}
	return len(rows) == len(want) && others <= 2
}

// TestMixedFiles gives a database files of one with which it shares a past, and of
// another: one of those that hold the truth, or any of the derived ones. It is refused
// with an error that has a type, or answers as it did.
func TestMixedFiles(t *testing.T) {
	t.Parallel()
	rounds, first := trial.Rounds(t, 4, 10_000), trial.Seed(t)
	dirs := mixable(t)
	queries := []engine.Query{
		{Text: "speaks", K: engine.MaxK, Mode: engine.ModeLexical}, {Text: text(42), K: 20},
		{Text: text(57), K: 20, Mode: engine.ModeDense, Variant: engine.VariantNone}, {Text: text(7), K: 20, Mode: engine.ModeDense},
		{Text: "whose1 whose2", K: 20, Mode: engine.ModeLexical}, // words that others have
	}
	const local = 3 // the query that local bridges answer
	answer := func(e *engine.Engine, q engine.Query) (rows []string, err error) {
		r, err := e.Search(t.Context(), q)
		for _, h := range r.Hits {
			rows = append(rows, h.ID+" "+h.Text)
		}
		slices.Sort(rows)
		return rows, err
	}
	var want [][]string
	e := open(t, dirs[0], mixedOptions)
	for _, q := range queries {
		rows, err := answer(e, q)
		if err != nil {
			t.Fatal(err)
		}
		want = append(want, rows)
	}
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	names := make([][]string, len(dirs))
	for i, dir := range dirs {
		err := fs.WalkDir(os.DirFS(dir), ".", func(name string, d fs.DirEntry, err error) error {
			if err == nil && d.Type().IsRegular() {
				names[i] = append(names[i], name)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	refused, same, met := 0, 0, 0
	for i := range rounds {
		n := first + uint64(i)
		r := rand.New(rand.NewPCG(n, 3))
		dir := filepath.Join(t.TempDir(), "db")
		if err := os.CopyFS(dir, os.DirFS(dirs[0])); err != nil {
			t.Fatal(err)
		}
		other := 1 + r.IntN(len(dirs)-1)
		derived := func(name string) bool { return strings.HasPrefix(name, "derived") }
		truth, parts := []string{}, []string{}
		for _, name := range names[other] {
			if derived(name) && r.IntN(2) == 0 {
				parts = append(parts, name)
			} else if !derived(name) {
				truth = append(truth, name)
			}
		}
		files := parts
		if r.IntN(2) == 0 {
			files = []string{truth[r.IntN(len(truth))]}
		}
		for _, name := range files {
			b, err := os.ReadFile(filepath.Join(dirs[other], name))
			if err == nil {
				err = os.WriteFile(filepath.Join(dir, name), b, 0o644)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		label := fmt.Sprintf("LEXSEM_SEED=%d: %v of %s", n, files, mixed[other].name)
		e, err := engine.Open(t.Context(), dir, hash(t), mixedOptions)
		if err != nil {
			if !errors.Is(err, engine.ErrCorrupt) && !errors.Is(err, engine.ErrForeign) {
				t.Errorf("%s: untyped: %v", label, err)
			}
			refused++
			continue
		}
		for j, q := range queries {
			rows, err := answer(e, q)
			if errors.Is(err, engine.ErrCorrupt) {
				met++
				continue
			}
			if err == nil && j == local && slices.Contains(files, "derived/local.snap") && oursNearly(rows, want[j], want[0]) {
				continue
			}
			if err != nil || !slices.Equal(rows, want[j]) {
				t.Errorf("%s: query %d: %v\n%q\nwant %q", label, j, err, rows, want[j])
			}
		}
		same++
		if err := e.Close(); err != nil && !errors.Is(err, engine.ErrCorrupt) {
			t.Errorf("%s: close: %v", label, err)
		}
		if err := os.RemoveAll(dir); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("%d runs: %d refused, %d answered as before, %d calls met damage", rounds, refused, same, met)
}
