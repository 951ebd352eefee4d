package engine

import (
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/lexsem/lexsem/internal/inverted"
)

// saveWanted plants damage in the words, which has the maintainer make them anew and
// then save.
func saveWanted(e *Engine) {
	err := fmt.Errorf("planted: %w", inverted.ErrCorrupt)
	e.db.Repair(&err)
}

// tree is what lies below a folder.
func tree(t *testing.T, dir string) map[string]string {
	t.Helper()
	files := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		i, err := d.Info()
		if err == nil {
			files[path] = fmt.Sprint(i.Size(), " ", i.ModTime().UnixNano())
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// TestFailureOfTheMaintainerIsTold: what the maintainer could not do is told by Flush,
// Stats and Close; commits and searches go on, nothing is lost, and it is done once
// it can be.
func TestFailureOfTheMaintainerIsTold(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	e := opened(t, dir, Options{}, autoHNSW)
	r := rand.New(rand.NewPCG(21, 22))
	docs := map[string]Document{}
	change := func(lo, hi int) {
		for _, d := range madeDocs(r, lo, hi) {
			docs[d.ID] = d
			put(t, e, d)
		}
	}
	change(0, 20)
	flushed(t, e)
	derived := filepath.Join(dir, "derived")
	if err := os.RemoveAll(derived); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(derived, []byte("no folder"), 0o644); err != nil {
		t.Fatal(err)
	}
	saveWanted(e)
	for range 2 { // it is tried again, and fails again
		if err := e.Flush(t.Context()); err == nil {
			t.Fatal("Flush does not tell that nothing could be saved")
		}
		if s, err := e.Stats(t.Context()); err != nil || s.Maintenance.Error == "" {
			t.Fatalf("Stats does not tell it: %+v, %v", s.Maintenance, err)
		}
		change(10, 30)
		if res, err := e.Search(t.Context(), Query{Text: docs["d29"].Text}); err != nil || res.Hits[0].ID != "d29" {
			t.Fatal(res, err)
		}
	}
	if err := os.Remove(derived); err != nil {
		t.Fatal(err)
	}
	flushed(t, e)
	if s, err := e.Stats(t.Context()); err != nil || s.Maintenance.Error != "" {
		t.Fatalf("%+v, %v", s.Maintenance, err)
	}
	if files, err := filepath.Glob(filepath.Join(derived, "*.snap")); err != nil || len(files) != 5 {
		t.Fatalf("%v, %v", files, err)
	}
	change(25, 40)
	if err := os.RemoveAll(derived); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(derived, []byte("no folder"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := e.Close(); err == nil {
		t.Fatal("Close does not tell that nothing could be saved")
	}
	if err := os.Remove(derived); err != nil {
		t.Fatal(err)
	}
	e = opened(t, dir, Options{}, autoHNSW)
	likeFresh(t, "reopened", e, Options{}, docs)
	closed(t, e)
}

// TestFlushesAtOnce: each of several calls of Flush gets the error of what could not be
// done, whatever calls begin meanwhile.
func TestFlushesAtOnce(t *testing.T) {
	dir := t.TempDir()
	e := opened(t, dir, Options{}, autoHNSW)
	put(t, e, madeDocs(rand.New(rand.NewPCG(25, 26)), 0, 5)...)
	flushed(t, e)
	derived := filepath.Join(dir, "derived")
	if err := os.RemoveAll(derived); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(derived, []byte("no folder"), 0o644); err != nil {
		t.Fatal(err)
	}
	saveWanted(e)
	var calls sync.WaitGroup
	for range 8 {
		calls.Go(func() {
			for i := range 100 {
				if err := e.Flush(t.Context()); err == nil {
					t.Errorf("call %d of Flush does not tell that nothing could be saved", i)
					return
				}
			}
		})
	}
	calls.Wait()
	if err := os.Remove(derived); err != nil {
		t.Fatal(err)
	}
	flushed(t, e)
	closed(t, e)
}

// TestWhoSavesWhen: what is due is saved in the background; with NoSync, when commits
// may be lost behind a snapshot, by Close alone.
func TestWhoSavesWhen(t *testing.T) {
	t.Parallel()
	for _, noSync := range []bool{false, true} {
		dir := t.TempDir()
		e := opened(t, dir, Options{NoSync: noSync}, autoHNSW)
		put(t, e, madeDocs(rand.New(rand.NewPCG(23, 24)), 0, 20)...)
		saveWanted(e)
		flushed(t, e)
		saved := func() bool {
			files, err := filepath.Glob(filepath.Join(dir, "derived", "*.snap"))
			if err != nil || len(files) != 0 && len(files) != 5 {
				t.Fatal(files, err)
			}
			return len(files) > 0
		}
		if saved() == noSync {
			t.Errorf("saved in the background with NoSync %v", noSync)
		}
		closed(t, e)
		if !saved() {
			t.Errorf("not saved by Close with NoSync %v", noSync)
		}
	}
}

// TestReadOnlyWritesNothing: a database that is opened to be read is served by a
// maintainer that makes factors, local bridges and damaged parts in memory, and
// writes nothing, however far behind the snapshots are.
func TestReadOnlyWritesNothing(t *testing.T) {
	dir := t.TempDir()
	o := Options{ChunkTokens: 60}
	e := opened(t, dir, o, autoHNSW)
	r := rand.New(rand.NewPCG(25, 26))
	docs := map[string]Document{}
	change := func(lo, hi int) {
		for _, d := range madeDocs(r, lo, hi) {
			docs[d.ID] = d
			put(t, e, d)
		}
	}
	change(0, 150)
	closed(t, e)
	e = opened(t, dir, o, autoHNSW)
	change(100, 200)
	crashed(t, e)
	before := tree(t, dir)
	o.ReadOnly, o.Local = true, true
	e = opened(t, dir, o, 50) // a graph would be due as well
	saveWanted(e)
	flushed(t, e)
	likeFresh(t, "read only", e, Options{ChunkTokens: 60}, docs)
	localFollows(t, e, "read only", 1)
	if s, err := e.Stats(t.Context()); err != nil || s.Maintenance.Stale != 0 || s.Maintenance.Error != "" {
		t.Fatalf("%+v, %v", s.Maintenance, err)
	}
	closed(t, e)
	if after := tree(t, dir); !maps.Equal(after, before) {
		t.Fatalf("written to: %v, before %v", after, before)
	}
}

// TestWithoutAnEncoder: states, replay and upkeep need none; an empty database does
// not either.
func TestWithoutAnEncoder(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	o := Options{NoSync: true, ChunkTokens: 60, Local: true}
	e := opened(t, dir, o, autoHNSW)
	flushed(t, e) // of nothing
	whole0(t, e)
	closed(t, e)
	e = opened(t, dir, o, autoHNSW)
	put(t, e, madeDocs(rand.New(rand.NewPCG(27, 28)), 0, 100)...)
	flushed(t, e)
	want := answers(t, e, closedForms())
	vector := e.db.Present().Vector(e.db.Present().IDs()[3])
	byVector := Query{Vector: vector, K: 1}
	crashed(t, e)
	for _, when := range []string{"replayed", "reopened"} {
		bare, err := open(t.Context(), dir, nil, Options{NoSync: true, Local: true}, autoHNSW)
		if err != nil {
			t.Fatal(err)
		}
		flushed(t, bare)
		whole(t, bare, when)
		localFollowsChunks(t, bare)
		if r, err := bare.Search(t.Context(), byVector); err != nil || len(r.Hits) != 1 || r.Hits[0].Score < 0.999 {
			t.Fatalf("%s: %+v, %v", when, r, err)
		}
		if when == "reopened" {
			removed(t, bare, "d7", "d8")
			put(t, bare, Document{ID: "v", Text: "its own vector", Vector: vector})
			flushed(t, bare)
			whole(t, bare, when)
			localFollowsChunks(t, bare)
			removed(t, bare, "v")
		}
		closed(t, bare)
		if when == "replayed" {
			e = opened(t, dir, o, autoHNSW)
			sameAnswers(t, when, answers(t, e, closedForms()), want, closedForms())
			closed(t, e)
		}
	}
	e = opened(t, dir, o, autoHNSW)
	var all []string
	for i := range 100 {
		if i != 7 && i != 8 {
			all = append(all, fmt.Sprint("d", i))
		}
	}
	removed(t, e, all...)
	flushed(t, e)
	whole0(t, e)
	closed(t, e)
	e = opened(t, dir, o, autoHNSW)
	whole0(t, e)
	closed(t, e)
}

// whole0 is whole for a database of no documents.
func whole0(t *testing.T, e *Engine) {
	t.Helper()
	if v, err := e.Verify(t.Context(), nil); err != nil || len(v.Problems) > 0 || v.Documents != 0 {
		t.Fatalf("%+v, %v", v, err)
	}
	for i, a := range answers(t, e, probing) {
		if len(a) > 0 {
			t.Fatalf("%+v finds %v in an empty database", probing[i], a)
		}
	}
}

// localFollowsChunks is what localFollows checks without an encoder.
func localFollowsChunks(t *testing.T, e *Engine) {
	t.Helper()
	ref := e.db.Acquire()
	defer ref.Release()
	if s := ref.Value; s.Local == nil || s.Local.Len() != s.Chunks() || s.LocalSeq != s.Seq {
		t.Fatalf("local bridges %v at commit %d of %d", s.Local != nil, s.LocalSeq, s.Seq)
	}
}
