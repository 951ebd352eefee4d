package state

import (
	"context"
	"fmt"
	"math"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/lexsem/lexsem/engine/internal/recent"
	"github.com/lexsem/lexsem/internal/smaps"
	"github.com/lexsem/lexsem/internal/snapshot"
	"github.com/lexsem/lexsem/store"
)

// readsOf is a database without documents whose index has its vectors in f.
func readsOf(t *testing.T, f *snapshot.File) *DB {
	t.Helper()
	st, err := store.Open(t.TempDir(), store.Options{MemoryMiB: 64})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := st.Close(); err != nil {
			t.Error(err)
		}
	})
	d := &DB{st: st, rows: []*snapshot.File{f}}
	d.cell.Publish(&State{}, func() {})
	return d
}

// TestForgetting: a task in the background leaves no vectors of a file in memory that it has read, neither while it
// goes on nor behind it.
func TestForgetting(t *testing.T) {
	const size = 8 << 20
	f, path, read := rowsFile(t, size)
	d := readsOf(t, f)
	_, err := d.run(t.Context(), task{name: "reads", do: func(context.Context, *State) (bool, error) {
		read()
		for start := time.Now(); !codesAlone(t, path, size); time.Sleep(forgetEvery / 4) {
			if time.Since(start) > 20*time.Second {
				t.Fatalf("%d bytes are resident while the task goes on", resident(t, path))
			}
		}
		read()
		return true, nil
	}})
	if err != nil || !codesAlone(t, path, size) {
		t.Errorf("%d bytes are resident behind the task: %v", resident(t, path), err)
	}
	if _, err := d.run(t.Context(), task{name: "is short", do: func(context.Context, *State) (bool, error) { read(); return true, nil }}); err != nil {
		t.Error(err)
	}
}

// rowsFile makes a file of so many bytes of vectors and half as many of codes, and the function that reads it all into memory.
func rowsFile(t *testing.T, size int) (f *snapshot.File, path string, read func()) {
	path = filepath.Join(t.TempDir(), "rows")
	f, err := snapshot.WriteOpen(path, snapshot.Header{Kind: "rows"}, func(w *snapshot.Writer) error {
		w.Begin("v.codes")
		w.Write(make([]byte, size/2))
		w.Begin("v.rows")
		w.Write(make([]byte, size))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f, path, func() {
		t.Helper()
		for _, tag := range []string{"v.codes", "v.rows"} {
			s, err := f.Section(tag)
			if err == nil {
				err = s.Check(0, s.Len())
			}
			if err != nil {
				t.Fatal(err)
			}
			sum := byte(0)
			for i := 0; i < s.Len(); i += 4096 {
				sum |= s.Raw()[i]
			}
			if sum != 0 {
				t.Fatal("other bytes")
			}
		}
		if resident(t, path) < size {
			t.Fatalf("%d bytes are resident behind reading", resident(t, path))
		}
	}
}

// codesAlone: of a file that rowsFile made the codes are in memory, and the vectors are not.
func codesAlone(t *testing.T, path string, size int) bool {
	n := resident(t, path)
	return n >= size/4 && n <= 3*size/4 // a large page over both is gone, too
}

// resident is how many bytes of a mapped file are in this process's memory.
func resident(t *testing.T, path string) int {
	t.Helper()
	in, err := smaps.Resident(func(mapped string) bool { return mapped == path })
	if err != nil {
		t.Fatal(err)
	}
	return int(in)
}

// TestForgetVectors: what searches and commits read of a file is given back once there are none, before only while
// commits go on.
func TestForgetVectors(t *testing.T) {
	const size = 40 << 20
	f, path, read := rowsFile(t, size)
	d := &DB{rows: []*snapshot.File{f}}
	s := &State{cached: recent.New[[]byte](100)}
	s.cached.Put(1, []byte("codes"), len("codes"))
	pass := func() {
		t.Helper()
		if worked, err := d.forgetVectors(t.Context(), s); worked || err != nil {
			t.Fatal(worked, err)
		}
	}
	read()
	if pass(); resident(t, path) < size/2 || d.maintainer.later {
		t.Fatal("nobody searched")
	}
	end := d.Search()
	if pass(); resident(t, path) < size/2 || !d.maintainer.later {
		t.Fatal("beside a search")
	}
	d.committed.set()
	if pass(); !codesAlone(t, path, size) || s.cached.Get(1) == nil || !d.maintainer.later {
		t.Fatalf("%d bytes are resident beside searches while commits go on", resident(t, path))
	}
	read()
	d.maintainer.files = smaps.Files() - tablesBytes
	if pass(); resident(t, path) < size/2 {
		t.Fatal("again, though little was read since")
	}
	d.maintainer.files = 0
	if pass(); !codesAlone(t, path, size) {
		t.Fatalf("%d bytes are resident after much was read", resident(t, path))
	}
	// With a commit for each few searches, searches read vectors aside, until commits are few or end.
	section, err := f.Section("v.rows")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		commits, searches uint64
		aside             bool
	}{{1, 100, false}, {10, 40, true}, {1, 100, false}, {1, 6, false}, {3, 3, true}} {
		d.maintainer.asideSince = time.Now().Add(-asideLasts)
		s.Seq += c.commits
		d.searches.Add(c.searches)
		d.committed.set()
		if pass(); section.IsAside() != c.aside {
			t.Errorf("%d commits and %d searches: aside is %v", c.commits, c.searches, !c.aside)
		}
	}
	d.maintainer.asideSince = time.Now().Add(-rest)
	d.searches.Add(100)
	if pass(); !section.IsAside() {
		t.Error("not aside after a second with many searches")
	}
	read()
	d.committed.at.Store(0)
	if pass(); section.IsAside() {
		t.Error("aside behind the last commit")
	}
	d.readAside(true)
	end()
	for d.searched.since() < rest/2 {
		if pass(); resident(t, path) < size/2 && d.searched.since() < rest {
			t.Fatal("at once behind a search")
		}
	}
	for d.searched.since() < rest {
		time.Sleep(rest / 20)
	}
	d.maintainer.later = false
	if s.cached.Get(1) == nil {
		t.Fatal("codes are forgotten beside a search")
	}
	if pass(); section.IsAside() || !codesAlone(t, path, size) || d.maintainer.later || s.cached.Get(1) != nil || !d.maintainer.searchedTables {
		t.Fatalf("%d bytes are resident a second behind the last search, or cached codes, or tables", resident(t, path))
	}
	read()
	if pass(); resident(t, path) < size/2 {
		t.Fatal("again, though nobody searched since")
	}
	d.committed.set()
	d.maintainer.files, d.maintainer.asideSince, d.maintainer.asideSearches = 0, time.Now().Add(-asideLasts), d.searches.Load()
	s.Seq += 10
	if pass(); section.IsAside() || !codesAlone(t, path, size) || !d.maintainer.later {
		t.Fatalf("%d bytes are resident beside commits without searches", resident(t, path))
	}
	read()
	d.committed.at.Store(0)
	if pass(); !codesAlone(t, path, size) {
		t.Fatalf("%d bytes are resident after the last commit", resident(t, path))
	}
}

// TestAsideInTasks: while a long task goes on, searches beside commits begin to read vectors aside.
func TestAsideInTasks(t *testing.T) {
	f, _, _ := rowsFile(t, 1<<20)
	d := readsOf(t, f)
	section, err := f.Section("v.rows")
	if err != nil {
		t.Fatal(err)
	}
	d.maintainer.asideSince, d.maintainer.asideSeq = began.Add(-rest), math.MaxUint64 // a commit before the first
	d.searches.Store(asideShare)
	d.committed.at.Store(math.MaxInt64) // for as long as this takes
	_, err = d.run(t.Context(), task{name: "is long", do: func(context.Context, *State) (bool, error) {
		for start := time.Now(); !section.IsAside(); time.Sleep(forgetEvery / 4) {
			if time.Since(start) > 20*time.Second {
				t.Fatal("searches read vectors from the mapping")
			}
		}
		return true, nil
	}})
	if err != nil {
		t.Error(err)
	}
}

// TestForgetTablesAfterSearches: tables that searches have read do not stay in memory after the last search, even
// long after the last commit.
func TestForgetTablesAfterSearches(t *testing.T) {
	dir := t.TempDir()
	st, err := store.Open(dir, store.Options{MemoryMiB: 64, NoSync: true})
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	if err := st.SetManifest(t.Context(), func(m *store.Manifest) error { m.Dim = 8; return nil }); err != nil {
		t.Fatal(err)
	}
	b, err := st.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var ords []uint64
	for i := range 300 {
		c, err := b.Put(t.Context(), &store.Document{ID: fmt.Sprint(i), Text: strings.Repeat(fmt.Sprint(i, " "), 50_000), Rows: []store.Row{{Vector: make([]float32, 8)}}})
		if err != nil {
			t.Fatal(err)
		}
		ords = append(ords, c.New)
	}
	if _, err := b.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := st.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	d := &DB{st: st}
	m := &d.maintainer
	pass := func(what string, before func(), fits func(bytes uint64) bool) {
		t.Helper()
		var in uint64
		for range 5 { // a compaction may read tables at the same time
			for _, ord := range ords {
				if _, err := st.Get(t.Context(), ord); err != nil {
					t.Fatal(err)
				}
			}
			before()
			if _, err := d.forgetTables(t.Context(), nil); err != nil {
				t.Fatal(err)
			}
			if in, err = smaps.Resident(func(path string) bool { return strings.HasPrefix(path, dir) && filepath.Ext(path) == ".sst" }); err != nil {
				t.Fatal(err)
			}
			if fits(in) {
				return
			}
		}
		t.Errorf("%s: %d bytes of tables are resident", what, in)
	}
	pass("nobody has searched", func() {}, func(n uint64) bool { return n > 3*tablesBytes })
	pass("after a search", func() { m.searchedTables = true }, func(n uint64) bool { return n < tablesBytes })
	pass("again", func() {}, func(n uint64) bool { return n > 3*tablesBytes })
	d.committed.at.Store(math.MaxInt64) // for as long as this takes
	pass("beside commits, a quarter of a second after the last time", func() { m.forgot, m.filesThen = time.Now().Add(-rest/4), 0 }, func(n uint64) bool { return n < tablesBytes })
}
