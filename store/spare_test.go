package store

import (
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/dgraph-io/badger/v4"
)

// TestLostManifestKeepsTables: a database whose MANIFEST is lost or cut is
// refused, and what the MANIFEST no longer names is still there: with the file
// restored, so are all records.
func TestLostManifestKeepsTables(t *testing.T) {
	dir := t.TempDir()
	for i := range 3 { // three tables
		s := open(t, dir, small)
		add(t, s, doc("a", i), doc(string(rune('b'+i)), 0))
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
	s := open(t, dir, small)
	want := dump(t, s)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	manifest := filepath.Join(recordsName, badger.ManifestFilename)
	saved := map[string][]byte{}
	for _, name := range []string{manifest, headName} {
		b, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		saved[name] = b
	}
	for _, c := range []struct {
		name        string
		size        int
		removesHead bool
	}{
		{"removed", -1, false},
		{"removed with HEAD", -1, true},
		{"cut behind its head", 16, false},
		{"without its last byte", len(saved[manifest]) - 1, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			work := t.TempDir()
			copyDir(t, dir, work)
			var err error
			if c.size < 0 {
				err = os.Remove(filepath.Join(work, manifest))
			} else {
				err = os.Truncate(filepath.Join(work, manifest), int64(c.size))
			}
			if c.removesHead {
				err = errors.Join(err, os.Remove(filepath.Join(work, headName)))
			}
			if err != nil {
				t.Fatal(err)
			}
			for range 2 {
				s, err := Open(work, small)
				if err == nil {
					s.Close()
				}
				if !errors.Is(err, ErrCorrupt) || !strings.Contains(err.Error(), "MANIFEST does not name") {
					t.Fatalf("opened: %v; want damage, and word of the tables that are kept", err)
				}
			}
			for name, b := range saved {
				if err := os.WriteFile(filepath.Join(work, name), b, 0o644); err != nil {
					t.Fatal(err)
				}
			}
			if got := dump(t, open(t, work, small)); !reflect.DeepEqual(got, want) {
				t.Errorf("%d records after the MANIFEST was restored, want %d", len(got), len(want))
			}
		})
	}
}

// TestStrayTables: a table that a process which died has left is removed, and
// one that an interrupted opening has set aside is used again.
func TestStrayTables(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir, small)
	add(t, s, doc("a", 1))
	want := dump(t, s)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	records := filepath.Join(dir, recordsName)
	tables, err := filepath.Glob(filepath.Join(records, "*.sst"))
	if err != nil || len(tables) == 0 {
		t.Fatal(tables, err)
	}
	b, err := os.ReadFile(tables[0])
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(os.Rename(tables[0], tables[0]+spareExt),
		os.WriteFile(filepath.Join(records, "000777.sst"), b, 0o644),
		os.WriteFile(filepath.Join(records, "000778.sst"+spareExt), b, 0o644)); err != nil {
		t.Fatal(err)
	}
	if got := dump(t, open(t, dir, small)); !reflect.DeepEqual(got, want) {
		t.Errorf("%d records, want %d", len(got), len(want))
	}
	for _, pattern := range []string{"00077*", "*" + spareExt} {
		if left, err := filepath.Glob(filepath.Join(records, pattern)); err != nil || len(left) > 0 {
			t.Errorf("left behind: %v %v", left, err)
		}
	}
}
