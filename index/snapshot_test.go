package index_test

import (
	"bytes"
	"errors"
	"slices"
	"testing"

	"github.com/lexsem/lexsem/index"
	"github.com/lexsem/lexsem/index/indextest"
)

// reload writes an index down and reads it back.
func reload(t *testing.T, ix index.Index, o index.Options) index.Index {
	t.Helper()
	kind := kindOf(t)
	data := snapshot(t, ix)
	got, err := index.Load(kind, o, data)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(snapshot(t, got), data) {
		t.Fatal("the snapshot of a loaded snapshot is another one")
	}
	return got
}

func snapshot(t testing.TB, ix index.Index) []byte {
	t.Helper()
	var buf bytes.Buffer
	n, err := ix.(index.Snapshotter).WriteTo(&buf)
	if err != nil || n != int64(buf.Len()) {
		t.Fatalf("wrote %d of %d bytes: %v", n, buf.Len(), err)
	}
	return buf.Bytes()
}

func TestSnapshot(t *testing.T) {
	const n, dim = 2000, 12
	v := indextest.TextLike(n, dim, 3)
	forAll(t, dim, func(t *testing.T, o index.Options, ix index.Index) {
		reload(t, ix, o) // empty
		add(t, ix, ids(n, 0), v)
		ix.Delete(ids(300, 100))
		got := reload(t, ix, o)
		for i := range 20 {
			q := v[i*37*dim : (i*37+1)*dim]
			so := index.SearchOptions{K: 10, Ef: 10}
			if a, b := search(t, ix, q, so), search(t, got, q, so); !slices.Equal(a, b) {
				t.Fatalf("%v before, %v after", a, b)
			}
		}
		add(t, got, ids(200, 50), v[:200*dim])
		verify(t, got)
	})
}

// TestMap changes an index that uses the memory of its snapshot, wherever that
// begins.
func TestMap(t *testing.T) {
	const n, dim = 2500, 12
	v := indextest.TextLike(n, dim, 3)
	forAll(t, dim, func(t *testing.T, o index.Options, ix index.Index) {
		add(t, ix, ids(n, 0), v)
		data := snapshot(t, ix)
		for off := range 3 {
			memory := append(make([]byte, 64+off), data...)[64+off:]
			got, err := index.Map(kindOf(t), o, memory)
			if err != nil {
				t.Fatal(err)
			}
			want, err := index.Load(kindOf(t), o, data)
			if err != nil {
				t.Fatal(err)
			}
			for _, x := range []index.Index{got, want} {
				x.Delete(ids(300, 100))
				add(t, x, ids(200, 50), v[7*dim:207*dim])
				add(t, x, ids(2000, 5000), v[:2000*dim])
			}
			verify(t, got)
			if !bytes.Equal(snapshot(t, got), snapshot(t, want)) {
				t.Fatal("differs from an index of its own memory")
			}
		}
		if bad := slices.Clone(data); true {
			bad[len(bad)/2] ^= 4
			if _, err := index.Map(kindOf(t), o, bad); !errors.Is(err, index.ErrCorrupt) {
				t.Fatal(err)
			}
		}
	})
}

func TestSnapshotOfAnotherConfiguration(t *testing.T) {
	for _, kind := range index.Kinds() {
		o := index.Options{Dim: 3}
		ix, _ := index.New(kind, o)
		add(t, ix, ids(2, 0), []float32{1, 2, 3, 4, 5, 6})
		data := snapshot(t, ix)
		for _, other := range []index.Options{{Dim: 4}, {Dim: 3, Metric: "l2"}, {Dim: 3, M: 8}, {Dim: 3, Seed: 1}} {
			if _, err := index.Load(kind, other, data); !errors.Is(err, index.ErrMismatch) {
				t.Errorf("%s as %+v: %v", kind, other, err)
			}
		}
		for _, k := range index.Kinds() {
			if _, err := index.Load(k, o, data); (k == kind) != (err == nil) || err != nil && !errors.Is(err, index.ErrMismatch) {
				t.Errorf("%s as %s: %v", kind, k, err)
			}
		}
		if _, err := index.Load(kind, index.Options{Dim: 3, Ef: 9, Workers: 1}, data); err != nil {
			t.Errorf("Ef and Workers may differ: %v", err)
		}
	}
}

func small(t testing.TB, kind string) (index.Options, []byte) {
	o := index.Options{Dim: 3, M: 2, EfConstruction: 4, Workers: 1}
	ix, err := index.New(kind, o)
	if err == nil {
		err = ix.Add(ids(40, 0), gauss(40, 3, 1))
	}
	if err != nil {
		t.Fatal(err)
	}
	return o, snapshot(t, ix)
}

func TestDamagedSnapshots(t *testing.T) {
	for _, kind := range index.Kinds() {
		o, data := small(t, kind)
		for i := range data {
			bad := slices.Clone(data)
			bad[i] ^= 1 << (i % 8)
			if _, err := index.Load(kind, o, bad); !errors.Is(err, index.ErrCorrupt) {
				t.Fatalf("%s: byte %d changed: %v", kind, i, err)
			}
			if _, err := index.Load(kind, o, data[:i]); !errors.Is(err, index.ErrCorrupt) {
				t.Fatalf("%s: cut off at %d: %v", kind, i, err)
			}
		}
		if _, err := index.Load(kind, o, append(slices.Clone(data), 0)); !errors.Is(err, index.ErrCorrupt) {
			t.Fatalf("%s: one byte more: %v", kind, err)
		}
	}
}

// FuzzLoad feeds damaged snapshots whose checksums are right, so that what is
// behind the checksums has to hold as well.
func FuzzLoad(f *testing.F) {
	for i, kind := range index.Kinds() {
		_, data := small(f, kind)
		f.Add(uint8(i), data)
	}
	f.Fuzz(func(t *testing.T, which uint8, data []byte) {
		kinds := index.Kinds()
		kind := kinds[int(which)%len(kinds)]
		data = index.FixChecksums(data)
		ix, err := index.Load(kind, index.Options{Dim: 3, M: 2, EfConstruction: 4, Workers: 1}, data)
		if err != nil {
			if !errors.Is(err, index.ErrCorrupt) && !errors.Is(err, index.ErrMismatch) {
				t.Fatal(err)
			}
			return
		}
		verify(t, ix)
		n := ix.Len()
		if got := search(t, ix, []float32{1, 2, 3}, index.SearchOptions{K: n + 1, Ef: 1}); len(got) != n {
			t.Fatalf("%d of %d found", len(got), n)
		}
		add(t, ix, ids(5, 1000), gauss(5, 3, 2))
		ix.Delete(ids(50, 0))
		verify(t, ix)
	})
}
