package collections_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/lexsem/lexsem/encoder"
	"github.com/lexsem/lexsem/engine"
	"github.com/lexsem/lexsem/serve/collections"
	"github.com/lexsem/lexsem/store"
)

var small = collections.Options{Engine: engine.Options{NoSync: true, MemoryMiB: 16}}

func open(t *testing.T, dir string, o collections.Options) *collections.Set {
	t.Helper()
	s, err := collections.Open(dir, encoder.NewHash(16), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func create(t *testing.T, s *collections.Set, names ...string) {
	t.Helper()
	for _, n := range names {
		if err := s.Create(t.Context(), n, ""); err != nil {
			t.Fatal(err)
		}
	}
}

// TestMetrics: collections of one set may compare by different metrics, and each keeps its own.
func TestMetrics(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "collections")
	o := small
	o.Engine.Metric = "l2"
	s := open(t, dir, o)
	want := map[string]string{"a": "dot", "b": "cosine", "c": "l2"}
	for name, metric := range map[string]string{"a": "dot", "b": "cosine", "c": ""} {
		if err := s.Create(t.Context(), name, metric); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Create(t.Context(), "d", "length"); !errors.Is(err, engine.ErrInvalid) || len(list(t, s)) != 3 {
		t.Errorf("%v, %v", err, list(t, s))
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = open(t, dir, o)
	for name, metric := range want {
		db, err := s.Get(t.Context(), name)
		if err != nil {
			t.Fatal(err)
		}
		if st, err := db.Stats(t.Context()); err != nil || st.Metric != metric {
			t.Errorf("%s: %s, %v", name, st.Metric, err)
		}
	}
}

func list(t *testing.T, s *collections.Set) []string {
	t.Helper()
	names, err := s.List(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return names
}

// TestSet: collections keep apart what they hold, also from other processes' view, and survive Close.
func TestSet(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "collections")
	s := open(t, dir, small)
	if got := list(t, s); len(got) != 0 {
		t.Fatalf("%v before the first", got)
	}
	if _, err := s.Get(t.Context(), "notes"); !errors.Is(err, engine.ErrNotFound) {
		t.Fatalf("get of none: %v", err)
	}
	if _, err := os.Stat(dir); !errors.Is(err, os.ErrNotExist) {
		t.Fatalf("asking made the folder: %v", err)
	}
	create(t, s, "notes", "0-mail_2")
	if got := opened(s); !slices.Equal(got, []string{"0-mail_2", "notes"}) {
		t.Errorf("open after Create: %v", got)
	}
	if err := s.Create(t.Context(), "notes", ""); !errors.Is(err, engine.ErrExists) {
		t.Fatalf("created twice: %v", err)
	}
	for _, n := range []string{"notes", "0-mail_2"} {
		db, err := s.Get(t.Context(), n)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := db.Upsert(t.Context(), []engine.Document{{ID: "a", Text: "of " + n}}); err != nil {
			t.Fatal(err)
		}
		again, err := s.Get(t.Context(), n)
		if err != nil || again != db {
			t.Fatalf("another database: %v", err)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	for what, err := range map[string]error{
		"create": s.Create(t.Context(), "x", ""), "drop": s.Drop(t.Context(), "notes"),
		"get":  func() error { _, err := s.Get(t.Context(), "notes"); return err }(),
		"list": func() error { _, err := s.List(t.Context()); return err }(),
	} {
		if !errors.Is(err, engine.ErrClosed) {
			t.Errorf("%s after Close: %v", what, err)
		}
	}
	e, err := engine.Open(t.Context(), filepath.Join(dir, "notes"), encoder.NewHash(16), engine.Options{MustExist: true})
	if err != nil {
		t.Fatal(err)
	}
	if d, err := e.Get(t.Context(), "a"); err != nil || d.Text != "of notes" {
		t.Errorf("%+v, %v", d, err)
	}
	if got := opened(s); len(got) > 0 {
		t.Errorf("open after Close: %v", got)
	}
	s = open(t, dir, small)
	if got := list(t, s); !slices.Equal(got, []string{"0-mail_2", "notes"}) {
		t.Errorf("%v", got)
	}
	if got := opened(s); len(got) > 0 {
		t.Errorf("open before they are asked for: %v", got)
	}
	// What another has open is named as such, and stays.
	if _, err := s.Get(t.Context(), "notes"); !errors.Is(err, engine.ErrLocked) {
		t.Errorf("get of one that is open elsewhere: %v", err)
	}
	if err := s.Drop(t.Context(), "notes"); !errors.Is(err, engine.ErrLocked) {
		t.Errorf("drop of one that is open elsewhere: %v", err)
	}
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Get(t.Context(), "notes"); err != nil {
		t.Fatal(err)
	}
	if got := s.Opened(); len(got) != 1 {
		t.Errorf("open after Get: %v", got)
	} else if n, err := got["notes"].Count(t.Context(), engine.Filter{}); n != 1 || err != nil {
		t.Errorf("the open one: %d documents, %v", n, err)
	}
	if err := s.Drop(t.Context(), "notes"); err != nil {
		t.Fatal(err)
	}
	if got := opened(s); len(got) > 0 {
		t.Errorf("open after Drop: %v", got)
	}
}

// opened are the names of the collections that are open.
func opened(s *collections.Set) []string { return slices.Sorted(maps.Keys(s.Opened())) }

// TestDrop: what was dropped is gone with its folder, nothing else is, and the name is
// free again.
func TestDrop(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir, small)
	create(t, s, "a", "b")
	db, err := s.Get(t.Context(), "a")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := db.Upsert(t.Context(), []engine.Document{{ID: "a", Text: "text"}}); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Join(dir, "mine"), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"mine/file", "plain", ".removed-mine"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("x"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if got := list(t, s); !slices.Equal(got, []string{"a", "b"}) {
		t.Errorf("%v", got)
	}
	if err := s.Drop(t.Context(), "a"); err != nil {
		t.Fatal(err)
	}
	if _, err := db.Count(t.Context(), engine.Filter{}); !errors.Is(err, engine.ErrClosed) {
		t.Errorf("a dropped one answers %v", err)
	}
	if err := s.Drop(t.Context(), "a"); !errors.Is(err, engine.ErrNotFound) {
		t.Errorf("dropped twice: %v", err)
	}
	for what, f := range map[string]func() error{
		"drop": func() error { return s.Drop(t.Context(), "mine") }, "create": func() error { return s.Create(t.Context(), "mine", "") },
		"get": func() error { _, err := s.Get(t.Context(), "mine"); return err },
	} {
		if err := f(); !errors.Is(err, engine.ErrForeign) {
			t.Errorf("%s of a folder of other files: %v", what, err)
		}
	}
	create(t, s, "a")
	if db, err = s.Get(t.Context(), "a"); err != nil {
		t.Fatal(err)
	}
	if n, err := db.Count(t.Context(), engine.Filter{}); n != 0 || err != nil {
		t.Errorf("%d documents in a new one, %v", n, err)
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var left []string
	for _, e := range entries {
		left = append(left, e.Name())
	}
	if want := []string{".removed-mine", "a", "b", "mine", "plain"}; !slices.Equal(left, want) {
		t.Errorf("%v, want %v", left, want)
	}
}

// TestOpenClearsWhatADropLeft: a folder that a killed process was removing goes, one with
// other files stays.
func TestOpenClearsWhatADropLeft(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir, small)
	create(t, s, "a", "b")
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	for from, to := range map[string]string{"a": ".removed-1/a", "b": ".removed-2/b"} {
		if err := os.MkdirAll(filepath.Join(dir, filepath.Dir(to)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(filepath.Join(dir, from), filepath.Join(dir, to)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, ".removed-2", "notes.txt"), []byte("mine"), 0o644); err != nil {
		t.Fatal(err)
	}
	open(t, dir, small)
	if _, err := os.Stat(filepath.Join(dir, ".removed-1")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("it is there yet: %v", err)
	}
	if ok, err := store.Folder(filepath.Join(dir, ".removed-2", "b")).Exists(); !ok || err != nil {
		t.Errorf("a folder with a file of somebody's was touched: %v", err)
	}
}

func TestRefusals(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir, small)
	for _, name := range []string{"", ".", "..", "a/b", "../x", `a\b`, "A", "é", "a b", "a.b", strings.Repeat("x", 65), "a\x00"} {
		_, err := s.Get(t.Context(), name)
		for what, err := range map[string]error{"create": s.Create(t.Context(), name, ""), "drop": s.Drop(t.Context(), name), "get": err} {
			if !errors.Is(err, engine.ErrInvalid) {
				t.Errorf("%s %q: %v", what, name, err)
			}
		}
	}
	create(t, s, strings.Repeat("x", 64))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := s.Create(ctx, "late", ""); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := collections.Open("", nil, small); !errors.Is(err, engine.ErrInvalid) {
		t.Errorf("no folder: %v", err)
	}
	if _, err := collections.Open(file, nil, small); !errors.Is(err, engine.ErrInvalid) {
		t.Errorf("a file: %v", err)
	}
	bad := []collections.Options{small, {MaxOpen: -1}, {OpenMiB: -1}}
	bad[0].Engine.Index = "none"
	for _, o := range bad {
		if _, err := collections.Open(dir, nil, o); !errors.Is(err, engine.ErrInvalid) {
			t.Errorf("options %+v: %v", o, err)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	readOnly := small
	readOnly.Engine.ReadOnly = true
	s = open(t, dir, readOnly)
	for what, err := range map[string]error{"create": s.Create(t.Context(), "y", ""), "drop": s.Drop(t.Context(), strings.Repeat("x", 64))} {
		if !errors.Is(err, engine.ErrReadOnly) {
			t.Errorf("%s: %v", what, err)
		}
	}
	if _, err := s.Get(t.Context(), strings.Repeat("x", 64)); err != nil {
		t.Error(err)
	}
}

// TestConcurrentUse: many ask for the same collections while some are created and dropped;
// each opens once at a time, and Close ends all.
func TestConcurrentUse(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir, small)
	create(t, s, "stays")
	var found, gone atomic.Int64
	var wg sync.WaitGroup
	for w := range 6 {
		wg.Go(func() {
			for i := range 12 {
				name := "stays"
				if w%2 == 1 {
					name = "moves"
				}
				if w == 5 {
					if err := s.Create(t.Context(), "moves", ""); err != nil && !errors.Is(err, engine.ErrExists) {
						t.Error(err)
					}
				}
				db, err := s.Get(t.Context(), name)
				if err == nil {
					_, err = db.Upsert(t.Context(), []engine.Document{{ID: fmt.Sprint(w, i), Text: "text"}})
				}
				switch {
				case err == nil:
					found.Add(1)
				case name == "moves" && (errors.Is(err, engine.ErrNotFound) || errors.Is(err, engine.ErrClosed)):
					gone.Add(1)
				default:
					t.Errorf("%s: %v", name, err)
				}
				if w == 1 && i%4 == 3 {
					if err := s.Drop(t.Context(), "moves"); err != nil && !errors.Is(err, engine.ErrNotFound) {
						t.Error(err)
					}
				}
			}
		})
	}
	wg.Wait()
	db, err := s.Get(t.Context(), "stays")
	if err != nil {
		t.Fatal(err)
	}
	if n, err := db.Count(t.Context(), engine.Filter{}); n != 36 || err != nil {
		t.Errorf("%d documents, %v", n, err)
	}
	t.Logf("%d stored, %d found it gone", found.Load(), gone.Load())
}
