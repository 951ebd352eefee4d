package engine

import (
	"bytes"
	"cmp"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/lexsem/lexsem/encoder"
	"github.com/lexsem/lexsem/engine/archive"
	"github.com/lexsem/lexsem/engine/internal/state"
	"github.com/lexsem/lexsem/index"
	"github.com/lexsem/lexsem/store"
)

// onward are the ways from a closed database to one that is opened without a kind of index
// named. Each returns the folder of the latter.
var onward = []struct {
	name string
	to   func(t *testing.T, dir string) string
}{
	{"reopened", func(_ *testing.T, dir string) string { return dir }},
	{"restored", func(t *testing.T, dir string) string {
		e := opened(t, dir, Options{}, autoHNSW)
		defer closed(t, e)
		var backup bytes.Buffer
		if _, err := e.BackupTo(t.Context(), &backup); err != nil {
			t.Fatal(err)
		}
		to := filepath.Join(t.TempDir(), "restored")
		if _, err := archive.Restore(t.Context(), to, &backup, archive.RestoreOptions{}); err != nil {
			t.Fatal(err)
		}
		return to
	}},
	{"encoded anew", func(t *testing.T, dir string) string {
		for _, dim := range []int{2 * madeDim, madeDim} {
			if _, err := Reembed(t.Context(), dir, encoder.NewHash(dim), Options{MemoryMiB: leastStoreMiB, NoSync: true}); err != nil {
				t.Fatal(err)
			}
		}
		return dir
	}},
}

// forgetIndex makes a database one that remembers no kind of index.
func forgetIndex(t *testing.T, dir string) {
	t.Helper()
	st, err := store.Open(dir, store.Options{MemoryMiB: leastStoreMiB})
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	if err := st.SetManifest(t.Context(), func(m *store.Manifest) error { m.Index = ""; return nil }); err != nil {
		t.Fatal(err)
	}
}

// kindOf is the kind of the index of a database.
func kindOf(t *testing.T, e *Engine) string {
	t.Helper()
	s, err := e.Stats(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return s.Index
}

// TestIndexIsKept: a database goes on with the kind of index that was asked for, on every way
// to its next opening, for reading and for writing, also where it is large enough for
// an exact index to be replaced.
func TestIndexIsKept(t *testing.T) {
	t.Parallel()
	const graphAbove = 20
	for _, kind := range append(indexKinds(), "") {
		t.Run(cmp.Or(kind, "none"), func(t *testing.T) {
			t.Parallel()
			want := kind
			if kind == "" || kind == state.IndexAuto {
				want = index.KindHNSWInt8
			}
			dir := t.TempDir()
			r := rand.New(rand.NewPCG(5, 6))
			is := func(when, want string, o Options) {
				t.Helper()
				e := opened(t, dir, o, graphAbove)
				defer closed(t, e)
				if !o.ReadOnly {
					put(t, e, madeDocs(r, 0, 30)...)
					flushed(t, e)
				}
				if got := kindOf(t, e); got != want {
					t.Errorf("%s: %q, want %q", when, got, want)
				}
			}
			is("new", want, Options{Index: kind, NoSync: true})
			for _, way := range onward {
				dir = way.to(t, dir)
				is(way.name, want, Options{NoSync: true})
			}
			is("read only", want, Options{ReadOnly: true})
			forgetIndex(t, dir)
			if kind == index.KindFlatInt8 {
				want = index.KindHNSWInt8 // nothing tells that it was asked for
			}
			is("of a build that remembered no kind", want, Options{NoSync: true})
			if err := os.RemoveAll(filepath.Join(dir, "derived")); err != nil {
				t.Fatal(err)
			}
			is("and then without derived state", want, Options{NoSync: true})
		})
	}
}

// TestWideGraph: where vectors are long, the graph that a size leads to has codes of four bits. It is found again, gives
// way to a kind that is asked for, and comes back.
func TestWideGraph(t *testing.T) {
	t.Parallel()
	for dim, graph := range map[int]string{1023: index.KindHNSWInt8, 1024: index.KindHNSWCompact} {
		dir := t.TempDir()
		var docs []Document
		for i := range 30 {
			docs = append(docs, Document{ID: strconv.Itoa(i), Text: "passage number " + strconv.Itoa(i)})
		}
		for _, x := range []struct{ ask, want string }{
			{"", graph}, {"", graph}, {state.IndexAuto, graph},
			{index.KindHNSWFast, index.KindHNSWFast}, {"", index.KindHNSWFast}, {state.IndexAuto, graph},
		} {
			e, err := open(t.Context(), dir, encoder.NewHash(dim), Options{Index: x.ask, NoSync: true, MemoryMiB: leastStoreMiB}, 20)
			if err != nil {
				t.Fatal(err)
			}
			put(t, e, docs...)
			flushed(t, e)
			if got := kindOf(t, e); got != x.want {
				t.Errorf("%d dimensions, asked for %q: %q, want %q", dim, x.ask, got, x.want)
			}
			closed(t, e)
		}
	}
}

// TestIndexIsChanged: each kind takes the place of another when it is asked for, and
// IndexAuto gives the choice back to the size.
func TestIndexIsChanged(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	docs := madeDocs(rand.New(rand.NewPCG(5, 6)), 0, 10)
	ask := func(kind, want string) {
		t.Helper()
		e := opened(t, dir, Options{Index: kind, NoSync: true}, autoHNSW)
		defer closed(t, e)
		put(t, e, docs...)
		if got := kindOf(t, e); got != want {
			t.Errorf("asked for %q: %q, want %q", kind, got, want)
		}
	}
	for _, kind := range index.Kinds() {
		ask(kind, kind)
		ask("", kind)
	}
	for _, kind := range index.Kinds() {
		ask(kind, kind)
		want := index.KindFlatInt8
		if kind == index.KindHNSWInt8 { // which a size may have led to
			want = kind
		}
		ask(state.IndexAuto, want)
	}
}
