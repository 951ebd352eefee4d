package index_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math"
	"slices"
	"testing"

	"github.com/lexsem/lexsem/index"
	"github.com/lexsem/lexsem/internal/snapshot"
	"github.com/lexsem/lexsem/internal/testkit/indextest"
)

func save(t testing.TB, ix index.Index) []byte {
	t.Helper()
	var buf bytes.Buffer
	w := snapshot.NewWriter(&buf, snapshot.Header{Kind: "vectors", Version: 1})
	if err := errors.Join(ix.Save(w), w.Close()); err != nil {
		t.Fatal(err)
	}
	return buf.Bytes()
}

func open(t testing.TB, kind string, o index.Options, data []byte) index.Index {
	t.Helper()
	f, err := snapshot.Parse(data)
	if err != nil {
		t.Fatal(err)
	}
	ix, err := index.Open(kind, o, f)
	if err != nil {
		t.Fatal(err)
	}
	return ix
}

// reload writes an index down and reads it back.
func reload(t *testing.T, ix index.Index, o index.Options) index.Index {
	t.Helper()
	data := save(t, ix)
	got := open(t, kindOf(t), o, data)
	again := open(t, kindOf(t), o, save(t, got))
	if !bytes.Equal(save(t, again), save(t, got)) {
		t.Fatal("the snapshot of a snapshot is another one")
	}
	return got
}

func TestSnapshot(t *testing.T) {
	const n, dim = 1000, 12
	v := indextest.TextLike(n, dim, 3)
	forAllWith(t, index.Options{Dim: dim, M: 8, EfConstruction: 60}, func(t *testing.T, o index.Options, ix index.Index) {
		reload(t, ix, o) // empty
		indextest.Add(t, ix, indextest.IDs(n, 0), v)
		ix.Delete(indextest.IDs(400, 100))
		data := save(t, ix)
		kept := slices.Clone(data)
		for off := range 3 { // wherever it lies in memory
			got := open(t, kindOf(t), o, append(make([]byte, 64+off), data...)[64+off:])
			for i := range 8 {
				q := v[i*37*dim : (i*37+1)*dim]
				for _, so := range []index.SearchOptions{{K: 10, Ef: 10}, {K: 2000}} {
					if a, b := indextest.Search(t, ix, q, so), indextest.Search(t, got, q, so); !slices.Equal(a, b) {
						t.Fatalf("%v before, %v after", a, b)
					}
				}
			}
			if len(listed(got)) != n-400 {
				t.Fatalf("%d ids", len(listed(got)))
			}
		}
		// What is changed after opening is changed alike, and not in the file.
		got := open(t, kindOf(t), o, data)
		want := open(t, kindOf(t), o, slices.Clone(data))
		indextest.Verify(t, want)
		for _, x := range []index.Index{got, want} {
			x.Delete(indextest.IDs(200, 700))
			indextest.Add(t, x, indextest.IDs(200, 50), v[7*dim:207*dim])
			indextest.Add(t, x, indextest.IDs(800, 5000), v[:800*dim])
			x.Delete(indextest.IDs(600, 5100))
		}
		indextest.Verify(t, got)
		if !bytes.Equal(save(t, got), save(t, want)) {
			t.Fatal("depends on what was read before it was changed")
		}
		if !bytes.Equal(data, kept) {
			t.Fatal("the file's memory was written to")
		}
		for i := range 200 {
			near := indextest.Search(t, got, v[(i+7)*dim:(i+8)*dim], index.SearchOptions{K: 5})
			if !slices.ContainsFunc(near, func(x index.Neighbor) bool { return x.ID == uint64(50+i) || x.Distance <= near[0].Distance+1e-5 }) {
				t.Fatalf("id %d is not found by its vector: %v", 50+i, near)
			}
		}
	})
}

func listed(ix index.Index) (all []uint64) {
	for id := range ix.IDs {
		all = append(all, id)
	}
	slices.Sort(all)
	return all
}

func TestSnapshotOfAnotherConfiguration(t *testing.T) {
	for _, kind := range index.Kinds() {
		o := index.Options{Dim: 3}
		ix, _ := index.New(kind, o)
		indextest.Add(t, ix, indextest.IDs(2, 0), []float32{1, 2, 3, 4, 5, 6})
		f, err := snapshot.Parse(save(t, ix))
		if err != nil {
			t.Fatal(err)
		}
		for _, other := range []index.Options{{Dim: 4}, {Dim: 3, Metric: "l2"}, {Dim: 3, M: 8}, {Dim: 3, Seed: 1}} {
			if _, err := index.Open(kind, other, f); !errors.Is(err, index.ErrMismatch) {
				t.Errorf("%s as %+v: %v", kind, other, err)
			}
		}
		for _, k := range index.Kinds() {
			if _, err := index.Open(k, o, f); (k == kind) != (err == nil) || err != nil && !errors.Is(err, index.ErrMismatch) {
				t.Errorf("%s as %s: %v", kind, k, err)
			}
		}
		if _, err := index.Open(kind, index.Options{Dim: 3, Ef: 9, Workers: 1}, f); err != nil {
			t.Errorf("Ef and Workers may differ: %v", err)
		}
	}
}

// Damage is found by Open, or by the first search that reads it, and always by
// Verify; never is an answer wrong.
func TestDamagedSnapshots(t *testing.T) {
	const n, dim = 1100, 40
	v := indextest.TextLike(n, dim, 3)
	for _, kind := range index.Kinds() {
		o := index.Options{Dim: dim, M: 4, EfConstruction: 20}
		ix, _ := index.New(kind, o)
		indextest.Add(t, ix, indextest.IDs(n, 0), v)
		data := save(t, ix)
		want := indextest.Search(t, ix, v[:dim], index.SearchOptions{K: 10})
		late := 0
		for at := 4096; at < len(data); at += 6007 {
			bad := slices.Clone(data)
			bad[at] ^= 1 << (at % 8)
			f, err := snapshot.Parse(bad)
			if err != nil {
				continue
			}
			got, err := index.Open(kind, o, f)
			if err != nil {
				if !errors.Is(err, index.ErrCorrupt) {
					t.Fatalf("%s: byte %d: %v", kind, at, err)
				}
				continue
			}
			hits, err := got.Search(nil, v[:dim], index.SearchOptions{K: 10})
			if err == nil && !slices.Equal(hits, want) || err != nil && !(errors.Is(err, index.ErrCorrupt) && errors.Is(err, snapshot.ErrDamaged)) {
				t.Fatalf("%s: byte %d: %v, %v", kind, at, hits, err)
			}
			if err := got.Verify(t.Context()); errors.Is(err, index.ErrCorrupt) {
				late++
			} else if f.Verify(t.Context()) == nil {
				t.Fatalf("%s: byte %d: nobody sees the damage: %v", kind, at, err)
			}
			if err := got.Add(indextest.IDs(5, 9000), v[:5*dim]); err != nil && !errors.Is(err, index.ErrCorrupt) {
				t.Fatal(err)
			}
			got.Delete(indextest.IDs(70, 0))
			if err := got.Save(snapshot.NewWriter(&bytes.Buffer{}, snapshot.Header{Kind: "x"})); err != nil && !errors.Is(err, index.ErrCorrupt) {
				t.Fatal(err)
			}
		}
		if late == 0 {
			t.Errorf("%s: no damage was left to be found after Open", kind)
		}
	}
}

var fuzzOptions = index.Options{Dim: 3, M: 2, EfConstruction: 4, Workers: 1}

var fuzzTags = []string{"v.head", "v.alive", "v.ids", "v.table", "v.rows", "v.codes", "v.scales", "v.losts", "v.nodes", "v.links", "v.spill", "v.towers", "v.pivots"}

// FuzzOpen changes bytes of snapshots whose checksums are right, so that what is
// behind the checksums has to hold as well.
func FuzzOpen(f *testing.F) {
	type saved struct {
		kind string
		o    index.Options
		data []byte
	}
	var good []saved
	for _, kind := range index.Kinds() {
		good = append(good, saved{kind: kind, o: fuzzOptions})
	}
	for _, kind := range []string{index.KindHNSW, index.KindHNSWInt8, index.KindHNSWCompact} {
		o := fuzzOptions
		o.Tail = 20
		good = append(good, saved{kind: kind, o: o})
	}
	for i, g := range good {
		ix, err := index.New(g.kind, g.o)
		if err == nil {
			err = ix.Add(indextest.IDs(60, 0), indextest.Gauss(60, 3, 1))
		}
		if err != nil {
			f.Fatal(err)
		}
		ix.Delete(indextest.IDs(10, 30))
		good[i].data = save(f, ix)
		for tag := range fuzzTags {
			for at := range uint16(24) {
				f.Add(uint8(i), uint8(tag), at*7, uint32(1)<<(3*at%32), uint16(0))
			}
			f.Add(uint8(i), uint8(tag), uint16(0), uint32(0), uint16(3))
		}
	}
	f.Fuzz(func(t *testing.T, which, tag uint8, at uint16, mask uint32, cut uint16) {
		g, name := good[int(which)%len(good)], fuzzTags[int(tag)%len(fuzzTags)]
		file, err := snapshot.Parse(g.data)
		if err != nil {
			t.Fatal(err)
		}
		var buf bytes.Buffer
		w := snapshot.NewWriter(&buf, file.Header())
		for _, tag := range fuzzTags {
			s, err := file.Section(tag)
			if err != nil {
				continue
			}
			payload := slices.Clone(s.Raw())
			if tag == name {
				payload = payload[:len(payload)-min(len(payload), int(cut))]
				for b := range 4 {
					if k := int(at) + b; k < len(payload) {
						payload[k] ^= byte(mask >> (8 * b))
					}
				}
			}
			w.Begin(tag)
			w.Write(payload)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		if file, err = snapshot.Parse(buf.Bytes()); err != nil {
			t.Fatal(err)
		}
		ix, err := index.Open(g.kind, g.o, file)
		if err != nil {
			if !errors.Is(err, index.ErrCorrupt) && !errors.Is(err, index.ErrMismatch) {
				t.Fatal(err)
			}
			return
		}
		sound := ix.Verify(t.Context())
		if sound != nil && !errors.Is(sound, index.ErrCorrupt) {
			t.Fatal(sound)
		}
		use := func() {
			n := ix.Len()
			for _, so := range []index.SearchOptions{{K: n + 1, Ef: 1}, {K: 1, Ef: 1}} {
				got, err := ix.Search(nil, []float32{1, 2, 3}, so)
				if err != nil && !errors.Is(err, index.ErrCorrupt) || sound == nil && len(got) != min(n, so.K) {
					t.Fatalf("%d of %d found: %v", len(got), n, err)
				}
			}
		}
		use()
		index.GraphSearch(ix, []float32{1, 2, 3}, 5, 5)
		if err := ix.Add(indextest.IDs(5, 1000), indextest.Gauss(5, 3, 2)); err != nil && !errors.Is(err, index.ErrCorrupt) {
			t.Fatal(err)
		}
		ix.Delete(indextest.IDs(50, 0))
		use()
		if l, ok := ix.(index.Linker); ok {
			if err := l.Link(t.Context(), 10); err != nil && !errors.Is(err, index.ErrCorrupt) {
				t.Fatal(err)
			}
			use()
		}
		if sound == nil {
			indextest.Verify(t, ix)
		}
	})
}

// What is damaged costs the vectors around it alone, since no more is read with any of them: in an index that is opened, and in a graph
// that is grown over it.
func TestDamageCostsWhatLiesAround(t *testing.T) {
	const n, dim = 3000, 96
	o := index.Options{Dim: dim}
	intact, err := index.New("flat", o)
	if err != nil {
		t.Fatal(err)
	}
	indextest.Add(t, intact, indextest.IDs(n, 0), indextest.TextLike(n, dim, 3))
	whole := save(t, intact)
	for _, bad := range []uint64{1500, n - 1} {
		data := slices.Clone(whole)
		var row []byte
		for _, x := range intact.Vector(bad, nil) {
			row = binary.LittleEndian.AppendUint32(row, math.Float32bits(x))
		}
		at := bytes.Index(data, row)
		if at < 0 {
			t.Fatal("the vector is not in the file")
		}
		data[at] ^= 1
		ix := open(t, "flat", o, data)
		grown, err := index.Grow(t.Context(), ix, "hnsw", index.Options{Dim: dim, Tail: n}, nil)
		if err != nil {
			t.Fatal(err)
		}
		const most = (8<<10 + 2*8<<10) / (4 * dim) // a block, and pieces that begin before it or end behind it
		for _, x := range []index.Index{ix, grown} {
			lost := 0
			for id := range uint64(n) {
				if x.Vector(id, nil) == nil {
					lost++
				}
			}
			if lost == 0 || lost > most || x.Vector(bad, nil) != nil {
				t.Errorf("%d vectors cannot be read, %d can lie around one", lost, most)
			}
		}
		q := ix.Vector(1, nil)
		if _, err := ix.Search(nil, q, index.SearchOptions{K: 1}); !errors.Is(err, index.ErrCorrupt) {
			t.Errorf("a search that reads all: %v", err)
		}
	}
}

// TestShapesOfKinds: where Options say nothing of a graph's shape, its kind does.
func TestShapesOfKinds(t *testing.T) {
	for kind, want := range map[string]index.Options{
		"hnsw": {M: 16, EfConstruction: 200}, "hnsw-int8": {M: 16, EfConstruction: 200}, "hnsw-fast": {M: 20, EfConstruction: 600}, "hnsw-compact": {M: 12, EfConstruction: 200},
	} {
		want.Dim = 4
		ix, err := index.New(kind, index.Options{Dim: 4})
		if err != nil {
			t.Fatal(err)
		}
		data := save(t, ix)
		open(t, kind, want, data)
		open(t, kind, index.Options{Dim: 4}, data)
		want.M++
		f, err := snapshot.Parse(data)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := index.Open(kind, want, f); !errors.Is(err, index.ErrMismatch) {
			t.Errorf("%s with M %d: %v", kind, want.M, err)
		}
	}
	if _, err := index.New("hnsw-fast", index.Options{Dim: 4, M: 512}); err != nil { // its EfConstruction follows M where that is more
		t.Error(err)
	}
}
