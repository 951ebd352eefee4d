package store

import (
	"errors"
	"fmt"
	"path/filepath"
	"reflect"
	"testing"

	"github.com/dgraph-io/badger/v4"
)

// undone are what a batch that is never committed may do to one id.
var undone = map[string]func(t *testing.T, b *Batch, id string){
	"put":            func(t *testing.T, b *Batch, id string) { put(t, b, doc(id, 8)) },
	"put twice":      func(t *testing.T, b *Batch, id string) { put(t, b, doc(id, 8)); put(t, b, doc(id, 9)) },
	"delete":         func(t *testing.T, b *Batch, id string) { remove(t, b, id) },
	"put and delete": func(t *testing.T, b *Batch, id string) { put(t, b, doc(id, 8)); remove(t, b, id) },
	"delete and put": func(t *testing.T, b *Batch, id string) { remove(t, b, id); put(t, b, doc(id, 8)) },
}

// histories are what an id may have been through before.
var histories = map[string]func(t *testing.T, s *Store, id string){
	"new":  func(*testing.T, *Store, string) {},
	"live": func(t *testing.T, s *Store, id string) { add(t, s, doc(id, 1)) },
	"deleted": func(t *testing.T, s *Store, id string) {
		add(t, s, doc(id, 1))
		commitDeletes(t, s, id)
	},
	"back again": func(t *testing.T, s *Store, id string) {
		add(t, s, doc(id, 1))
		commitDeletes(t, s, id)
		add(t, s, doc(id, 2))
	},
}

// remove deletes an id, if it is there.
func remove(t testing.TB, b *Batch, id string) {
	t.Helper()
	if _, _, err := b.Delete(ctx, id); err != nil {
		t.Fatal(err)
	}
}

// commitDeletes deletes ids in one batch.
func commitDeletes(t testing.TB, s *Store, ids ...string) {
	t.Helper()
	b := begin(t, s)
	for _, id := range ids {
		remove(t, b, id)
	}
	if _, err := b.Commit(ctx); err != nil {
		t.Fatal(err)
	}
}

// each calls fn with an id for each history and each change that is undone.
func eachUndone(fn func(id, history, change string)) {
	for h := range histories {
		for c := range undone {
			fn(h+", then "+c, h, c)
		}
	}
}

// withUndone is a database with the ids of eachUndone, and what it holds. Their last
// changes are staged in a batch that is not committed.
func withUndone(t *testing.T, dir string) (s *Store, b *Batch, before map[string]string, docs map[string]*Document) {
	t.Helper()
	s = open(t, dir, small)
	eachUndone(func(id, history, _ string) { histories[history](t, s, id) })
	before, docs = dump(t, s), documentsOf(t, s)
	b = begin(t, s)
	eachUndone(func(id, _, change string) { undone[change](t, b, id) })
	if err := b.w.flush(); err != nil { // as if the batch were large
		t.Fatal(err)
	}
	put(t, b, doc("staged last", 1))
	return s, b, before, docs
}

// TestUndone: what a batch without commit did to an id, whatever the id was before, is
// undone by Discard and by the opening after a kill.
func TestUndone(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "db")
	s, b, before, docs := withUndone(t, dir)
	killed := filepath.Join(t.TempDir(), "killed")
	copyDir(t, dir, killed)
	if err := b.Discard(); err != nil {
		t.Fatal(err)
	}
	discarded := filepath.Join(t.TempDir(), "discarded")
	copyDir(t, dir, discarded)
	check := func(t *testing.T, s *Store) {
		if after := dump(t, s); !reflect.DeepEqual(before, after) {
			t.Errorf("%d records, %d before, or others", len(after), len(before))
		}
		if got := documentsOf(t, s); !reflect.DeepEqual(docs, got) {
			t.Errorf("%d documents, want %d", len(got), len(docs))
		}
		if _, err := s.Verify(ctx, nil); err != nil {
			t.Error(err)
		}
	}
	check(t, s)
	for _, dir := range []string{killed, discarded} {
		check(t, open(t, dir, small))
	}
}

// TestSalvageUndone: Salvage takes what a batch without commit did to an id for nothing,
// also where another batch has its number and its ordinals by now.
func TestSalvageUndone(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "db")
	s, b, _, docs := withUndone(t, dir)
	salvaged := func(what string) {
		t.Helper()
		from, to := filepath.Join(t.TempDir(), "from"), filepath.Join(t.TempDir(), "to")
		copyDir(t, dir, from)
		rep, err := Folder(from).Salvage(ctx, to, SalvageOptions{})
		if err != nil || rep.Lost > 0 || len(rep.Damage) > 0 {
			t.Fatalf("%s: %+v, %v", what, rep, err)
		}
		if got := documentsOf(t, open(t, to, small)); !reflect.DeepEqual(docs, got) {
			t.Errorf("%s: %d documents, want %d", what, len(got), len(docs))
		}
	}
	salvaged("staged")
	if err := b.Discard(); err != nil {
		t.Fatal(err)
	}
	salvaged("undone")
	var others []*Document
	for i := range 2 * len(histories) * len(undone) {
		others = append(others, doc(fmt.Sprint("other ", i), i))
	}
	add(t, s, others...)
	docs = documentsOf(t, s)
	salvaged("overtaken")
}

// TestOpensWithoutTombstones: a database in which the record of a deleted id is missing lacks
// nothing, and opens after a kill. One in which that of a document is missing is damaged.
func TestOpensWithoutTombstones(t *testing.T) {
	for id, want := range map[string]error{"deleted": nil, "back": ErrCorrupt, "live": ErrCorrupt} {
		dir, killed := filepath.Join(t.TempDir(), "db"), filepath.Join(t.TempDir(), "killed")
		s := open(t, dir, small)
		add(t, s, doc("deleted", 1), doc("back", 1), doc("live", 1))
		commitDeletes(t, s, "deleted", "back")
		add(t, s, doc("back", 2))
		if err := s.db.Update(func(txn *badger.Txn) error { return txn.Delete(idKey(id)) }); err != nil {
			t.Fatal(err)
		}
		copyDir(t, dir, killed)
		s, err := Open(killed, small)
		if !errors.Is(err, want) {
			t.Errorf("without the record of %q: %v, want %v", id, err, want)
		}
		if err != nil {
			continue
		}
		add(t, s, doc(id, 3))
		if d := find(t, s, id); d == nil || !reflect.DeepEqual(d, doc(id, 3)) {
			t.Errorf("%q came back as %v", id, d)
		}
		if _, err := s.Verify(ctx, nil); err != nil {
			t.Error(err)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
}
