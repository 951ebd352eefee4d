package index

import (
	"bytes"
	"math/rand/v2"
	"testing"

	"github.com/lexsem/lexsem/internal/snapshot"
)

// TestLinksAreReadAsSearchesMeetThem: opening a graph reads no links, nor does a Delete of nothing, which a
// database calls behind each opening; a search reads those around the nodes that it expands.
func TestLinksAreReadAsSearchesMeetThem(t *testing.T) {
	const n, dim = 20_000, 8
	rows := pivotRows(rand.New(rand.NewPCG(1, 2)), n, dim)
	x, err := New(KindHNSW, Options{Dim: dim, M: 6, EfConstruction: 12})
	if err != nil {
		t.Fatal(err)
	}
	if err := x.Add(pivotIDs(0, n), rows); err != nil {
		t.Fatal(err)
	}
	var buf bytes.Buffer
	w := snapshot.NewWriter(&buf, snapshot.Header{Kind: KindHNSW})
	if err := x.(*hnsw).Save(w); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	f, err := snapshot.Parse(buf.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	x, err = Open(KindHNSW, x.(*hnsw).o, f)
	if err != nil {
		t.Fatal(err)
	}
	h := x.(*hnsw)
	read := func() int { return h.lazy.pieces - int(h.lazy.left.Load()) }
	if got := h.Delete(nil); got != 0 || h.settled || read() != 0 {
		t.Errorf("%d deleted, links read: %d of %d pieces, copied: %v", got, read(), h.lazy.pieces, h.settled)
	}
	if _, err := h.Search(nil, rows[:dim], SearchOptions{K: 1, Ef: 8}); err != nil {
		t.Fatal(err)
	}
	if pieces := (n + linkMask) >> linkBits; h.lazy.pieces != pieces || read() == 0 || read() > pieces/4 {
		t.Errorf("one search read %d of %d pieces, want %d in all", read(), h.lazy.pieces, pieces)
	}
	if err := h.checkLinks(t.Context()); err != nil || read() != h.lazy.pieces {
		t.Errorf("%d of %d pieces: %v", read(), h.lazy.pieces, err)
	}
}
