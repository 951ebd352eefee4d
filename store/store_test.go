package store

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"testing"

	"github.com/lexsem/lexsem/internal/limit"
)

const testDim = 8

var ctx = context.Background()

// open opens dir and gives a new database its dimension.
func open(t testing.TB, dir string, o Options) *Store {
	t.Helper()
	s, err := Open(dir, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	if !o.ReadOnly && s.Manifest().Dim == 0 {
		if err := s.SetManifest(ctx, func(m *Manifest) error { m.Dim = testDim; return nil }); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

// small is the least memory; many tests run many stores.
var small = Options{MemoryMiB: 64}

// doc makes a document whose every field follows from id and version. Every
// fifth version has three chunks, which overlap.
func doc(id string, version int) *Document {
	d := &Document{
		ID: id, Title: fmt.Sprintf("title of %s", id),
		Text:      fmt.Sprintf("text %d of %s", version, id),
		Metadata:  fmt.Appendf(nil, `{"version":%d}`, version),
		Truncated: int32(version % 3),
	}
	d.Rows = []Row{{End: len(d.Text)}}
	if version%5 == 0 {
		d.Rows = []Row{{Start: 0, End: 5}, {Start: 3, End: 3}, {Start: 4, End: len(d.Text)}}
	}
	for k := range d.Rows {
		d.Rows[k].Tokens = []int32{int32(version), 7, 30521, int32(k)}
		for i := range testDim {
			d.Rows[k].Vector = append(d.Rows[k].Vector, float32(version)+float32(i+k)/10)
		}
	}
	return d
}

func put(t testing.TB, b *Batch, d *Document) Change {
	t.Helper()
	c, err := b.Put(ctx, d)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// add writes one batch.
func add(t testing.TB, s *Store, docs ...*Document) uint64 {
	t.Helper()
	b, err := s.Begin(ctx)
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range docs {
		put(t, b, d)
	}
	seq, err := b.Commit(ctx)
	if err != nil {
		t.Fatal(err)
	}
	return seq
}

func begin(t testing.TB, s *Store) *Batch {
	t.Helper()
	b, err := s.Begin(ctx)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// find returns the current document of id, nil if there is none.
func find(t testing.TB, s *Store, id string) *Document {
	t.Helper()
	ord, ok, err := s.Lookup(id)
	if err != nil {
		t.Fatal(err)
	}
	if !ok {
		return nil
	}
	d, err := s.Get(t.Context(), ord)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func TestPutGetDelete(t *testing.T) {
	s := open(t, t.TempDir(), small)
	if s.Seq() != 0 || s.Len() != 0 {
		t.Fatalf("new store: seq %d, len %d", s.Seq(), s.Len())
	}
	ids := []string{"a", "\x00\xff", string(make([]byte, limit.IDBytes)), "a/b", "ab"}
	b := begin(t, s)
	for i, id := range ids {
		if c := put(t, b, doc(id, i)); c != (Change{ID: id, New: uint64(i + 1)}) {
			t.Errorf("change %+v", c)
		}
	}
	if find(t, s, "a") != nil {
		t.Error("visible before the commit")
	}
	seq, err := b.Commit(ctx)
	if err != nil || seq != 1 || s.Seq() != 1 || s.Len() != len(ids) {
		t.Fatalf("commit: %v, seq %d, len %d", err, seq, s.Len())
	}
	for i, id := range ids {
		if got := find(t, s, id); !reflect.DeepEqual(got, doc(id, i)) {
			t.Errorf("got %+v", got)
		}
	}
	old := find(t, s, "a")
	add(t, s, doc("a", 9))
	if got := find(t, s, "a"); !reflect.DeepEqual(got, doc("a", 9)) {
		t.Errorf("after update: %+v", got)
	}
	if got, err := s.Get(t.Context(), 1); err != nil || !reflect.DeepEqual(got, old) {
		t.Errorf("old version: %+v, %v", got, err)
	}
	b = begin(t, s)
	c, ok, err := b.Delete(ctx, "ab")
	if err != nil || !ok || c != (Change{ID: "ab", Old: 5}) {
		t.Fatalf("delete: %+v %v %v", c, ok, err)
	}
	if _, ok, err := b.Delete(ctx, "ab"); ok || err != nil {
		t.Fatalf("second delete: %v %v", ok, err)
	}
	if _, err := b.Commit(ctx); err != nil {
		t.Fatal(err)
	}
	if find(t, s, "ab") != nil || s.Len() != 4 {
		t.Errorf("deleted document is there, len %d", s.Len())
	}
	for _, ord := range []uint64{0, 7, 1 << 60} {
		if _, err := s.Get(t.Context(), ord); !errors.Is(err, ErrNotFound) {
			t.Errorf("Get(%d): %v", ord, err)
		}
	}
	if err := b.Discard(); err != nil {
		t.Errorf("discard after commit: %v", err)
	}
	if _, err := b.Commit(ctx); !errors.Is(err, errBatchDone) {
		t.Errorf("commit twice: %v", err)
	}
}

func TestSameIDTwiceInABatch(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir, small)
	add(t, s, doc("kept", 1))
	b := begin(t, s)
	put(t, b, doc("x", 1))
	put(t, b, doc("x", 2))
	put(t, b, doc("kept", 2))
	if _, ok, err := b.Delete(ctx, "kept"); !ok || err != nil {
		t.Fatal(ok, err)
	}
	put(t, b, doc("gone", 1))
	if _, ok, err := b.Delete(ctx, "gone"); !ok || err != nil {
		t.Fatal(ok, err)
	}
	put(t, b, doc("x", 3))
	for id, want := range map[string]uint64{"x": 6, "kept": 0, "gone": 0, "never": 0} {
		if ord, err := b.Lookup(ctx, id); ord != want || err != nil {
			t.Errorf("%s is version %d in the batch, %v, want %d", id, ord, err, want)
		}
	}
	if _, err := b.Lookup(ctx, ""); !errors.Is(err, errInvalidID) {
		t.Errorf("no id: %v", err)
	}
	if _, err := b.Commit(ctx); err != nil {
		t.Fatal(err)
	}
	want := []Change{
		{"x", 2, 0}, {"x", 3, 2}, {"kept", 4, 1}, {"kept", 0, 4},
		{"gone", 5, 0}, {"gone", 0, 5}, {"x", 6, 3},
	}
	var got []Change
	if err := s.Log(ctx, 1, func(seq uint64, c Change) error { got = append(got, c); return nil }); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(got, want) {
		t.Errorf("log %+v", got)
	}
	if s.Len() != 1 || !reflect.DeepEqual(find(t, s, "x"), doc("x", 3)) || find(t, s, "kept") != nil || find(t, s, "gone") != nil {
		t.Errorf("len %d", s.Len())
	}
	var live []uint64
	err := s.Scan(ctx, 0, func(ord uint64, _ []Row) error {
		live = append(live, ord)
		return nil
	})
	if err != nil || !slices.Equal(live, []uint64{6}) {
		t.Errorf("scan %v %v", live, err)
	}
	if r, err := s.Verify(ctx, nil); err != nil || r.Documents != 1 || r.Dead != 5 || r.LogEntries != 8 || r.Batches != 2 {
		t.Errorf("verify %+v %v", r, err)
	}
}

func TestDiscardLeavesNothing(t *testing.T) {
	for _, how := range []string{"discard", "close"} {
		t.Run(how, func(t *testing.T) {
			dir := t.TempDir()
			s := open(t, dir, small)
			add(t, s, doc("a", 1), doc("b", 1))
			before := dump(t, s)
			b := begin(t, s)
			put(t, b, doc("a", 2))
			put(t, b, doc("new", 1))
			put(t, b, doc("a", 3))
			if _, _, err := b.Delete(ctx, "b"); err != nil {
				t.Fatal(err)
			}
			if err := b.w.flush(); err != nil { // as if the batch were large
				t.Fatal(err)
			}
			put(t, b, doc("new", 2))
			if how == "discard" {
				if err := b.Discard(); err != nil {
					t.Fatal(err)
				}
			} else {
				if err := s.Close(); err != nil {
					t.Fatal(err)
				}
				if _, err := b.Put(ctx, doc("z", 1)); !errors.Is(err, ErrClosed) {
					t.Errorf("put after close: %v", err)
				}
				if err := b.Discard(); err != nil {
					t.Errorf("discard after close: %v", err)
				}
				s = open(t, dir, small)
			}
			if after := dump(t, s); !reflect.DeepEqual(before, after) {
				t.Errorf("records before %v, after %v", before, after)
			}
			add(t, s, doc("c", 1))
			if ord, _, _ := s.Lookup("c"); ord != 3 || s.Seq() != 2 {
				t.Errorf("next ordinal %d, seq %d", ord, s.Seq())
			}
			if _, err := s.Verify(ctx, nil); err != nil {
				t.Error(err)
			}
		})
	}
}

// dump lists all keys and values in Badger except the state.
func dump(t testing.TB, s *Store) map[string]string {
	t.Helper()
	m := map[string]string{}
	p := &pin{s: s, txn: s.db.NewTransaction(false)}
	defer p.txn.Discard()
	for _, prefix := range []byte("dvixlcm") {
		it, err := p.whole(ctx, prefix)
		if err != nil {
			t.Fatal(err)
		}
		for ; it.Valid(); it.Next() {
			v, err := it.Item().ValueCopy(nil)
			if err != nil {
				t.Fatal(err)
			}
			k := it.Item().Key()
			if c, err := decodeCurrent(v[:max(len(v)-4, 0)]); prefix == prefixID && err == nil {
				v = fmt.Append(nil, c.now) // what was before does not matter
			}
			m[string(k)] = string(v)
		}
		it.Close()
	}
	return m
}
