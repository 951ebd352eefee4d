package store

import (
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"testing"
)

// unclean closes a store as a process that dies does: HEAD does not say that it
// was closed.
func unclean(t *testing.T, s *Store) {
	t.Helper()
	s.failed.Store(new(error))
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}

// TestUncleanEnd takes records away as a damaged log does, of versions that
// were written since the last clean end and of older ones, and says which of it
// the next opening has to notice.
func TestUncleanEnd(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		keys    [][]byte
		noticed bool
	}{
		"nothing":         {nil, false},
		"new document":    {[][]byte{partKey(prefixDocument, 5, 0)}, true},
		"new row":         {[][]byte{partKey(prefixRow, 6, 0)}, true},
		"both halves":     {[][]byte{partKey(prefixDocument, 6, 0), partKey(prefixRow, 6, 0)}, true},
		"new id":          {[][]byte{idKey("new")}, true},
		"log entry":       {[][]byte{logKey(3, 0)}, true},
		"commit record":   {[][]byte{numberKey(prefixCommit, 3)}, true},
		"new death":       {[][]byte{numberKey(prefixDeath, 4)}, true},
		"old, in a table": {[][]byte{partKey(prefixRow, 2, 0)}, false},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			s := open(t, dir, small)
			add(t, s, doc("a", 1), doc("b", 1), doc("c", 1)) // 1 to 3
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			s = open(t, dir, small)
			add(t, s, doc("a", 2))                  // 4
			add(t, s, doc("a", 3), doc("new", 1))   // 5, 6
			add(t, s, doc("new", 1), doc("new", 2)) // 7, 8
			add(t, s, doc("a", 4), doc("new", 5))   // 9, 10
			if err := s.Compact(ctx, 1); err != nil {
				t.Fatal(err)
			}
			for _, k := range c.keys {
				if k[0] == prefixDocument || k[0] == prefixRow {
					k[8] += 4 // the live ones: 9 and 10 for 5 and 6
					if name == "old, in a table" {
						k[8] -= 4
					}
				}
				w := s.newStager()
				if err := errors.Join(w.apply(op{key: k}), w.finish()); err != nil {
					t.Fatal(err)
				}
			}
			unclean(t, s)
			for range 2 { // the first opening must not make it good
				s, err := Open(dir, small)
				if noticed := errors.Is(err, ErrCorrupt); noticed != c.noticed || err != nil && !noticed {
					t.Fatalf("%v", err)
				}
				if err == nil {
					unclean(t, s)
				}
			}
		})
	}
}

// TestTrimResumes interrupts a Compact and looks at where the next one begins.
func TestTrimResumes(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir, small)
	for range 3 {
		b := begin(t, s)
		for range 2 * chunk / 3 {
			put(t, b, doc("a", 1))
		}
		if _, err := b.Commit(ctx); err != nil {
			t.Fatal(err)
		}
	}
	passes := 0
	failpoint = func(name string) {
		if name == "compact" {
			passes++
			panic("stop")
		}
	}
	defer func() { failpoint = nil }()
	func() {
		defer func() { recover() }()
		s.trim(ctx, func() state { st := s.current(); st.base = st.seq; st.gen++; return st }())
	}()
	failpoint = nil
	var st state
	err := s.with(s.db.NewTransaction(false), keyState, func(p []byte) (err error) {
		st, err = decodeState(p)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if passes != 1 || st.trimmed != 1 || st.base != 3 {
		t.Fatalf("after %d passes: trimmed up to %d of %d", passes, st.trimmed, st.base)
	}
	left, err := s.entries(logKey(0, 0), 9, 1<<30)
	if err != nil {
		t.Fatal(err)
	}
	if want := 2*chunk - chunk - 2; len(left) < want || len(left) > want+4 {
		t.Errorf("%d log entries are left, want about %d", len(left), want)
	}
	if st, err = s.trim(ctx, st); err != nil || st.trimmed != 3 {
		t.Fatalf("trimmed up to %d: %v", st.trimmed, err)
	}
	if left, err := s.entries(logKey(0, 0), 9, 1<<30); err != nil || len(left) > 0 {
		t.Errorf("%d log entries are left: %v", len(left), err)
	}
	gen := st.gen
	if st, err = s.trim(ctx, st); err != nil || st.gen != gen {
		t.Errorf("trimming again wrote: %v", err)
	}
	s.setPin(s.newPin(st))
	if _, err := s.Verify(ctx, nil); err != nil {
		t.Error(err)
	}
}

func TestSpaceOfView(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir, small)
	space := func() (live, dead, disk uint64) {
		v, err := s.Snapshot()
		if err != nil {
			t.Fatal(err)
		}
		defer v.Close()
		live, dead, disk, err = v.Space()
		if err != nil {
			t.Fatal(err)
		}
		return live, dead, disk
	}
	size := func(d *Document) uint64 {
		return uint64(len(encodeDocument(nil, d)) + len(encodedRows(d.Rows)))
	}
	add(t, s, doc("a", 1), doc("b", 2))
	if live, dead, _ := space(); live != size(doc("a", 1))+size(doc("b", 2)) || dead != 0 {
		t.Errorf("%d live, %d dead", live, dead)
	}
	add(t, s, doc("a", 5))
	if live, dead, _ := space(); live != size(doc("a", 5))+size(doc("b", 2)) || dead != size(doc("a", 1)) {
		t.Errorf("%d live, %d dead", live, dead)
	}
	if err := s.Compact(ctx, 2); err != nil {
		t.Fatal(err)
	}
	s.Close()
	s = open(t, dir, small)
	if live, dead, disk := space(); live != size(doc("a", 5))+size(doc("b", 2)) || dead != 0 || disk < live {
		t.Errorf("%d live, %d dead, %d on disk", live, dead, disk)
	}
}

// TestLogsWithoutHead puts the logs into a database that a kill leaves while
// Badger makes or removes one: readers say that it must be recovered first, and a
// writer recovers it.
func TestLogsWithoutHead(t *testing.T) {
	for _, c := range []struct {
		name string
		size int64
	}{{"00007.mem", 0}, {"00007.mem", logHead - 1}, {"000009.vlog", 0}, {"000009.vlog", logHead - 1}, {"000777.sst", 0}} {
		dir := t.TempDir()
		s := open(t, dir, small)
		add(t, s, doc("a", 1), doc("b", 5))
		want := dump(t, s)
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(dir, recordsName, c.name)
		if err := os.WriteFile(path, make([]byte, c.size), 0o644); err != nil {
			t.Fatal(err)
		}
		for range 2 {
			if _, err := Open(dir, Options{ReadOnly: true}); !errors.Is(err, ErrUnclean) || errors.Is(err, ErrCorrupt) {
				t.Errorf("%s of %d bytes: %v", c.name, c.size, err)
			}
		}
		if _, err := os.Stat(path); err != nil {
			t.Errorf("a reader changed something: %v", err)
		}
		s = open(t, dir, small)
		if got := dump(t, s); !reflect.DeepEqual(got, want) {
			t.Errorf("%s of %d bytes: %d records, want %d", c.name, c.size, len(got), len(want))
		}
		s.Close()
		r := open(t, dir, Options{ReadOnly: true, MemoryMiB: 64})
		r.Close()
	}
}
