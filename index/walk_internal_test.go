package index

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// A batch that is merged gives the list that one insertion after another gives, and the least place.
func TestMergeCands(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	for range 20_000 {
		max := 1 + r.IntN(40)
		some := func(n int) []cand {
			c := make([]cand, n)
			for i := range c { // with many equal ones
				c[i] = cand{float32(r.IntN(30)), r.Uint32()}
			}
			return c
		}
		list, come := some(r.IntN(max+1)), some(r.IntN(12))
		slices.SortStableFunc(list, func(a, b cand) int { return int(a.d) - int(b.d) })
		want, least := slices.Clone(list), max
		for _, c := range come {
			if len(want) == max && c.d >= want[max-1].d {
				continue
			}
			var at int
			want, at = insertCand(want, c, max)
			least = min(least, at)
		}
		got, at := mergeCands(slices.Clone(list), come, max)
		if !slices.Equal(got, want) {
			t.Fatalf("%v and %v, at most %d: %v, want %v", list, come, max, got, want)
		}
		if least < max && at != least {
			t.Fatalf("%v and %v, at most %d: from %d on, want %d", list, come, max, at, least)
		}
	}
}

// A walker that lies in the pool holds no memory that the index may let go of.
func TestWalkerLetsGo(t *testing.T) {
	ix, err := New("hnsw-int8", Options{Dim: 2})
	if err != nil {
		t.Fatal(err)
	}
	h := ix.(*hnsw)
	if err := h.Add([]uint64{1, 2, 3}, []float32{1, 0, 0, 1, .6, .8}); err != nil {
		t.Fatal(err)
	}
	w := newWalker(h)
	w.share()
	q := w.mem.query(0, w.q.code)
	w.distances(&q, []uint32{1, 2})
	w.chosen([]uint32{0, 1})
	w.toChosen(&q, []uint32{0, 1}, 0, 2)
	w.done()
	w.end()
	for _, f := range []found{w.at, w.sels} {
		if len(f.rows) != 2 {
			t.Fatalf("%d rows were looked up", len(f.rows))
		}
		for _, row := range f.rows {
			if row != nil || w.mem != nil {
				t.Fatal("holds a row")
			}
		}
	}
}
