package index

import (
	"context"
	"slices"
	"sync/atomic"
)

// plan lists the links that a node will get.
type plan struct {
	slot  uint32
	fresh bool       // the node is new
	links [][]uint32 // by layer
	tree  int        // how many of links[0], from the first, are tree edges
	pool  []cand     // candidates on layer 0, ascending
}

// edit is a new list of links for one node on one layer.
type edit struct {
	slot  uint32
	layer int
	links []uint32
	tree  int // on layer 0
}

// insert adds the given rows, each id once, as one batch. In an empty graph it must be a
// single row. On an error, which is the context's or ErrCorrupt, no row is added.
func (h *hnsw) insert(ctx context.Context, ids []uint64, vectors []float32, rows []int) error {
	plans, err := h.seat(ids, vectors, rows)
	if err != nil {
		return err
	}
	if err = h.link(ctx, plans); err != nil {
		h.vacate(plans)
	}
	return err
}

// seat assigns slots to rows. On an error, which is ErrCorrupt, no row has a slot.
func (h *hnsw) seat(ids []uint64, vectors []float32, rows []int) ([]plan, error) {
	plans := h.takePlans(len(rows))
	h.collect()
	again := h.free.take(len(rows), h.owned, h.n)
	n := h.n + len(rows) - len(again)
	h.grow(n)
	for i := range plans {
		p := &plans[i]
		p.fresh, p.slot = true, uint32(h.n+i-len(again))
		if i < len(again) {
			p.slot = again[i]
		}
	}
	h.mu.Lock()
	h.n = n
	h.mu.Unlock()
	if err := h.place(plans, ids, vectors, rows); err != nil {
		h.vacate(plans)
		return nil, err
	}
	return plans, nil
}

// vacate frees the slots of nodes that were not linked.
func (h *hnsw) vacate(plans []plan) {
	for i := range plans {
		h.release(plans[i].slot)
	}
}

// link links placed nodes into the graph. On an error, which is the context's or
// ErrCorrupt, it links none.
func (h *hnsw) link(ctx context.Context, plans []plan) error {
	h.mu.Lock() // for Bytes; no search looks at these nodes yet
	for i := range plans {
		slot := plans[i].slot
		if l := h.layerOf(h.id(slot)); l > 0 {
			h.setTower(slot, newTower(l))
		}
	}
	h.mu.Unlock()
	if err := h.eachWalker(ctx, len(plans), func(w *walker, i int) { h.planInsert(w, &plans[i], plans[:i]) }); err != nil {
		h.mu.Lock()
		for i := range plans {
			slot := plans[i].slot
			h.setTower(slot, nil)
		}
		h.mu.Unlock()
		return err
	}
	h.hang(plans)
	h.connect(plans)
	h.unlink(h.show(plans))
	return nil
}

func (h *hnsw) takePlans(n int) []plan {
	for len(h.plans) < n {
		h.plans = append(h.plans, plan{})
	}
	return h.plans[:n]
}

// eachWalker runs f for all i < n on the writer's goroutines. After an error, the
// context's or ErrCorrupt, some calls were not made or used damaged vectors. Walkers need
// no lock here, since links do not change.
func (h *hnsw) eachWalker(ctx context.Context, n int, f func(w *walker, i int)) error {
	var bad atomic.Pointer[error]
	mem := h.mem.Load()
	h.parallel(n, func(i int) {
		w := h.walkers.Get().(*walker)
		defer h.walkers.Put(w)
		defer w.end()
		w.mem, w.o.Ctx, w.err = mem, ctx, ctx.Err()
		if w.err == nil {
			if err := guarded(func() error { f(w, i); return nil }); err != nil {
				w.err = err
			}
		}
		if err := w.err; err != nil {
			bad.Store(&err)
		}
	})
	if err := bad.Load(); err != nil {
		return *err
	}
	return nil
}

// mend is eachWalker for work that must be done. A link chosen with damaged vectors may
// be poor, but the graph stays consistent, and searches that meet the damage report it.
func (h *hnsw) mend(n int, f func(w *walker, i int)) {
	_ = h.eachWalker(context.Background(), n, f)
}

// planInsert finds candidates for a new node in the graph and among the earlier nodes of
// its batch, and chooses its links (algorithm 1).
func (h *hnsw) planInsert(w *walker, p *plan, mates []plan) {
	q := w.mem.query(p.slot, w.q.code)
	height := h.height(p.slot)
	for len(p.links) <= height {
		p.links = append(p.links, nil)
	}
	p.links = p.links[:height+1]
	p.pool = p.pool[:0]
	p.tree = 0
	from := w.from[:0]
	if h.top >= 0 {
		from = append(from, w.descend(&q, height))
		w.from = from
	}
	for layer := height; layer >= 0; layer-- {
		pool := w.pool[:0]
		if layer <= h.top {
			w.anew()
			pool = w.walk(&q, from, h.o.EfConstruction, layer)
			from = append(from[:0], pool[0])
		}
		near := w.near[:0]
		for i := range mates { // no copies: the rest of a plan is being written
			if s := mates[i].slot; h.height(s) >= layer {
				near = append(near, s)
			}
		}
		w.near = near
		for i, d := range w.distances(&q, near) {
			pool, _ = insertCand(pool, cand{d, near[i]}, len(pool)+1)
		}
		w.pool = pool
		p.links[layer] = append(p.links[layer][:0], w.choose(nil, pool, h.o.M)...)
		if layer == 0 {
			p.pool = append(p.pool, pool...)
		}
	}
}

// hang attaches each new node to the spanning tree.
func (h *hnsw) hang(plans []plan) {
	extra := map[uint32]int{}
	for i := range plans {
		p := &plans[i]
		if len(p.pool) == 0 {
			continue // the first node of all
		}
		parent := h.parent(p.pool, extra)
		extra[parent]++
		extra[p.slot]++
		l := p.links[0]
		at := slices.Index(l, parent)
		if at < 0 {
			at = len(l)
			l = append(l, parent)
		}
		l[0], l[at] = l[at], l[0]
		p.links[0], p.tree = l, 1
	}
}

// connect sets the links of the planned nodes and adds the links back from their
// neighbours.
func (h *hnsw) connect(plans []plan) {
	type back struct {
		to    uint32
		layer int
		plan  int
	}
	var backs []back
	planned := make(map[uint32]*plan, len(plans))
	for i := range plans {
		p := &plans[i]
		planned[p.slot] = p
		for layer, links := range p.links {
			for _, s := range links {
				backs = append(backs, back{s, layer, i})
			}
		}
	}
	slices.SortFunc(backs, func(a, b back) int {
		if a.to != b.to {
			return int(a.to) - int(b.to)
		}
		if a.layer != b.layer {
			return a.layer - b.layer
		}
		return a.plan - b.plan
	})
	var groups [][]back
	for len(backs) > 0 {
		n := 1
		for n < len(backs) && backs[n].to == backs[0].to && backs[n].layer == backs[0].layer {
			n++
		}
		groups = append(groups, backs[:n])
		backs = backs[n:]
	}
	edits := make([]edit, len(groups))
	h.mend(len(groups), func(w *walker, i int) {
		g, e := groups[i], &edits[i]
		e.slot, e.layer = g[0].to, g[0].layer
		var old []uint32
		if p := planned[e.slot]; p != nil {
			old, e.tree = p.links[e.layer], p.tree
		} else {
			old, e.tree = h.links(e.slot, e.layer), h.treeDegree(e.slot)
		}
		if e.layer > 0 {
			e.tree = 0
		}
		e.links = append(e.links, old[:e.tree]...)
		rest := append(w.queue[:0], old[e.tree:]...)
		for _, b := range g {
			p := &plans[b.plan]
			switch {
			case slices.Contains(old, p.slot): // linked already
			case p.fresh && e.layer == 0 && p.links[0][0] == e.slot:
				e.links = append(e.links, p.slot)
				e.tree++
			default:
				rest = append(rest, p.slot)
			}
		}
		w.queue = rest
		h.complete(w, e, rest)
	})
	h.each(len(plans), func(i int) {
		p := &plans[i]
		for layer, links := range p.links {
			h.setLinks(p.slot, layer, links)
		}
		h.setTree(p.slot, p.tree)
		if p.fresh {
			h.setState(p.slot, hidden)
			h.hidden++
		}
	})
	h.apply(edits)
}

// complete adds rest to the links of e: all if there is room, else the best.
func (h *hnsw) complete(w *walker, e *edit, rest []uint32) {
	limit := h.limit(e.layer)
	if len(e.links)+len(rest) <= limit {
		e.links = append(e.links, rest...)
		return
	}
	q := w.mem.query(e.slot, w.q.code)
	pool := w.rank(&q, rest)
	e.links = append(e.links[:0], w.choose(e.links, pool, limit)...)
}

// each calls f(i) for all i < n. It locks searches out for a few calls at a time, so that
// none waits long.
func (h *hnsw) each(n int, f func(i int)) {
	const perLock = 16
	for from := 0; from < n; from += perLock {
		h.mu.Lock()
		for i := from; i < min(n, from+perLock); i++ {
			f(i)
		}
		h.mu.Unlock()
	}
}

// apply carries out edits.
func (h *hnsw) apply(edits []edit) {
	h.each(len(edits), func(i int) {
		e := &edits[i]
		h.setLinks(e.slot, e.layer, e.links)
		if e.layer == 0 {
			h.setTree(e.slot, e.tree)
		}
	})
}

// show makes the new nodes visible and, in the same step, hides the nodes whose ids they
// take over, which it returns.
func (h *hnsw) show(plans []plan) (gone []uint32) {
	e := h.now.edit()
	e.mem = h.mem.Load()
	for i := range plans {
		slot := plans[i].slot
		id := h.id(slot)
		if old, ok := h.slots.get(id); !ok || old != slot { // else it was in the tail
			if ok {
				e.clear(old)
				gone = append(gone, old)
			}
			h.slots.put(id, slot)
			e.set(slot)
		}
		if h.state(slot) == waiting {
			continue // it stays outside the graph
		}
		h.setState(slot, live)
		h.hidden--
		if height := h.height(slot); height > h.top {
			h.mu.Lock()
			h.entry, h.top = slot, height
			h.mu.Unlock()
		}
		h.promote(slot)
	}
	h.hide(gone)
	e.tail = h.tail
	h.publish(e.done(), nil)
	return gone
}
