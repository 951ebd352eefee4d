package index

import (
	"math"
	"math/rand/v2"
	"testing"
)

// TestShare: what a filter lets through is estimated well where every second, third or 64th vector is of one kind, too.
func TestShare(t *testing.T) {
	const n = 4096
	r := rand.New(rand.NewPCG(1, 1))
	ids, v := make([]uint64, n), make([]float32, 2*n)
	for i := range n {
		ids[i], v[2*i], v[2*i+1] = uint64(i), r.Float32(), r.Float32()
	}
	ix, err := New("hnsw", Options{Dim: 2, Metric: "l2"})
	if err != nil {
		t.Fatal(err)
	}
	if err := ix.Add(ids, v); err != nil {
		t.Fatal(err)
	}
	h := ix.(*hnsw)
	view := h.views.Acquire()
	defer view.Release()
	w := h.walkers.Get().(*walker)
	for _, period := range []uint64{1, 2, 3, 4, 8, 16, 64} {
		for rest := range min(period, 4) {
			w.begin(view.Value, v[:2], SearchOptions{K: 1, Allow: func(id uint64) bool { return id%period == rest }})
			if got, want := h.share(w), 1/float64(period); math.Abs(got-want) > 0.13 {
				t.Errorf("of every %d, number %d: %.3f", period, rest, got)
			}
		}
	}
	w.begin(view.Value, v[:2], SearchOptions{K: 1, Allow: func(uint64) bool { return false }, Among: func(func(uint64) bool) {}, Allowed: n / 4})
	if got := h.share(w); got != 0.25 {
		t.Errorf("told a quarter: %.3f", got)
	}
	w.end()
}
