package store

import (
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"testing"

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

// TestCompactionLosesNothing: where a compaction cannot make its tables every later call is
// ErrFailed, and the next opening has all records again, behind Close and behind a kill.
func TestCompactionLosesNothing(t *testing.T) {
	t.Parallel()
	dir, _, _ := tabledDir(t)
	s := open(t, dir, small)
	if err := s.Reclaim(ctx, nil); err != nil { // below level 0
		t.Fatal(err)
	}
	add(t, s, doc("a", 1), doc("b", 5))
	add(t, s, doc("a", 2), doc("c", 3))
	if err := s.Flush(ctx); err != nil {
		t.Fatal(err)
	}
	add(t, s, doc("d", 3)) // in a log
	want := dump(t, s)
	compactBadly(t, s, 1)
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
