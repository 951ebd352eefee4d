package cow

import mathbits "math/bits"

// Set is a set of numbers below 2⁴⁴, best dense ones: it takes one bit for each number
// between the smallest and the greatest. The zero Set is empty. It is safe for concurrent
// use and never changes.
type Set struct {
	words Array[uint64]
	n     int
}

// Len returns how many numbers are in the set.
func (s Set) Len() int { return s.n }

// Has reports whether x is in the set.
func (s Set) Has(x uint64) bool { return s.words.At(int(x>>6))>>(x&63)&1 != 0 }

// All calls yield for each number, ascending.
func (s Set) All(yield func(x uint64) bool) {
	for i, w := range s.words.All {
		for ; w != 0; w &= w - 1 {
			if !yield(uint64(i)<<6 | uint64(mathbits.TrailingZeros64(w))) {
				return
			}
		}
	}
}

// SetEditor makes the next version of a Set. It is for one goroutine.
type SetEditor struct {
	words *Editor[uint64]
	n     int
}

// Edit begins the next version of s, which does not change.
func (s Set) Edit() *SetEditor { return &SetEditor{s.words.Edit(), s.n} }

// Has reports whether x is in the set as edited so far.
func (e *SetEditor) Has(x uint64) bool { return e.words.At(int(x>>6))>>(x&63)&1 != 0 }

// Add puts x in and says whether it was not there.
func (e *SetEditor) Add(x uint64) bool {
	if e.Has(x) {
		return false
	}
	if need := int(x>>6) + 1; need > e.words.Len() {
		e.words.Resize(need)
	}
	*e.words.Ptr(int(x >> 6)) |= 1 << (x & 63)
	e.n++
	return true
}

// Remove removes x and reports whether it was present.
func (e *SetEditor) Remove(x uint64) bool {
	if !e.Has(x) {
		return false
	}
	*e.words.Ptr(int(x >> 6)) &^= 1 << (x & 63)
	e.n--
	return true
}

// Done returns the edited Set. The SetEditor must not be used afterwards.
func (e *SetEditor) Done() Set { return Set{e.words.Done(), e.n} }
