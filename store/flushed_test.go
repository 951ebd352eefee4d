package store

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"testing"
)

// TestFlushedLog: the log of a memtable that stays behind its flush, as where the disk refuses
// to remove it, does not bring records back that a compaction has dropped since.
func TestFlushedLog(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := open(t, dir, small)
	add(t, s, doc("gone", 1), doc("stays", 1))
	n, err := s.newestLog()
	if err != nil {
		t.Fatal(err)
	}
	name := fmt.Sprintf("%05d.mem", n)
	log, err := os.ReadFile(filepath.Join(dir, recordsName, name))
	if err != nil {
		t.Fatal(err)
	}
	end := logHead
	for {
		_, _, n, ok := logEntry(log, end)
		if !ok {
			break
		}
		end += n
	}
	log = log[:end] // as Badger leaves it behind an opening
	if err := s.Flush(ctx); err != nil {
		t.Fatal(err)
	}
	b := begin(t, s)
	if _, ok, err := b.Delete(ctx, "gone"); err != nil || !ok {
		t.Fatalf("deleted: %v, %v", ok, err)
	}
	if _, err := b.Commit(ctx); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(s.Compact(ctx, s.Seq()), s.Reclaim(ctx, nil)); err != nil {
		t.Fatal(err)
	}
	add(t, s, doc("in no table yet", 1))
	want := dump(t, s)
	killed := t.TempDir()
	copyDir(t, dir, killed)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	for _, left := range []string{killed, dir} {
		stale := filepath.Join(left, recordsName, name)
		if err := os.WriteFile(stale, log, 0o644); err != nil {
			t.Fatal(err)
		}
		if _, err := Open(left, Options{ReadOnly: true}); !errors.Is(err, ErrUnclean) {
			t.Errorf("opened for reading: %v; want %v", err, ErrUnclean)
		}
		s := open(t, left, small)
		if got := dump(t, s); !reflect.DeepEqual(got, want) {
			t.Errorf("%d records, want %d", len(got), len(want))
		}
		if d := find(t, s, "gone"); d != nil {
			t.Errorf("the document that was deleted is back: %+v", d)
		}
		if _, err := s.Verify(ctx, nil); err != nil {
			t.Error(err)
		}
		if b, err := os.ReadFile(stale); err == nil && bytes.HasPrefix(b, log) { // a new one may have its name
			t.Errorf("%s is left", stale)
		}
		if _, err := os.Lstat(stale + spareExt); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s is set aside: %v", stale, err)
		}
	}
}
