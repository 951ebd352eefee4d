package store

import (
	"context"
	"errors"
	"reflect"
	"strings"
	"testing"
	"unsafe"

	"github.com/dgraph-io/badger/v4"
)

// TestNoMemtable: where Badger could not make a memtable all that reads or writes ends
// with ErrFailed, not in a panic, and Close and Open work as ever.
func TestNoMemtable(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir, small)
	add(t, s, doc("a", 1), doc("b", 1))
	v, err := s.Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	field := reflect.ValueOf(s.db).Elem().FieldByName("mt")
	mt := (*unsafe.Pointer)(unsafe.Pointer(field.UnsafeAddr()))
	kept := *mt
	*mt = nil // as newMemTable does that fails
	ctx := context.Background()
	if _, _, err := v.Lookup("a"); !errors.Is(err, ErrFailed) || !strings.Contains(err.Error(), "memtable") {
		t.Errorf("Lookup: %v", err)
	}
	if _, err := v.Get(t.Context(), 1); !errors.Is(err, ErrFailed) {
		t.Errorf("Get: %v", err)
	}
	if err := v.ScanDocuments(ctx, 0, func(uint64, *Document) error { return nil }); !errors.Is(err, ErrFailed) {
		t.Errorf("ScanDocuments: %v", err)
	}
	if _, err := s.Begin(ctx); !errors.Is(err, ErrFailed) {
		t.Errorf("Begin: %v", err)
	}
	if err := s.Compact(ctx, s.Seq()); !errors.Is(err, ErrFailed) {
		t.Errorf("Compact: %v", err)
	}
	v.Close()  // of which the transaction cannot be discarded
	*mt = kept // Close flushes it, where the other would be in the list of those to be flushed
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = open(t, dir, small)
	find(t, s, "a")
	find(t, s, "b")
}

// TestOtherPanics: panics that are no memtable's go on.
func TestOtherPanics(t *testing.T) {
	s := open(t, t.TempDir(), small)
	for name, do := range map[string]func(){
		"of Badger": func() {
			txn := s.db.NewTransaction(false)
			txn.Discard()
			txn.NewIterator(badger.IteratorOptions{})
		},
		"a nil pointer": func() { var p *pin; _ = p.st },
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: no panic", name)
				}
			}()
			var err error
			defer s.memtable(&err)
			do()
		}()
	}
	if s.failure() != nil {
		t.Errorf("the store has failed: %v", s.failure())
	}
}
