package index

import (
	"context"
	"fmt"
	"slices"
)

// KindFlat compares the query with every vector: exact, no build time, and the reference for all
// other kinds. A search costs Dim·Len multiplications. It takes no lock. Delete marks a vector,
// and a chunk with a quarter of deleted vectors is copied without them. SearchOptions.Allow is called
// before a distance is computed, so a narrow filter makes a search cheaper.
var KindFlat = registerKind("flat", kind{new: func(o Options) Index { return newFlat("flat", o, noCodes) }})

// KindFlatInt8 is KindFlat with int8 codes. A search compares the codes, a quarter of the bytes,
// and then the vectors that may be among the nearest by the error bound of the codes. So its
// answers are exactly those of KindFlat, some five times as fast. It takes Dim + 4 bytes a vector
// more (+ 8 under dot and l2). Under l2 the gain is lost if vectors are long compared with the
// distances between them.
var KindFlatInt8 = registerKind("flat-int8", kind{new: func(o Options) Index { return newFlat("flat-int8", o, byInt8) }})

// flat fills chunks one after the other. A slot that was once live is never written again: when a
// chunk is removed, its place gets new memory.
type flat struct {
	base
	used  []int // by chunk: slots ever used
	dead  []int // by chunk: those not live any more
	empty []int // chunks with memory and nothing in it
	spare []int // places without memory
	tail  int   // the chunk that is being filled; -1 for none
}

const (
	addPiece = 1024 // vectors that become visible at once
	addLook  = 64   // vectors between two looks at the context
	rewrite  = 8    // chunks that are rewritten at once
)

func newFlat(kind string, o Options, by coding) *flat {
	f := &flat{tail: -1}
	f.init(kind, o, by)
	return f
}

func (f *flat) rows() int { return 1 << f.now.mem.rows.bits }

func (f *flat) Add(ids []uint64, vectors []float32) error {
	return f.AddContext(context.Background(), ids, vectors)
}

func (f *flat) AddContext(ctx context.Context, ids []uint64, vectors []float32) error {
	if err := f.m.checkRows(len(ids), vectors, f.o.Dim); err != nil {
		return err
	}
	f.write.Lock()
	defer f.write.Unlock()
	if f.now.live+len(ids) > maxLen {
		return fmt.Errorf("%d vectors and %d more: %w", f.now.live, len(ids), errFull)
	}
	rows := lastOf(ids)
	if err := f.room(len(rows)); err != nil { // at once, for large slabs
		return err
	}
	for len(rows) > 0 {
		n := min(addPiece, len(rows))
		if err := f.addSome(ctx, ids, vectors, rows[:n]); err != nil {
			return err
		}
		rows = rows[n:]
	}
	return nil
}

// addSome adds some of the rows.
func (f *flat) addSome(ctx context.Context, ids []uint64, vectors []float32, rows []int) error {
	if err := f.room(len(rows)); err != nil { // what was there may be used up by compact
		return err
	}
	e, mem, dim := f.now.edit(), f.mem.Load(), f.o.Dim
	e.mem = mem
	var err error
	var touched []int
	for i, r := range rows {
		if i%addLook == 0 {
			if err = ctx.Err(); err != nil {
				break
			}
		}
		slot := f.next()
		mem.put(slot, ids[r], vectors[r*dim:(r+1)*dim])
		if old, ok := f.slots.get(ids[r]); ok {
			touched = f.kill(e, old, touched)
		}
		f.slots.put(ids[r], slot)
		e.set(slot)
	}
	f.publish(e.done(), nil)
	f.compact(touched)
	return err
}

// kill marks a slot dead and appends its chunk to due if that must be rewritten.
func (f *flat) kill(e *viewEdit, slot uint32, due []int) []int {
	e.clear(slot)
	c := int(slot) / f.rows()
	f.dead[c]++
	if f.due(c) {
		due = append(due, c)
	}
	return due
}

// due reports whether a chunk is full and a quarter of it is dead.
func (f *flat) due(c int) bool { return f.used[c] == f.rows() && f.dead[c]*4 >= f.rows() }

// room makes room for n more vectors. The error is ErrCorrupt.
func (f *flat) room(n int) error {
	if f.tail >= 0 && f.used[f.tail] < f.rows() {
		if err := f.own([]int{f.tail}); err != nil {
			return err
		}
		n -= f.rows() - f.used[f.tail]
	}
	n -= len(f.empty) * f.rows()
	var fresh []int
	for ; n > 0 && len(f.spare) > 0; n -= f.rows() {
		last := len(f.spare) - 1
		fresh, f.spare = append(fresh, f.spare[last]), f.spare[:last]
	}
	if len(fresh) > 0 {
		f.mem.Store(f.mem.Load().without(fresh, nil))
		f.empty = append(f.empty, fresh...)
	}
	if n > 0 {
		f.grow(len(f.used)*f.rows() + n)
	}
	for len(f.used) < len(f.owned) {
		f.empty = append(f.empty, len(f.used))
		f.used, f.dead = append(f.used, 0), append(f.dead, 0)
	}
	return nil
}

// next takes the next free slot; there must be room.
func (f *flat) next() uint32 {
	if f.tail < 0 || f.used[f.tail] == f.rows() {
		f.tail, f.empty = f.empty[0], f.empty[1:]
	}
	f.used[f.tail]++
	return uint32(f.tail*f.rows() + f.used[f.tail] - 1)
}

func (f *flat) Delete(ids []uint64) int {
	f.write.Lock()
	defer f.write.Unlock()
	n := 0
	var due []int
	e := f.now.edit()
	for _, id := range ids {
		if slot, ok := f.slots.get(id); ok {
			f.slots.drop(id)
			due = f.kill(e, slot, due)
			n++
		}
	}
	f.publish(e.done(), nil)
	f.compact(due)
	return n
}

// compact copies the live vectors of the given chunks to other chunks and frees the given ones.
func (f *flat) compact(due []int) {
	slices.Sort(due)
	due = slices.Compact(due)
	for len(due) > 0 {
		n := min(rewrite, len(due))
		f.rewrite(due[:n])
		due = due[n:]
	}
}

func (f *flat) rewrite(places []int) {
	var gone []int
	live := 0
	for _, c := range places {
		if f.mem.Load().check(c) == nil { // a damaged one stays, and searches say so
			gone = append(gone, c)
			if c == f.tail {
				f.tail = -1
			}
			live += f.used[c] - f.dead[c]
		}
	}
	if f.room(live) != nil {
		return // likewise
	}
	mem, e := f.mem.Load(), f.now.edit()
	slots := make([]uint32, f.rows())
	for _, c := range gone {
		n := f.now.pick(slots, c*f.rows(), f.rows())
		for _, from := range slots[:n] {
			to := f.next()
			mem.move(to, from)
			f.slots.put(mem.id(from), to)
			e.clear(from)
			e.set(to)
		}
		f.used[c], f.dead[c], f.owned[c], f.wrote[c] = 0, 0, true, f.saves
	}
	f.spare = append(f.spare, gone...)
	f.mem.Store(mem.without(nil, gone)) // no id leads there any more
	e.mem = f.mem.Load()
	f.publish(e.done(), nil)
}

func (f *flat) Bytes() Memory {
	return f.bytes()
}
