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
	"github.com/lexsem/lexsem/internal/trial"
)

// mixable makes three databases with the same ids: the first two have a history
// in common and then each its own, the third is another one. Their texts say whose
// they are.
func mixable(t *testing.T) (dirs [3]string) {
	t.Helper()
	made := 0
	of := func(whose, lo, hi int) []engine.Document {
		d := docs(lo, hi)
		made++
		for i := range d {
			d[i].Text += fmt.Sprint(" told by whose", whose)
			d[i].Metadata["made"] = made // so that none is stored as it is, and all write as much
		}
		return d
	}
	for i := range dirs {
		dirs[i] = filepath.Join(t.TempDir(), "db")
	}
	write := func(dir string, d ...[]engine.Document) {
		e := open(t, dir, mixedOptions)
		for _, d := range d {
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
	write(dirs[0], of(0, 0, 30), of(0, 30, 60))
	if err := os.CopyFS(dirs[1], os.DirFS(dirs[0])); err != nil {
		t.Fatal(err)
	}
	for i := range 2 {
		write(dirs[i], of(i, 20, 50), of(i, 55, 90))
	}
	write(dirs[2], of(2, 0, 30), of(2, 30, 60), of(2, 20, 50), of(2, 55, 90))
	return dirs
}

var mixedOptions = engine.Options{MemoryMiB: 64, Local: true}

// TestMixedFiles gives a database files of one with which it shares a past, and of
// another: one of those that hold the truth, or any of the derived ones. It is refused
// with an error that has a type, or answers as it did.
func TestMixedFiles(t *testing.T) {
	t.Parallel()
	rounds, first := trial.Rounds(t, 12, 10_000), trial.Seed(t)
	dirs := mixable(t)
	queries := []engine.Query{
		{Text: "speaks", K: engine.MaxK, Mode: engine.ModeLexical}, {Text: text(42), K: 20},
		{Text: text(57), K: 20, Mode: engine.ModeDense, Variant: engine.VariantNone}, {Text: text(7), K: 20, Mode: engine.ModeDense},
		{Text: "whose1 whose2", K: 20, Mode: engine.ModeLexical}, // words that others have
	}
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
	names := [3][]string{}
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
		other := 1 + r.IntN(2)
		derived := func(name string) bool { return strings.HasPrefix(name, "derived") }
		truth, parts := []string{}, []string{}
		for _, name := range names[other] {
			if derived(name) && r.IntN(2) == 0 {
				parts = append(parts, name)
			} else if !derived(name) {
				truth = append(truth, name)
			}
		}
		mixed := parts
		if r.IntN(2) == 0 {
			mixed = []string{truth[r.IntN(len(truth))]}
		}
		for _, name := range mixed {
			b, err := os.ReadFile(filepath.Join(dirs[other], name))
			if err == nil {
				err = os.WriteFile(filepath.Join(dir, name), b, 0o644)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		label := fmt.Sprintf("LEXSEM_SEED=%d: %v of %d", n, mixed, other)
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
