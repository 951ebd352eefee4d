package index

import (
	"math/bits"

	"github.com/lexsem/lexsem/internal/cow"
)

// view is the state that a search sees: which slots are live, and the memory of their
// vectors. It never changes, and while it is in use, no slot that is live in it is
// written to.
type view struct {
	mem   *memory
	n     int // live slots are below n
	live  int
	alive cow.Array[uint64] // a bit a slot
	tail  []uint32          // live slots that the graph lacked; some may be in it by now
}

func (v *view) has(slot uint32) bool { return v.alive.At(int(slot>>6))>>(slot&63)&1 != 0 }

// whole reports whether the m slots from from on are all live.
func (v *view) whole(from, m int) bool {
	for end := from + m; from < end; {
		k := min(64-from&63, end-from)
		all := ^uint64(0) >> (64 - k)
		if v.alive.At(from>>6)>>(from&63)&all != all {
			return false
		}
		from += k
	}
	return true
}

// pick writes the live ones of the m slots from from on into out and returns their
// number.
func (v *view) pick(out []uint32, from, m int) (n int) {
	for end := from + m; from < end; {
		k := min(64-from&63, end-from)
		for w := v.alive.At(from>>6) >> (from & 63) & (^uint64(0) >> (64 - k)); w != 0; w &= w - 1 {
			out[n] = uint32(from + bits.TrailingZeros64(w))
			n++
		}
		from += k
	}
	return n
}

// end is the slot after the last live one of the m slots from from on, or from if none is
// live.
func (v *view) end(from, m int) int {
	for to := from + m; to > from; {
		k := min((to-1)&63+1, to-from)
		at := to - k
		if w := v.alive.At(at>>6) >> (at & 63) & (^uint64(0) >> (64 - k)); w != 0 {
			return at + bits.Len64(w)
		}
		to = at
	}
	return from
}

// each calls yield for the live slots, in order.
func (v *view) each(yield func(slot uint32) bool) {
	for i, w := range v.alive.All {
		for ; w != 0; w &= w - 1 {
			if !yield(uint32(i<<6 + bits.TrailingZeros64(w))) {
				return
			}
		}
	}
}

// viewEdit makes the next view.
type viewEdit struct {
	view
	bits *cow.Editor[uint64]
}

func (v *view) edit() *viewEdit { return &viewEdit{*v, v.alive.Edit()} }

// set makes a slot live, clear makes it not live.
func (e *viewEdit) set(slot uint32) {
	if e.bits.Len() <= int(slot>>6) {
		e.bits.Resize(int(slot>>6) + 1)
	}
	*e.bits.Ptr(int(slot >> 6)) |= 1 << (slot & 63)
	e.live++
	e.n = max(e.n, int(slot)+1)
}

func (e *viewEdit) clear(slot uint32) {
	*e.bits.Ptr(int(slot >> 6)) &^= 1 << (slot & 63)
	e.live--
}

func (e *viewEdit) done() *view {
	v := e.view
	v.alive = e.bits.Done()
	return &v
}
