package index

import (
	"context"
	"errors"
	"fmt"
	"slices"
)

func (f *flat) Verify(ctx context.Context) error {
	f.write.Lock()
	defer f.write.Unlock()
	return f.verify(ctx)
}

// verify checks that all memory is sound and that ids and live slots agree.
func (b *base) verify(ctx context.Context) error {
	v := b.now
	for c, rows := range v.mem.rows.chunks {
		if err := ctx.Err(); err != nil {
			return err
		}
		if rows == nil || c<<v.mem.rows.bits >= v.n {
			continue
		}
		if err := v.mem.check(c); err != nil {
			return err
		}
		if err := v.checkCodes(c); err != nil {
			return err
		}
	}
	n := 0
	var err error
	v.each(func(slot uint32) bool {
		if n++; n&0xffff == 0 {
			err = ctx.Err()
		}
		id := v.mem.id(slot)
		if s, ok := b.slots.get(id); err == nil && (!ok || s != slot) {
			err = fmt.Errorf("id %d is not where it should be: %w", id, ErrCorrupt)
		}
		return err == nil
	})
	if table := int(b.slots.n.Load()); err == nil && (n != v.live || n != table) {
		err = fmt.Errorf("%d slots are live, %d in the view, %d ids: %w", n, v.live, table, ErrCorrupt)
	}
	return err
}

func (h *hnsw) Verify(ctx context.Context) error {
	h.write.Lock()
	defer h.write.Unlock()
	if err := h.base.verify(ctx); err != nil {
		return err
	}
	return h.verify(ctx)
}

// Unreachable counts in one walk over the graph, while Add and Delete wait.
func (h *hnsw) Unreachable(ctx context.Context) (int, error) {
	h.write.Lock()
	defer h.write.Unlock()
	if h.now.live == 0 || h.checkLinks(ctx) != nil { // damage is for Verify to tell
		return 0, ctx.Err()
	}
	n, err := h.reach(ctx, h.entry, func(slot uint32) []uint32 { return h.links(slot, 0) })
	if err != nil {
		return 0, err
	}
	return h.now.live - len(h.tail) - n, nil
}

// Unreachable is 0: a scan finds every vector.
func (f *flat) Unreachable(context.Context) (int, error) { return 0, nil }

// verify checks the graph.
func (h *hnsw) verify(ctx context.Context) error {
	if err := h.checkLinks(ctx); err != nil {
		return err
	}
	h.collect()
	var errs []error
	bad := func(format string, args ...any) {
		if len(errs) < 10 {
			errs = append(errs, fmt.Errorf("%s: %w", fmt.Sprintf(format, args...), ErrCorrupt))
		}
	}
	count, tail, edges, top, out, in := 0, 0, 0, -1, 0, 0
	var ins []uint32
	mark := make([]int, h.n) // the last list that held a node
	held := make([]int, h.n) // likewise, of links
	for i := range h.n {
		slot := uint32(i)
		if i&nodeMask == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		if state := h.state(slot); (state == live || state == waiting) != h.now.has(slot) {
			bad("node %d is live for searches or for the graph alone", slot)
		}
		if h.state(slot) == vacant {
			continue
		}
		if h.state(slot) == waiting {
			if h.height(slot) > 0 || len(h.links(slot, 0)) > 0 || len(h.appendIn(ins[:0], slot, 0)) > 0 {
				bad("node %d is in the graph and beside it", slot)
			}
			tail++
			continue
		}
		if h.state(slot) != live {
			bad("node %d is neither live nor vacant", slot)
		}
		count++
		top = max(top, h.height(slot))
		edges += h.treeDegree(slot)
		for layer := range h.height(slot) + 1 {
			h.verifyLinks(slot, layer, held, bad)
			out += len(h.links(slot, layer))
			// In entries that are all different and all true, and as many of
			// them as there are links: then every link has its entry.
			lists := (i+1)*(maxLayer+1) + layer
			ins = h.appendIn(ins[:0], slot, layer)
			for _, s := range ins {
				in++
				if int(s) >= h.n || mark[s] == lists || h.height(s) < layer || !slices.Contains(h.links(s, layer), slot) {
					bad("node %d wrongly believes that %d links to it on layer %d", slot, s, layer)
					continue
				}
				mark[s] = lists
			}
		}
	}
	if tail != len(h.tail) || !slices.Equal(h.tail, h.now.tail) {
		bad("%d nodes beside the graph, %d of them for the writer and %d for searches", tail, len(h.tail), len(h.now.tail))
	}
	if count+tail != h.now.live || h.hidden != 0 || count+tail+h.free.n > h.n {
		bad("%d nodes, %d live, %d hidden, %d of %d slots free", count, h.now.live, h.hidden, h.free.n, h.n)
	}
	if in != out {
		bad("%d links are known as %d from the other end", out, in)
	}
	if count > 0 {
		if top != h.top || int(h.entry) >= h.n || h.state(h.entry) != live || h.height(h.entry) != top {
			bad("entry %d is not on the highest layer, %d", h.entry, top)
		} else if r, err := h.reach(ctx, h.entry, h.tree); err != nil {
			return err
		} else if r != count || edges != 2*(count-1) {
			bad("spanning tree of %d edges reaches %d of %d nodes", edges/2, r, count)
		}
	} else if h.top != -1 {
		bad("empty graph has an entry")
	}
	if err := h.verifyPivots(ctx, bad); err != nil {
		return err
	}
	return errors.Join(errs...)
}

// verifyLinks checks the links of one node on one layer. held records for each node the
// last list that contained it.
func (h *hnsw) verifyLinks(slot uint32, layer int, held []int, bad func(string, ...any)) {
	links := h.links(slot, layer)
	if len(links) > h.limit(layer) {
		bad("node %d has %d links on layer %d", slot, len(links), layer)
	}
	list := (int(slot)+1)*(maxLayer+1) + layer
	for i, s := range links {
		switch {
		case int(s) >= h.n || h.state(s) == vacant || h.height(s) < layer:
			bad("node %d links to %d, which is not on layer %d", slot, s, layer)
		case s == slot || held[s] == list:
			bad("node %d links to itself or twice to %d on layer %d", slot, s, layer)
		case layer == 0 && i < h.treeDegree(slot) && !slices.Contains(h.tree(s), slot):
			bad("tree edge from %d to %d goes one way", slot, s)
		}
		if int(s) < h.n {
			held[s] = list
		}
	}
}

// reach counts the nodes that can be reached from slot along the given links.
func (h *hnsw) reach(ctx context.Context, slot uint32, links func(uint32) []uint32) (int, error) {
	seen := make([]bool, h.n)
	seen[slot] = true
	n := 0
	for stack := []uint32{slot}; len(stack) > 0; n++ {
		if n&nodeMask == 0 && ctx.Err() != nil {
			return n, ctx.Err()
		}
		s := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		for _, t := range links(s) {
			if !seen[t] {
				seen[t] = true
				stack = append(stack, t)
			}
		}
	}
	return n, nil
}
