package index

import (
	"fmt"
	"math"
	"slices"
	"sync"

	"github.com/lexsem/lexsem/internal/section"
)

// KindHNSW is a hierarchical navigable small world graph (Malkov and Yashunin,
// "Efficient and robust approximate nearest neighbor search using Hierarchical
// Navigable Small World graphs", 2016): searches look at a few hundred vectors
// instead of all. The answer may miss some true neighbours; SearchOptions.Ef
// trades that against time. Where comparing with every vector is as cheap, a
// search does so and is exact: in small indexes, for a large K or Ef, and for
// filters that let few pass.
//
// The graph differs from the paper's in three points.
//
//   - A spanning tree whose edges go both ways lies within layer 0 and is never
//     pruned. So every node can be reached from every other at all times,
//     whatever was added, replaced or deleted in whatever order, duplicates and
//     outliers included; a repair pass is not needed. A new node hangs on its
//     nearest neighbour with room; when nodes go, the parts are tied together
//     again. The average node has two such edges out of 2·M links.
//   - Deleting takes a node out of the graph: each node that linked to it
//     chooses anew among its other links and those of the deleted, and the slot
//     is used again. To find those nodes, links are known from both ends.
//   - Adds work in batches of up to 64: the candidates of all are searched for
//     in parallel in the graph as it is, those of the same batch are compared
//     one by one, then the links are set. The graph so depends on the calls and
//     the seed, not on the number of goroutines.
//
// One writer works at a time. It prepares its changes beside the searches and
// locks them out only while it writes links down, some microseconds at a time.
// Memory beside the vectors is 8·M bytes for the links of a node, which those
// who link here share, and about 80 more.
var KindHNSW = registerKind("hnsw", kind{
	new: func(o Options) Index { return newHNSW(o, false) },
	load: func(o Options, r *section.Reader, keep bool) (Index, error) {
		return loadHNSW(newHNSW(o, false), r, keep)
	},
})

// KindHNSWInt8 is KindHNSW with int8 codes beside the vectors, and a search
// that walks by the codes and then compares the vectors of the best it came by:
// K, and as many more as may be among them for what the codes tell. Where it compares with every vector instead, it
// does so like KindFlatInt8 and is exact. Building takes about half the time
// and searching less than half; Dim + 4 bytes a vector come on top (+ 8 under
// dot and l2). Codes are rounded against the largest component of a vector, so
// under l2 it serves vectors that are not much longer than the distances
// between them.
var KindHNSWInt8 = registerKind("hnsw-int8", kind{
	new: func(o Options) Index { return newHNSW(o, true) },
	load: func(o Options, r *section.Reader, keep bool) (Index, error) {
		return loadHNSW(newHNSW(o, true), r, keep)
	},
})

type hnsw struct {
	o Options
	m *metric

	// write is held by Add, Delete and WriteTo from beginning to end. What
	// searches read changes only under mu as well.
	write sync.Mutex
	mu    sync.RWMutex

	rows   arena[float32]
	codes  *codes // nil without
	nodes  []*nodes
	n      int     // slots ever used
	live   int     // nodes that searches may return
	hidden int     // nodes in the graph that they may not
	slots  idTable // of live nodes
	entry  uint32  // a node on the highest layer
	top    int     // that layer; -1 if there is no node

	free    []uint32  // slots to use again; the writer's
	plans   []plan    // kept for their space; the writer's
	gone    []uint32  // likewise
	come    []uint32  // likewise
	walkers sync.Pool // of *walker
}

func newHNSW(o Options, coded bool) *hnsw {
	h := &hnsw{o: o, m: metrics[o.Metric], rows: newArena[float32](o.Dim), top: -1}
	h.slots.id = h.id
	if coded {
		h.codes = newCodes(o.Dim, h.m)
	}
	h.walkers.New = func() any { return newWalker(h) }
	return h
}

func (h *hnsw) kind() string {
	if h.codes != nil {
		return KindHNSWInt8
	}
	return KindHNSW
}

func (h *hnsw) Dim() int { return h.o.Dim }

// query views a stored vector as a query.
func (h *hnsw) query(slot uint32) query {
	row := h.rows.row(slot)
	if h.codes == nil {
		return query{row: row}
	}
	return h.codes.query(slot, row)
}

func (h *hnsw) Len() int {
	h.mu.RLock()
	defer h.mu.RUnlock()
	return h.live
}

// limit is the number of links a node may have on a layer.
func (h *hnsw) limit(layer int) int {
	if layer == 0 {
		return 2 * h.o.M
	}
	return h.o.M
}

// maxLayer bounds the layers whatever the random numbers say.
const maxLayer = 31

// layerOf draws the highest layer of a node: l with probability ~ M^-l. It
// depends on seed and id alone.
func (h *hnsw) layerOf(id uint64) int {
	x := id ^ h.o.Seed*0x9e3779b97f4a7c15 // splitmix64
	for range 2 {
		x += 0x9e3779b97f4a7c15
		x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
		x = (x ^ x>>27) * 0x94d049bb133111eb
		x ^= x >> 31
	}
	u := (float64(x>>11) + 1) / (1 << 53) // (0, 1]
	return min(maxLayer, int(-math.Log(u)/math.Log(float64(h.o.M))))
}

func (h *hnsw) Add(ids []uint64, vectors []float32) error {
	if err := h.m.checkRows(len(ids), vectors, h.o.Dim); err != nil {
		return err
	}
	h.write.Lock()
	defer h.write.Unlock()
	if h.live+len(ids) > MaxLen {
		return fmt.Errorf("%d vectors and %d more: %w", h.live, len(ids), ErrFull)
	}
	last := make(map[uint64]int, len(ids)) // of an id given twice, the last vector counts
	for i, id := range ids {
		last[id] = i
	}
	rows, fresh := make([]int, 0, len(last)), -len(h.free)
	for i, id := range ids {
		if last[id] != i {
			continue
		}
		rows = append(rows, i)
		if _, ok := h.slots.get(id); !ok {
			fresh++
		}
	}
	h.grow(h.n + max(0, fresh)) // at once, for large slabs without slack
	for len(rows) > 0 {
		n := min(len(rows), 1+h.live/32, 64)
		h.insert(ids, vectors, rows[:n])
		rows = rows[n:]
	}
	return nil
}

func (h *hnsw) Delete(ids []uint64) int {
	h.write.Lock()
	defer h.write.Unlock()
	var gone []uint32
	h.mu.Lock()
	for _, id := range ids {
		if slot, ok := h.slots.get(id); ok {
			h.slots.drop(id)
			h.hide(slot)
			gone = append(gone, slot)
		}
	}
	h.mu.Unlock()
	h.unlink(gone)
	return len(gone)
}

// hide makes a live node invisible; it still leads to others.
func (h *hnsw) hide(slot uint32) {
	h.node(slot).state[slot&nodeMask] = hidden
	h.live--
	h.hidden++
}

func (h *hnsw) Scores(dst []float32, q []float32, ids []uint64) error {
	if len(dst) != len(ids) {
		return fmt.Errorf("room for %d scores of %d ids: %w", len(dst), len(ids), ErrLength)
	}
	if err := h.m.checkQuery(q, h.o.Dim); err != nil {
		return err
	}
	w := h.walkers.Get().(*walker)
	defer h.walkers.Put(w)
	h.m.put(w.q.row, q)
	h.mu.RLock()
	defer h.mu.RUnlock()
	scores(dst, ids, &w.g, &h.slots)
	return nil
}

// SearchBatch runs single searches in parallel.
func (h *hnsw) SearchBatch(dst [][]Neighbor, queries []float32, o SearchOptions) error {
	if o.K < 1 {
		return fmt.Errorf("k is %d: %w", o.K, ErrBadK)
	}
	if err := h.m.checkRows(len(dst), queries, h.o.Dim); err != nil {
		return fmt.Errorf("queries: %w", err)
	}
	return searchEach(h, h.o.Workers, dst, queries, o)
}

// sortCands orders by distance, ties by slot.
func sortCands(c []cand) {
	slices.SortFunc(c, func(a, b cand) int {
		switch {
		case a.d < b.d || a.d == b.d && a.slot < b.slot:
			return -1
		case a == b:
			return 0
		}
		return 1
	})
}
