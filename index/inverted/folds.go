package inverted

import (
	"math"
	"math/bits"
	"slices"
)

// Folds finds near-duplicates among sets of numbers that come one after the
// other, such as PairNumbers: it keeps sets and tells which of them, if any, is
// near the next one. It is for one goroutine.
//
// Sets of n and m elements whose resemblance (Jaccard's coefficient) is at least
// t have at least t·n elements in common. So of any n − ⌈t·n⌉ + 1 elements of
// the one the other has at least one: it is enough to look at the sets that have
// one of these, and the rarest are taken.
type Folds struct {
	near     float64
	sets     [][]uint64
	sketches []sketch  // of the sets
	elements []element // a hash table with open addressing; a power of two of them
	used     int
	lists    [][]uint32 // the sets that have an element, of those in several
	rare     []*element // scratch, as is the next
	order    []uint64   // places in rare below the numbers of sets that have these
	tally    []tally    // of each set
	turn     uint32     // number of the search, of tally
	found    []uint64   // a bit for each set that has one of the rarest elements
}

// sketch has a bit for each element of a set, one of 512 by its hash; elements may
// share one. It tells most sets that are nearly near from those that are, some ten
// times as fast as comparing them.
type sketch [8]uint64

func sketchOf(set []uint64) (s sketch) {
	for _, x := range set {
		h := x * 0x9e3779b97f4a7c15 >> 55
		s[h>>6] |= 1 << (h & 63)
	}
	return s
}

// lacking is a number of elements of the set of s, at least, that that of t lacks:
// each bit that t has not stands for one or more.
func (s *sketch) lacking(t *sketch) (n int) {
	for i := range s {
		n += bits.OnesCount64(s[i] &^ t[i])
	}
	return n
}

// element is one number of the sets.
type element struct {
	x     uint64
	first uint32 // the first set that has it, + 1; 0 for no element
	list  uint32 // index in lists + 1, 0 while one set has it
}

// tally is how many of the rarest elements a set has.
type tally struct{ turn, common uint32 }

// NewFolds makes a Folds for a least resemblance near, above 0 and at most 1.
func NewFolds(near float64) *Folds {
	return &Folds{near: near, elements: make([]element, 64)}
}

// Find returns the first set that was added, by its number, whose resemblance
// with set is at least near. set ascends without repetitions; an empty one is
// near none. Cost: O(len(set)), and that of looking at the sets that have one of
// its rarest elements; those that may be near by how many of them they have are
// compared, in their order, up to the first that is.
func (f *Folds) Find(set []uint64) (i int, ok bool) {
	// Rounding must not ask for more elements in common than there need be.
	need := max(1, int(math.Ceil(f.near*float64(len(set))-1e-6)))
	look := len(set) - need + 1
	f.rare, f.order = f.rare[:0], f.order[:0]
	for _, x := range set {
		if e := f.at(x); e.first > 0 {
			f.order = append(f.order, uint64(f.count(e))<<32|uint64(len(f.rare)))
			f.rare = append(f.rare, e)
		}
	}
	look -= len(set) - len(f.rare) // no set has these
	if look <= 0 {
		return 0, false
	}
	slices.Sort(f.order)
	f.turn++
	clear(f.found)
	for _, o := range f.order[:look] {
		e := f.rare[uint32(o)]
		if e.list == 0 {
			f.meet(e.first - 1)
			continue
		}
		for _, n := range f.lists[e.list-1] {
			f.meet(n)
		}
	}
	own := sketchOf(set)
	for w, found := range f.found {
		for ; found != 0; found &= found - 1 {
			n := w<<6 + bits.TrailingZeros64(found)
			most := min(need-1+int(f.tally[n].common), len(set)-own.lacking(&f.sketches[n]), len(f.sets[n])-f.sketches[n].lacking(&own))
			if f.may(most, len(set), len(f.sets[n])) && resemblance(set, f.sets[n]) >= f.near {
				return n, true
			}
		}
	}
	return 0, false
}

// may says whether sets of n and m elements that have at most common ones in
// common can be near each other. It rounds as resemblance does.
func (f *Folds) may(common, n, m int) bool {
	common = min(common, n, m)
	return float64(common)/float64(n+m-common) >= f.near
}

// Add keeps a set, which must not change any more, and returns its number: they
// count from 0.
func (f *Folds) Add(set []uint64) int {
	n := uint32(len(f.sets))
	f.sets = append(f.sets, set)
	f.sketches = append(f.sketches, sketchOf(set))
	f.tally = append(f.tally, tally{})
	if n>>6 == uint32(len(f.found)) {
		f.found = append(f.found, 0)
	}
	for _, x := range set {
		switch e := f.at(x); {
		case e.first == 0:
			*e = element{x: x, first: n + 1}
			if f.used++; 3*f.used > 2*len(f.elements) {
				f.grow()
			}
		case e.list == 0:
			f.lists = append(f.lists, []uint32{e.first - 1, n})
			e.list = uint32(len(f.lists))
		default:
			f.lists[e.list-1] = append(f.lists[e.list-1], n)
		}
	}
	return int(n)
}

// at returns the place of an element in the table.
func (f *Folds) at(x uint64) *element {
	mask := uint64(len(f.elements) - 1)
	for i := hashID(x) & mask; ; i = (i + 1) & mask {
		if e := &f.elements[i]; e.first == 0 || e.x == x {
			return e
		}
	}
}

func (f *Folds) grow() {
	old := f.elements
	f.elements = make([]element, 2*len(old))
	for _, e := range old {
		if e.first > 0 {
			*f.at(e.x) = e
		}
	}
}

// count is in how many sets an element is.
func (f *Folds) count(e *element) int {
	if e.list == 0 {
		return 1
	}
	return len(f.lists[e.list-1])
}

// meet counts that a set has one of the rarest elements.
func (f *Folds) meet(n uint32) {
	t := &f.tally[n]
	if t.turn != f.turn {
		*t = tally{turn: f.turn}
		f.found[n>>6] |= 1 << (n & 63)
	}
	t.common++
}

// resemblance is Jaccard's coefficient of two ascending sets: the share of the
// elements of either that both have; 0 for empty ones.
func resemblance(a, b []uint64) float64 {
	both := 0
	for i, j := 0, 0; i < len(a) && j < len(b); {
		switch {
		case a[i] == b[j]:
			both++
			i++
			j++
		case a[i] < b[j]:
			i++
		default:
			j++
		}
	}
	if both == 0 {
		return 0
	}
	return float64(both) / float64(len(a)+len(b)-both)
}
