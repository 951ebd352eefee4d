package index

import (
	"context"
	"fmt"
	"math"
	"slices"
	"sync"

	"github.com/lexsem/lexsem/internal/snapshot"
)

// KindHNSW is a hierarchical navigable small world graph (Malkov and Yashunin 2016): a search reads
// a few hundred vectors instead of all. It may miss true neighbours; SearchOptions.Ef trades recall
// against time. It compares with every vector, and is exact, if that costs no more: in small
// indexes, for a large K or Ef, and for narrow filters.
//
// It differs from the paper in four points:
//
//   - Searches start on layer 0 at the nearest of up to 1,024 pivots, found by one-bit codes. The
//     upper layers serve machines without a kernel for these codes, and the linking of new nodes.
//   - Layer 0 contains a spanning tree whose edges go both ways and are never pruned. So every node
//     can be reached from every other after any adds, updates and deletes, without a repair pass.
//   - Delete removes a node. The nodes that linked to it choose new links from their own and the
//     deleted node's neighbours, and its slot is used again.
//   - Add works in batches of up to 64 that are searched in parallel and linked together. The graph
//     depends on calls and Seed, not on the number of goroutines.
//
// One writer works at a time and locks searches out only while it writes links, for microseconds.
// Memory in addition to the vectors: 8·M bytes of links and about 50 more a vector, and Dim/8 + 20
// a pivot. A search that runs while an id gets another vector may miss that id. Equal calls give
// equal graphs only if no search runs meanwhile.
var KindHNSW = registerKind("hnsw", kind{new: func(o Options) Index { return newHNSW("hnsw", o, noCodes) }})

// KindHNSWInt8 is KindHNSW with int8 codes. A search walks the graph by codes and then compares the
// vectors of the best K, and of all that may belong to them within the error of the codes. If it
// compares with every vector, it works like KindFlatInt8 and is exact. Building takes about half
// the time of KindHNSW, searching less than half; it takes Dim + 4 bytes a vector more (+ 8 under
// dot and l2). Under l2 it suits vectors that are not much longer than the distances between them.
var KindHNSWInt8 = registerKind("hnsw-int8", kind{new: func(o Options) Index { return newHNSW("hnsw-int8", o, byInt8) }})

// KindHNSWCompact is KindHNSWInt8 for more vectors than fit in memory: codes of four bits, and an M
// of 12 if Options.M is 0. Searches of an index opened from a snapshot read (Dim+1)/2 + 5 bytes a
// vector (+ 4 under dot and l2) and about 145 for links and positions. The float32 vectors stay in
// the file. They are read for the best K of a query and for those that may be as near within the
// error of the codes. Vectors added later are in memory until the index is saved and opened again,
// or Index.Remap is called. Recall at an equal Ef is that of hnsw-int8 with the same M.
var KindHNSWCompact = registerKind("hnsw-compact", kind{links: 12, new: func(o Options) Index { return newHNSW("hnsw-compact", o, byInt4) }})

// KindHNSWFast is KindHNSWCompact with more and better chosen links: M is 20 and EfConstruction is
// 600 if Options say 0. For vectors of texts it is the fastest kind at high recall. It takes about
// twice the time of KindHNSWInt8 to build and 64 bytes a vector more than KindHNSWCompact.
var KindHNSWFast = registerKind("hnsw-fast", kind{links: 20, pool: 600, new: func(o Options) Index { return newHNSW("hnsw-fast", o, byInt4) }})

type hnsw struct {
	base

	// mu is held for writing while links are written down, for some microseconds
	// at a time, and for reading by walks, for 64 nodes at a time. A node that a
	// walk has seen may go meanwhile, but no other takes its slot: slots are used
	// again only when every search has ended that was there when they became
	// vacant.
	mu     sync.RWMutex
	nodes  []*nodes
	n      int      // slots ever used
	saved  []uint64 // a bit for each slot that was live in the snapshot
	entry  uint32   // a node on the highest layer
	top    int      // that layer; -1 if there is no node
	lazy   *lazy    // links that lie in a snapshot; nil if there are none
	pivots pivots   // where searches begin

	tail      []uint32         // live slots that the graph lacks, in the order in which they are linked; the writer's
	hidden    int              // nodes in the graph that are not live; the writer's
	free      vacancies        // slots to use again; the writer's
	plans     []plan           // kept for their space; the writer's
	gone      []uint32         // likewise
	come      []uint32         // likewise
	settled   bool             // the writer may change links; see settle
	unspilled *snapshot.Reader // back-links that have not been read yet
	walkers   sync.Pool        // of *walker

	freedMu sync.Mutex
	freed   []uint32 // slots on their way to free
}

func newHNSW(kind string, o Options, by coding) *hnsw {
	h := &hnsw{top: -1, settled: true}
	h.init(kind, o, by)
	h.walkers.New = func() any { return newWalker(h) }
	return h
}

// limit is the number of links a node may have on a layer.
func (h *hnsw) limit(layer int) int {
	if layer == 0 {
		return 2 * h.o.M
	}
	return h.o.M
}

// maxLayer is the highest layer, even for extreme random numbers.
const maxLayer = 31

// rank orders nodes by height: the highest have the lowest rank. It depends on seed and id alone.
func (h *hnsw) rank(id uint64) uint64 {
	x := id ^ h.o.Seed*0x9e3779b97f4a7c15 // splitmix64
	for range 2 {
		x += 0x9e3779b97f4a7c15
		x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
		x = (x ^ x>>27) * 0x94d049bb133111eb
		x ^= x >> 31
	}
	return x >> 11
}

// layerOf is the highest layer of a node: l with probability ~ M^-l.
func (h *hnsw) layerOf(id uint64) int {
	u := (float64(h.rank(id)) + 1) / (1 << 53) // (0, 1]
	return min(maxLayer, int(-math.Log(u)/math.Log(float64(h.o.M))))
}

func (h *hnsw) Add(ids []uint64, vectors []float32) error {
	return h.AddContext(context.Background(), ids, vectors)
}

func (h *hnsw) AddContext(ctx context.Context, ids []uint64, vectors []float32) error {
	if err := h.m.checkRows(len(ids), vectors, h.o.Dim); err != nil {
		return err
	}
	h.write.Lock()
	defer h.write.Unlock()
	if h.now.live+len(ids) > maxLen {
		return fmt.Errorf("%d vectors and %d more: %w", h.now.live, len(ids), errFull)
	}
	rows := lastOf(ids)
	h.collect()
	fresh := 0
	for _, r := range rows {
		if _, ok := h.slots.get(ids[r]); !ok {
			fresh++
		}
	}
	if h.o.Tail == 0 || fresh < len(rows) {
		if err := h.settle(); err != nil {
			return err
		}
	}
	h.grow(h.n + max(0, fresh-h.free.within(h.owned, h.n))) // at once, for large slabs without slack
	if h.o.Tail > 0 {
		grown := len(h.tail) > h.o.Tail // which only Grow leaves, and Link shortens
		if err := h.await(ctx, ids, vectors, rows); err != nil || grown {
			return err
		}
		return h.shorten(ctx, h.o.Tail)
	}
	if err := h.shorten(ctx, 0); err != nil { // one that was saved
		return err
	}
	for len(rows) > 0 {
		n := min(len(rows), h.batch())
		if err := h.insert(ctx, ids, vectors, rows[:n]); err != nil {
			return err
		}
		rows = rows[n:]
	}
	return nil
}

func (h *hnsw) Delete(ids []uint64) int {
	if len(ids) == 0 { // links may go on lying in a snapshot, unread
		return 0
	}
	h.write.Lock()
	defer h.write.Unlock()
	sound := h.settle() == nil // else the nodes stay where they are, and searches tell
	n := 0
	var gone []uint32
	for len(ids) > 0 {
		e := h.now.edit()
		gone = gone[:0]
		for len(ids) > 0 && len(gone) < unlinkBatch {
			if slot, ok := h.slots.get(ids[0]); ok {
				h.slots.drop(ids[0])
				e.clear(slot)
				gone = append(gone, slot)
			}
			ids = ids[1:]
		}
		h.hide(gone)
		e.tail = h.tail
		h.publish(e.done(), nil)
		if sound {
			h.unlink(gone)
			sound = h.shorten(context.Background(), len(h.tail)) == nil
		}
		n += len(gone)
	}
	return n
}

// hide marks live nodes as no longer returned; those in the graph still lead to others.
func (h *hnsw) hide(slots []uint32) {
	waited := false
	for _, slot := range slots {
		waited = waited || h.state(slot) == waiting
		h.setState(slot, hidden)
	}
	h.hidden += len(slots)
	if waited { // a copy, since views have the old one
		h.tail = slices.DeleteFunc(slices.Clone(h.tail), func(s uint32) bool { return h.state(s) != waiting })
	}
}

// giveUp makes vacant slots reusable once no running search can meet them.
func (h *hnsw) giveUp(slots []uint32) {
	slots = slices.Clone(slots)
	same := *h.now
	h.publish(&same, func() {
		h.freedMu.Lock()
		h.freed = append(h.freed, slots...)
		h.freedMu.Unlock()
	})
}

// collect gathers the slots that have become reusable.
func (h *hnsw) collect() {
	h.freedMu.Lock()
	h.release(h.freed...)
	h.freed = h.freed[:0]
	h.freedMu.Unlock()
}

func (h *hnsw) Bytes() Memory {
	m := h.bytes()
	m.Tables += 4 * int64(h.Unlinked())
	h.mu.RLock()
	m.Graph += h.pivots.bytes()
	h.mu.RUnlock()
	for c := 0; ; c++ {
		n, ok := h.chunkBytes(c)
		if !ok {
			return m
		}
		m.Graph += n
	}
}

// chunkBytes is the memory of a chunk of nodes, if it exists.
func (h *hnsw) chunkBytes(c int) (n int64, ok bool) {
	h.mu.RLock()
	defer h.mu.RUnlock()
	if c >= len(h.nodes) {
		return 0, false
	}
	return h.nodes[c].bytes(), true
}

// SearchBatch runs single searches in parallel.
func (h *hnsw) SearchBatch(dst [][]Neighbor, queries []float32, o SearchOptions) error {
	if o.K < 1 {
		return fmt.Errorf("k is %d: %w", o.K, errBadK)
	}
	if err := h.m.checkRows(len(dst), queries, h.o.Dim); err != nil {
		return fmt.Errorf("queries: %w", err)
	}
	return h.searchEach(h, dst, queries, o)
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
