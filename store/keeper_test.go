package store

import (
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"reflect"
	"sync"
	"testing"
	"time"

	"github.com/dgraph-io/badger/v4/table"
)

// compactBadly lets Badger compact while some tables cannot be made: those of the next numbers
// but the first good ones, whose names are taken.
func compactBadly(t *testing.T, s *Store, good uint64) {
	t.Helper()
	var last uint64
	for _, info := range s.db.Tables() {
		last = max(last, info.ID)
	}
	var taken []string
	for id := last + 1 + good; id < last+40; id++ {
		taken = append(taken, filepath.Join(s.records(), table.IDToFilename(id)))
		if err := os.WriteFile(taken[len(taken)-1], nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.db.Flatten(1); err != nil {
		t.Fatal(err)
	}
	for _, path := range taken {
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
	}
}

// badlyCompacted is a database as a process leaves it that is killed behind a compaction that
// could not make its tables, and what is in it.
func badlyCompacted(t *testing.T) (left string, want map[string]string) {
	t.Helper()
	left = t.TempDir()
	s, want := compactedBadly(t)
	copyDir(t, s.dir, left)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	return left, want
}

// compactedBadly is a database whose last compaction could not make its tables, and what is in it.
func compactedBadly(t *testing.T) (s *Store, want map[string]string) {
	t.Helper()
	dir, _, _ := tabledDir(t)
	s = open(t, dir, small)
	if err := s.Reclaim(ctx, nil); err != nil { // below level 0
		t.Fatal(err)
	}
	add(t, s, doc("a", 1), doc("b", 5))
	add(t, s, doc("a", 2), doc("c", 3))
	if err := s.Flush(ctx); err != nil {
		t.Fatal(err)
	}
	add(t, s, doc("d", 3)) // in a log
	want = dump(t, s)
	compactBadly(t, s, 1)
	return s, want
}

// TestCompactionLosesNothing: where a compaction cannot make its tables every later call is
// ErrFailed, and the next opening has all records again, behind Close and behind a kill.
func TestCompactionLosesNothing(t *testing.T) {
	t.Parallel()
	s, want := compactedBadly(t)
	dir := s.dir
	if _, _, err := s.Lookup("a"); !errors.Is(err, ErrFailed) || errors.Is(err, ErrCorrupt) {
		t.Errorf("lookup: %v", err)
	}
	if err := s.Scan(ctx, 0, func(uint64, []Row) error { return nil }); !errors.Is(err, ErrFailed) {
		t.Errorf("scan: %v", err)
	}
	if _, err := s.Begin(ctx); !errors.Is(err, ErrFailed) {
		t.Errorf("begin: %v", err)
	}
	killed := t.TempDir()
	copyDir(t, dir, killed)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{dir, killed} {
		if _, err := Open(dir, Options{ReadOnly: true}); !errors.Is(err, ErrUnclean) {
			t.Fatalf("read-only: %v", err)
		}
		s := open(t, dir, small)
		if got := dump(t, s); !reflect.DeepEqual(got, want) {
			t.Error("records differ")
		}
		if _, err := s.Verify(ctx, nil); err != nil {
			t.Error(err)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		names, err := filepath.Glob(filepath.Join(dir, recordsName, "*"+spareExt))
		if err != nil || len(names) > 0 {
			t.Errorf("%v is left, %v", names, err)
		}
	}
}

// TestCompactionGoesOn: good compactions are compared, and leave no table behind that Badger does not list.
func TestCompactionGoesOn(t *testing.T) {
	t.Parallel()
	dir, docs, _ := tabledDir(t)
	s := open(t, dir, small)
	compared := 0
	s.keep.onCompared = func() { compared++ }
	for range 2 {
		if err := s.Reclaim(ctx, nil); err != nil {
			t.Fatal(err)
		}
	}
	if compared == 0 {
		t.Error("nothing was compared: Badger's messages are others")
	}
	listed, err := listedTables(dir)
	if err != nil {
		t.Fatal(err)
	}
	if stray, err := strayTables(s.records(), listed); err != nil || len(stray) > 0 {
		t.Errorf("%v, %v", stray, err)
	}
	if find(t, s, docs[0].ID) == nil {
		t.Error("a document is gone")
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if logs, err := logsIn(filepath.Join(dir, recordsName)); err != nil || len(logs) > 0 {
		t.Errorf("logs %v are left, %v", logs, err)
	}
}

// TestKeeperCopies: a compaction that begins while Badger closes has what was flushed since copied before a table may go. A
// good one leaves no copy, a bad one leaves all.
func TestKeeperCopies(t *testing.T) {
	for _, c := range []struct {
		name string
		err  error
		want []string
	}{
		{"good", nil, nil},
		{"bad", errors.New("MANIFEST"), []string{"000002.sst" + spareExt}},
	} {
		t.Run(c.name, func(t *testing.T) {
			records := t.TempDir()
			for _, name := range []string{"000001.sst", "000002.sst", "DISCARD"} {
				if err := os.WriteFile(filepath.Join(records, name), []byte(name), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			var failed error
			k := newKeeper(records, slog.New(slog.DiscardHandler), func() (func(), bool) { return nil, false }, func(err error) { failed = err })
			k.closing, k.held = true, map[uint64]bool{1: true}
			k.adds(7, 5)
			copied := filepath.Join(records, "000002.sst"+spareExt)
			if b, err := os.ReadFile(copied); err != nil || string(b) != "000002.sst" {
				t.Fatalf("%q, %v", b, err)
			}
			k.done(7, c.err)
			if !errors.Is(failed, c.err) {
				t.Error(failed)
			}
			if err := k.closed(); err != nil {
				t.Fatal(err)
			}
			left, err := filepath.Glob(filepath.Join(records, "*"+spareExt))
			for i := range left {
				left[i] = filepath.Base(left[i])
			}
			if err != nil || !reflect.DeepEqual(left, c.want) {
				t.Errorf("%v, want %v, %v", left, c.want, err)
			}
		})
	}
}

// TestCompactionsTakeTurns: one waits until another, which has added keys, is compared, and both wait until Badger is open.
func TestCompactionsTakeTurns(t *testing.T) {
	k := newKeeper(t.TempDir(), slog.New(slog.DiscardHandler), func() (func(), bool) { return func() {}, true }, func(error) {})
	began := make(chan int, 2)
	go func() { k.adds(1, 5); began <- 1 }()
	select {
	case <-began:
		t.Fatal("a compaction went on before Badger was open")
	case <-time.After(20 * time.Millisecond):
	}
	k.mu.Lock()
	k.closing = true
	k.changed.Broadcast()
	k.mu.Unlock()
	<-began
	go func() { k.adds(2, 5); began <- 2 }()
	k.adds(1, 5) // of the same goes on
	select {
	case <-began:
		t.Fatal("two compactions at a time")
	case <-time.After(20 * time.Millisecond):
	}
	k.done(1, nil)
	<-began
	k.done(2, nil)
}

// TestCompactionEndsBesideClose: a compaction that ends while the store closes gives back what it has held. The race
// detector tells whether both are in order.
func TestCompactionEndsBesideClose(t *testing.T) {
	for range 5 {
		s := open(t, t.TempDir(), small)
		add(t, s, doc("a", 1))
		release, ok := s.hold()
		if !ok {
			t.Fatal("nothing is held")
		}
		add(t, s, doc("b", 1)) // so that what is held is no more the last pin
		var wg sync.WaitGroup
		wg.Go(release)
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		wg.Wait()
		if len(s.pins) != 1 {
			t.Errorf("%d pins are left", len(s.pins))
		}
	}
}
