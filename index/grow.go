package index

import (
	"context"
	"fmt"
)

// Grow makes a graph, with kind and options as for New, over the vectors of a flat index that
// visible accepts (nil for all). Vectors, and codes that both kinds have, are shared, not copied;
// later writes first copy a chunk of 1,024 vectors or 2 MiB. Both indexes can then be used and
// changed independently. If the flat index reads from a snapshot, the snapshot must stay open as
// long as the graph.
//
// With Options.Tail all vectors but one start in the unlinked buffer, so the graph is usable at
// once. Searches compare the whole buffer until Linker.Link has linked enough.
//
// The flat index can be used meanwhile; the graph gets its state at the start of the call. Errors:
// those of New; ErrMismatch if dimension or metric differ or the index is not flat; ErrCorrupt;
// that of ctx, checked with every vector.
func Grow(ctx context.Context, from Index, kind string, o Options, visible func(id uint64) bool) (Index, error) {
	ix, err := New(kind, o)
	if err != nil {
		return nil, err
	}
	h, ok := ix.(*hnsw)
	f, flat := from.(*flat)
	if !ok || !flat || f.o.Dim != h.o.Dim || f.o.Metric != h.o.Metric {
		return nil, fmt.Errorf("a %s of dimension %d cannot be grown from this index: %w", kind, o.Dim, ErrMismatch)
	}
	r := f.views.Acquire()
	defer r.Release()
	g := &grower{h: h, saver: *newSaver(r.Value, true)}
	if err := g.adopt(); err != nil {
		return nil, err
	}
	if err := g.grow(ctx, visible); err != nil {
		return nil, err
	}
	return h, nil
}

// grower makes a graph from the data that a saver would write.
type grower struct {
	h *hnsw
	saver
}

// adopt gives the graph the memory of the flat index, and copies the chunks that are not full,
// since the flat index may still write to them.
func (g *grower) adopt() error {
	b, x := &g.h.base, g.v.mem
	mem := *b.mem.Load()
	mem.ids = adopted(g, &x.ids)
	mem.rows = adopted(g, &x.rows)
	switch {
	case mem.coded && mem.codes.by == x.codes.by:
		mem.codes.rows = adopted(g, &x.codes.rows)
		mem.codes.scales = adopted(g, &x.codes.scales)
		if !x.m.unit {
			mem.codes.norms = adopted(g, &x.codes.norms)
		}
	case mem.coded:
		mem.codes = mem.codes.grown(len(mem.rows.chunks) << mem.rows.bits)
		if err := g.encode(&mem); err != nil {
			return err
		}
	}
	b.owned, b.wrote = make([]bool, len(mem.rows.chunks)), make([]uint64, len(mem.rows.chunks))
	g.chunks(func(i, _, n int) { b.owned[i] = n < 1<<x.rows.bits })
	b.mem.Store(&mem)
	return nil
}

// adopted returns an arena with the chunks of g, renumbered.
func adopted[T float32 | int8 | uint64](g *grower, from *arena[T]) arena[T] {
	a := arena[T]{dim: from.dim, bits: from.bits}
	var were []place
	g.chunks(func(_, slot, n int) {
		c := slot >> from.bits
		chunk, at := from.chunks[c], from.place(c)
		were = append(were, at) // a copy is as good as what it is of
		if n < 1<<from.bits {
			chunk, at = a.blank(), place{}
			copy(chunk, from.run(slot, n))
		}
		a.chunks, a.places = append(a.chunks, chunk), append(a.places, at)
	})
	if from.lazy != nil {
		a.watch(were)
	}
	return a
}

// encode makes the codes that are missing in the flat index.
func (g *grower) encode(mem *memory) (err error) {
	slots := make([]uint32, 1<<mem.rows.bits)
	g.chunks(func(i, from, n int) {
		if err == nil {
			err = mem.rows.check(i)
		}
		if err != nil {
			return
		}
		for _, slot := range slots[:g.v.pick(slots, from, n)] {
			to := slot - uint32(from) + uint32(i<<mem.rows.bits)
			mem.codes.put(to, mem.rows.row(to))
		}
	})
	return err
}

// grow links all visible vectors.
func (g *grower) grow(ctx context.Context, visible func(id uint64) bool) error {
	h, mem := g.h, g.h.mem.Load()
	h.grow(g.n)
	h.n = g.n
	var take []uint32
	slots, taken := make([]uint32, 1<<mem.rows.bits), make([]bool, g.n)
	g.chunks(func(i, from, n int) {
		for _, slot := range slots[:g.v.pick(slots, from, n)] {
			if visible == nil || visible(g.v.mem.id(slot)) {
				to := slot - uint32(from) + uint32(i<<mem.rows.bits)
				take, taken[to] = append(take, to), true
			}
		}
	})
	for slot, in := range taken {
		if !in {
			h.release(uint32(slot))
		}
	}
	if h.o.Tail > 0 && len(take) > 0 {
		return g.wait(ctx, take)
	}
	for len(take) > 0 {
		n := min(len(take), h.batch())
		plans := h.takePlans(n)
		for i := range plans {
			plans[i].fresh, plans[i].slot = true, take[i]
		}
		if err := h.link(ctx, plans); err != nil {
			return err
		}
		take = take[n:]
	}
	return nil
}

// wait makes all nodes but the first, which is linked, live in the unlinked buffer.
func (g *grower) wait(ctx context.Context, take []uint32) error {
	h := g.h
	e := h.now.edit()
	e.mem = h.mem.Load()
	for _, slot := range take {
		h.setState(slot, waiting)
		h.slots.put(h.id(slot), slot)
		e.set(slot)
	}
	h.tail, e.tail = take, take
	h.publish(e.done(), nil)
	return h.shorten(ctx, len(take)-1)
}
