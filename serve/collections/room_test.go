package collections_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/lexsem/lexsem/engine"
	"github.com/lexsem/lexsem/serve/collections"
	"github.com/lexsem/lexsem/store"
)

// add stores n documents in a collection.
func add(t *testing.T, db engine.Database, n int) {
	t.Helper()
	docs := make([]engine.Document, n)
	for i := range docs {
		docs[i] = engine.Document{ID: fmt.Sprint("d", i), Text: fmt.Sprintf("the text of number %d about apples", i)}
	}
	if _, err := db.Upsert(t.Context(), docs); err != nil {
		t.Fatal(err)
	}
}

func get(t *testing.T, s *collections.Set, name string) engine.Database {
	t.Helper()
	db, err := s.Get(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	return db
}

// holds checks that a collection has n documents and finds one of them.
func holds(t *testing.T, db engine.Database, n int) {
	t.Helper()
	got, err := db.Count(t.Context(), engine.Filter{})
	if err != nil || got != n {
		t.Fatalf("%d documents, %v; want %d", got, err, n)
	}
	r, err := db.Search(t.Context(), engine.Query{Text: "number 3", K: 1})
	if err != nil || len(r.Hits) != 1 {
		t.Fatalf("%d hits, %v", len(r.Hits), err)
	}
}

// eventually waits until ok.
func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for begin := time.Now(); !ok(); time.Sleep(time.Millisecond) {
		if time.Since(begin) > 20*time.Second {
			t.Fatalf("it never came: %s", what)
		}
	}
}

// TestRoom: no more collections are open than may be; the one that was used longest ago is closed first, and its
// database opens again when it is called.
func TestRoom(t *testing.T) {
	o := small
	o.MaxOpen = 2
	s := open(t, t.TempDir(), o)
	create(t, s, "a", "b")
	a := get(t, s, "a")
	add(t, a, 5)
	add(t, get(t, s, "b"), 5)
	holds(t, a, 5)
	create(t, s, "c")
	if got := opened(s); !slices.Equal(got, []string{"a", "c"}) {
		t.Errorf("open: %v", got)
	}
	if _, err := s.Opened()["c"].Stats(t.Context()); err != nil {
		t.Error(err)
	}
	for range 3 { // to look is no use
		if _, err := s.Opened()["a"].Stats(t.Context()); err != nil {
			t.Error(err)
		}
	}
	holds(t, get(t, s, "b"), 5)
	if got := opened(s); !slices.Equal(got, []string{"b", "c"}) {
		t.Errorf("open: %v", got)
	}
	holds(t, a, 5)

	// One that is read is not closed, and what is asked for is opened nevertheless.
	for d, err := range a.All(t.Context(), engine.Filter{}) {
		if err != nil {
			t.Fatal(err)
		}
		if d.ID != "d0" {
			continue
		}
		holds(t, get(t, s, "b"), 5)
		create(t, s, "d")
		if got := opened(s); !slices.Contains(got, "a") || len(got) > 2 {
			t.Errorf("open while a is read: %v", got)
		}
	}
}

// TestRoomOfMemory: the memory of open collections is bounded as their number is.
func TestRoomOfMemory(t *testing.T) {
	o := small
	o.OpenMiB = 20
	s := open(t, t.TempDir(), o)
	create(t, s, "a", "b", "c", "d")
	if got := opened(s); !slices.Equal(got, []string{"c", "d"}) {
		t.Errorf("open: %v", got)
	}
}

// TestIdle: collections that nobody uses are closed, those in use are not.
func TestIdle(t *testing.T) {
	o := small
	o.Idle = 100 * time.Millisecond
	s := open(t, t.TempDir(), o)
	create(t, s, "busy", "idle")
	busy, idle := get(t, s, "busy"), get(t, s, "idle")
	add(t, busy, 5)
	add(t, idle, 5)
	for _, err := range busy.All(t.Context(), engine.Filter{}) {
		if err != nil {
			t.Fatal(err)
		}
		eventually(t, "only what is used is open", func() bool {
			for _, db := range s.Opened() { // as metrics do
				if _, err := db.Count(t.Context(), engine.Filter{}); err != nil && !errors.Is(err, engine.ErrClosed) {
					t.Error(err)
				}
			}
			return slices.Equal(opened(s), []string{"busy"})
		})
		break
	}
	eventually(t, "nothing is open", func() bool { return len(opened(s)) == 0 })
	holds(t, idle, 5)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := idle.Count(t.Context(), engine.Filter{}); !errors.Is(err, engine.ErrClosed) {
		t.Errorf("after Close: %v", err)
	}
}

// TestTwoSets: two servers of one folder answer for each other, and one goes on when the other ends.
func TestTwoSets(t *testing.T) {
	dir := t.TempDir()
	one, two := open(t, dir, small), open(t, dir, small)
	create(t, one, "a")
	add(t, get(t, one, "a"), 5)
	holds(t, get(t, two, "a"), 5)
	if err := two.Create(t.Context(), "a", ""); !errors.Is(err, engine.ErrExists) {
		t.Errorf("created twice: %v", err)
	}
	create(t, two, "b")
	add(t, get(t, one, "b"), 7)
	for d, err := range get(t, two, "a").All(t.Context(), engine.Filter{}) { // which a refused drop does not end
		if err != nil {
			t.Fatalf("of a call while it is to be dropped: %v", err)
		}
		if d.ID == "d0" {
			if err := two.Drop(t.Context(), "a"); !errors.Is(err, engine.ErrLocked) {
				t.Errorf("dropped while another has it open: %v", err)
			}
		}
	}
	create(t, one, "c")
	holds(t, get(t, two, "a"), 5)
	for range 2 { // what one has dropped, two does not have, and makes anew
		add(t, get(t, two, "c"), 3)
		if err := one.Drop(t.Context(), "c"); err != nil {
			t.Fatal(err)
		}
		if _, err := two.Get(t.Context(), "c"); !errors.Is(err, engine.ErrNotFound) {
			t.Errorf("dropped by another: %v", err)
		}
		create(t, two, "c")
		if n, err := get(t, one, "c").Count(t.Context(), engine.Filter{}); n != 0 || err != nil {
			t.Errorf("%d documents of one that was made anew, %v", n, err)
		}
		if err := two.Drop(t.Context(), "c"); err != nil {
			t.Fatal(err)
		}
		create(t, one, "c")
	}
	if err := one.Close(); err != nil {
		t.Fatal(err)
	}
	holds(t, get(t, two, "a"), 5)
	holds(t, get(t, two, "b"), 7)
	if err := two.Drop(t.Context(), "a"); err != nil {
		t.Errorf("dropped after the other has ended: %v", err)
	}
}

// TestHeldWithoutModel: a process that has a collection open without a model is not asked to encode.
func TestHeldWithoutModel(t *testing.T) {
	dir := t.TempDir()
	made := open(t, dir, small)
	create(t, made, "a")
	add(t, get(t, made, "a"), 1)
	if err := made.Close(); err != nil {
		t.Fatal(err)
	}
	bare, err := collections.Open(dir, nil, small)
	if err != nil {
		t.Fatal(err)
	}
	defer bare.Close()
	get(t, bare, "a")
	if _, err := open(t, dir, small).Get(t.Context(), "a"); !errors.Is(err, engine.ErrLocked) {
		t.Errorf("%v", err)
	}
}

// TestFailedCreate: a creation that fails leaves nothing, and one that is under way is left alone.
func TestFailedCreate(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir, small)
	ctx, cancel := context.WithCancel(t.Context())
	made := filepath.Join(dir, "made")
	err := store.Folder(made).Create(func(in string) error {
		e, err := engine.Open(t.Context(), in, nil, engine.Options{Dim: 8, NoSync: true, MemoryMiB: 64})
		if err != nil {
			return err
		}
		if other, err := collections.Open(dir, nil, small); err != nil || other.Close() != nil { // which clears what is left
			t.Errorf("another opening: %v", err)
		}
		if ok, err := store.Folder(in).Exists(); !ok {
			t.Errorf("another opening has removed it: %v", err)
		}
		cancel()
		return errors.Join(e.Close(), ctx.Err())
	})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	if entries, err := os.ReadDir(dir); len(entries) != 0 || err != nil {
		t.Errorf("left: %v, %v", entries, err)
	}
	if err := store.Folder(made).Create(func(in string) error {
		create(t, s, "made")
		return os.Mkdir(in, 0o700)
	}); err == nil {
		t.Error("made twice")
	}
	if got := list(t, s); !slices.Equal(got, []string{"made"}) {
		t.Errorf("%v", got)
	}
}
