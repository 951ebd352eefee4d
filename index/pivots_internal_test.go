package index

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"github.com/lexsem/lexsem/internal/snapshot"
	"github.com/lexsem/lexsem/internal/snapshot/snapshottest"
	"github.com/lexsem/lexsem/internal/vec"
)

// pivotRows makes n vectors of dim components about 40 places.
func pivotRows(r *rand.Rand, n, dim int) []float32 {
	places := make([]float32, 40*dim)
	for i := range places {
		places[i] = float32(r.NormFloat64())
	}
	rows := make([]float32, n*dim)
	for i := range n {
		at := r.IntN(40) * dim
		for j := range dim {
			rows[i*dim+j] = places[at+j] + .3*float32(r.NormFloat64())
		}
	}
	return rows
}

func pivotIDs(from, n int) []uint64 {
	ids := make([]uint64, n)
	for i := range ids {
		ids[i] = uint64(from + i)
	}
	return ids
}

func mustPivots(t *testing.T, h *hnsw, want int) {
	t.Helper()
	if err := h.Verify(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := len(h.pivots.slots); got != want {
		t.Fatalf("%d pivots of %d vectors, want %d", got, h.Len(), want)
	}
}

// towers counts the live nodes above layer 0.
func towers(h *hnsw) int { return len(h.highest(h.n, nil)) }

// TestPivotsFollow adds, replaces and deletes vectors by ones and in bulk, and holds
// the pivots to be the highest nodes (Verify does), up to 1,024 of them. Half
// of the nodes are above layer 0 here.
func TestPivotsFollow(t *testing.T) {
	const n, dim = 2600, 11
	r := rand.New(rand.NewPCG(3, 3))
	rows := pivotRows(r, n, dim)
	for _, tail := range []int{0, 100} {
		t.Run(fmt.Sprint(tail), func(t *testing.T) {
			h := newHNSW(KindHNSWInt8, Options{Dim: dim, Metric: L2, M: 2, EfConstruction: 10, Tail: tail, Workers: 2, Ef: 16}, byInt8)
			add := func(from, n, at int) {
				t.Helper()
				if err := h.Add(pivotIDs(from, n), rows[at*dim:(at+n)*dim]); err != nil {
					t.Fatal(err)
				}
				if err := h.Link(t.Context(), n); err != nil {
					t.Fatal(err)
				}
				mustPivots(t, h, min(mostPivots, towers(h)))
			}
			add(0, 200, 0)
			fitted := h.pivots.fitted
			add(200, n-200, 200)
			if towers(h) <= mostPivots || h.pivots.fitted <= fitted || h.pivots.come >= h.pivots.fitted {
				t.Fatalf("%d above layer 0; mean of %d pivots, %d since", towers(h), h.pivots.fitted, h.pivots.come)
			}
			for i := range 60 {
				add(r.IntN(n), 1+r.IntN(3)*i%20, r.IntN(n-100)) // others take their ids
			}
			add(0, 1500, 1000)
			for range 40 {
				h.Delete([]uint64{uint64(r.IntN(n))})
				mustPivots(t, h, min(mostPivots, towers(h)))
			}
			h.Delete(pivotIDs(0, n-300))
			mustPivots(t, h, towers(h))
			h.Delete(pivotIDs(0, n-12))
			mustPivots(t, h, 0) // too few
			add(5000, 300, 0)
			mustPivots(t, h, towers(h))
			h.Delete(pivotIDs(0, 6000))
			mustPivots(t, h, 0)
		})
	}
}

// TestPivotsStart compares walks from the pivots with walks from where the way down
// the layers ends, on shapes that signs tell little about: their recall must be as
// good, but for chance.
func TestPivotsStart(t *testing.T) {
	const n, nq = 1500, 150
	r := rand.New(rand.NewPCG(4, 4))
	random := func(dim int) []float32 {
		v := make([]float32, dim)
		for i := range v {
			v[i] = float32(r.NormFloat64())
		}
		return v
	}
	few := [][]float32{random(60), random(60), random(60), random(60), random(60)}
	shapes := []struct {
		name   string
		metric string
		dim    int
		next   func() []float32
	}{
		{"two components", L2, 2, func() []float32 { return random(2) }},
		{"eight components", Dot, 8, func() []float32 { return random(8) }},
		{"few vectors", Cosine, 60, func() []float32 { return few[r.IntN(5)] }},
		{"few directions", L2, 60, func() []float32 {
			v := make([]float32, 60)
			for _, b := range few {
				f := float32(r.NormFloat64())
				for i := range v {
					v[i] += f * b[i]
				}
			}
			return v
		}},
		{"one component each", Dot, 60, func() []float32 {
			v := make([]float32, 60)
			v[r.IntN(60)] = 1 + r.Float32()
			return v
		}},
		{"few components each", Cosine, 60, func() []float32 {
			v := make([]float32, 60)
			for range 5 {
				v[r.IntN(60)] += r.Float32()
			}
			return v
		}},
		{"far from the origin", L2, 60, func() []float32 {
			v := random(60)
			for i := range v {
				v[i] += 50
			}
			return v
		}},
		{"one large component", Cosine, 60, func() []float32 { v := random(60); v[3] *= 40; return v }},
		{"many lengths", Dot, 60, func() []float32 {
			v, f := random(60), float32(r.ExpFloat64())
			for i := range v {
				v[i] *= f
			}
			return v
		}},
		{"islands", L2, 20, func() []float32 { v := random(20); v[r.IntN(7)] += 1e4; return v }},
	}
	for _, s := range shapes {
		t.Run(s.name, func(t *testing.T) {
			h := newHNSW(KindHNSW, Options{Dim: s.dim, Metric: s.metric, M: 8, EfConstruction: 40, Workers: 2, Ef: 16}, noCodes)
			f, err := New(KindFlat, Options{Dim: s.dim, Metric: s.metric})
			if err != nil {
				t.Fatal(err)
			}
			var rows []float32
			for range n {
				rows = append(rows, s.next()...)
			}
			for _, ix := range []Index{h, f} {
				if err := ix.Add(pivotIDs(0, n), rows); err != nil {
					t.Fatal(err)
				}
			}
			mustPivots(t, h, towers(h))
			p, w := h.pivots, newWalker(h)
			var hits [2]int
			for range nq {
				q := s.next()
				near, err := f.Search(nil, q, SearchOptions{K: 10})
				if err != nil {
					t.Fatal(err)
				}
				for i := range hits {
					h.pivots = []pivots{{}, p}[i]
					w.begin(h.now, q, SearchOptions{K: 10})
					if _, err := h.searchGraph(w, 20); err != nil {
						t.Fatal(err)
					}
					for _, x := range w.top.heap {
						if x.Distance <= near[9].Distance {
							hits[i]++
						}
					}
					if found, err := h.searchFiltered(w, 20, 2*n); err != nil || !found {
						t.Fatalf("a filtered walk ends early: %v", err)
					}
				}
			}
			t.Logf("recall %.3f from the layers, %.3f from the pivots", float64(hits[0])/(10*nq), float64(hits[1])/(10*nq))
			if hits[1] < hits[0]-10*nq*15/1000 {
				t.Error("too low")
			}
		})
	}
}

// TestPivotsNearest holds that the first start is among the nearest pivots by
// distance, of vectors that lie far from the origin and about places at many
// lengths.
func TestPivotsNearest(t *testing.T) {
	if !sweeps {
		t.Skip("this machine has no kernel for pivots")
	}
	const n, dim, queries = 1500, 64, 100
	for _, metric := range Metrics() {
		t.Run(metric, func(t *testing.T) {
			r := rand.New(rand.NewPCG(8, 8))
			rows := pivotRows(r, n+queries, dim)
			for i := range n + queries {
				f := float32(.2 + r.ExpFloat64())
				for j := range dim {
					rows[i*dim+j] = rows[i*dim+j]*f + float32(j%9)
				}
			}
			h := newHNSW(KindHNSW, Options{Dim: dim, Metric: metric, M: 4, EfConstruction: 20, Workers: 2, Ef: 16}, noCodes)
			if err := h.Add(pivotIDs(0, n), rows[:n*dim]); err != nil {
				t.Fatal(err)
			}
			mustPivots(t, h, towers(h))
			w := newWalker(h)
			w.share()
			defer w.done()
			nearer := 0
			for i := n; i < n+queries; i++ {
				w.begin(h.now, rows[i*dim:(i+1)*dim], SearchOptions{K: 10})
				from := w.start(&w.q)
				if len(from) != bestPivots || !slices.IsSortedFunc(from, func(a, b cand) int { return cmp.Compare(a.d, b.d) }) {
					t.Fatalf("%v", from)
				}
				best := from[0].d
				for _, d := range w.distances(&w.q, h.pivots.slots) {
					if d < best {
						nearer++
					}
				}
			}
			t.Logf("of %d pivots, %.2f are nearer than the first start", len(h.pivots.slots), float64(nearer)/queries)
			if float64(nearer)/queries > .3 {
				t.Error("too many")
			}
		})
	}
}

// savedPivots is a graph and its snapshot.
func savedPivots(t *testing.T, dim int) (*hnsw, Options, []byte, []float32) {
	t.Helper()
	o := Options{Dim: dim, M: 4, EfConstruction: 20, Metric: Cosine, Workers: 1, Ef: 16}
	h := newHNSW(KindHNSWInt8, o, byInt8)
	rows := pivotRows(rand.New(rand.NewPCG(5, 5)), 900, dim)
	if err := h.Add(pivotIDs(0, 900), rows); err != nil {
		t.Fatal(err)
	}
	var buf bytes.Buffer
	w := snapshot.NewWriter(&buf, snapshot.Header{Kind: "vectors"})
	if err := h.Save(w); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return h, o, buf.Bytes(), rows
}

// graphTags are the sections of a snapshot of a graph with codes.
var graphTags = []string{tagHead, tagAlive, tagIDs, tagTable, tagRows, tagCodes, tagScales, tagNodes, tagLinks, tagSpill, tagTowers, tagPivots}

// rewritten is a snapshot with such sections, and another payload of v.pivots.
func rewritten(t *testing.T, data []byte, tags []string, change func(b []byte) []byte) *snapshot.File {
	t.Helper()
	f, err := snapshot.Parse(snapshottest.Rewritten(t, data, tags, func(i int, payload []byte) []byte {
		if tags[i] == tagPivots {
			return change(payload)
		}
		return payload
	}))
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func TestPivotsOfSnapshot(t *testing.T) {
	const dim = 13
	h, o, data, rows := savedPivots(t, dim)
	mustPivots(t, h, towers(h))
	f, err := snapshot.Parse(data)
	if err != nil {
		t.Fatal(err)
	}
	ix, err := Open(KindHNSWInt8, o, f)
	if err != nil {
		t.Fatal(err)
	}
	got := ix.(*hnsw)
	if !bytes.Equal(got.pivots.encode(), h.pivots.encode()) || got.pivots.lowest != h.pivots.lowest || !slices.Equal(got.pivots.ranks, h.pivots.ranks) {
		t.Fatal("other pivots after opening")
	}
	mustPivots(t, got, len(h.pivots.slots))
	with := got.Bytes().Graph
	got.pivots = pivots{}
	if each := (with - got.Bytes().Graph) / int64(len(h.pivots.slots)); each < (dim+7)/8+20 || each > (dim+7)/8+30 {
		t.Fatalf("%d bytes a pivot", each)
	}
	older, err := Open(KindHNSWInt8, o, rewritten(t, data, graphTags[:len(graphTags)-1], nil))
	if err != nil {
		t.Fatal(err)
	}
	old := older.(*hnsw)
	mustPivots(t, old, 0)
	if near, err := old.Search(nil, rows[:dim], SearchOptions{K: 1}); err != nil || len(near) != 1 || near[0].ID != 0 {
		t.Fatalf("%v, %v", near, err)
	}
	if err := old.Add(pivotIDs(2000, 300), rows[:300*dim]); err != nil {
		t.Fatal(err)
	}
	mustPivots(t, old, towers(old))
}

// TestPivotsMadeUp opens snapshots whose checksums are right and whose pivots are not.
func TestPivotsMadeUp(t *testing.T) {
	const dim = 13
	h, o, data, _ := savedPivots(t, dim)
	n := len(h.pivots.slots)
	numbers, slots := 12, 12+4*(dim+2*n)
	low := 0
	for h.height(uint32(low)) > 0 {
		low++
	}
	for name, change := range map[string]func(b []byte) []byte{
		"cut":          func(b []byte) []byte { return b[:len(b)-1] },
		"longer":       func(b []byte) []byte { return append(b, 0) },
		"head alone":   func(b []byte) []byte { return b[:12] },
		"too few":      func(b []byte) []byte { b[0], b[1] = 1, 0; return b },
		"too many":     func(b []byte) []byte { b[2] = 1; return b },
		"overdue":      func(b []byte) []byte { b[11] = 1; return b },
		"no number":    func(b []byte) []byte { copy(b[numbers:], []byte{0, 0, 0xc0, 0x7f}); return b },
		"no factor":    func(b []byte) []byte { copy(b[numbers+4*dim:], []byte{0, 0, 0x80, 0x7f}); return b },
		"twice":        func(b []byte) []byte { copy(b[slots:slots+4], b[slots+4:]); return b },
		"no slot":      func(b []byte) []byte { b[slots+3] = 1; return b },
		"on layer 0":   func(b []byte) []byte { b[slots], b[slots+1] = byte(low), byte(low>>8); return b },
		"another code": func(b []byte) []byte { b[len(b)-vec.SignBytes(dim)] ^= 1; return b },
	} {
		f := rewritten(t, data, graphTags, change)
		ix, err := Open(KindHNSWInt8, o, f)
		if name == "another code" && err == nil {
			err = ix.Verify(t.Context())
		}
		if !errors.Is(err, ErrCorrupt) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestPivotsUnderSearches deletes, replaces and adds pivots while searches begin at
// them.
func TestPivotsUnderSearches(t *testing.T) {
	const n, dim = 1500, 9
	rows := pivotRows(rand.New(rand.NewPCG(6, 6)), n, dim)
	h := newHNSW(KindHNSWInt8, Options{Dim: dim, Metric: Cosine, M: 2, EfConstruction: 10, Workers: 1, Ef: 16}, byInt8)
	if err := h.Add(pivotIDs(0, n), rows); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	var searches sync.WaitGroup
	for i := range 2 {
		searches.Go(func() {
			w := newWalker(h)
			for at := i; ctx.Err() == nil; at = (at + 7) % n {
				r := h.views.Acquire()
				w.begin(r.Value, rows[at*dim:(at+1)*dim], SearchOptions{K: 5})
				if _, err := h.searchGraph(w, 16); err != nil {
					t.Error(err)
				}
				r.Release()
			}
		})
	}
	for i := range 12 {
		h.Delete(pivotIDs(i*100, 100))
		if err := h.Add(pivotIDs(i*100+50, 150), rows[i*100*dim:(i*100+150)*dim]); err != nil {
			t.Fatal(err)
		}
	}
	stop()
	searches.Wait()
	mustPivots(t, h, min(mostPivots, towers(h)))
}
