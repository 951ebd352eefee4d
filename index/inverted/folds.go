package inverted

import (
	"math"
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
	near  float64
	sets  [][]uint64
	first map[uint64]uint32 // element -> number + 1 of its last place
	count []uint32          // places of the element that the place is of, up to it
	set   []uint32          // of each place
	prev  []uint32          // the place before, of the same element, + 1
	rare  []rarity          // scratch
	found []uint32
}

// rarity is in how many sets an element is, and its last place + 1.
type rarity struct{ sets, place uint32 }

// NewFolds makes a Folds for a least resemblance near, above 0 and at most 1.
func NewFolds(near float64) *Folds {
	return &Folds{near: near, first: map[uint64]uint32{}}
}

// Find returns the first set that was added, by its number, whose resemblance
// with set is at least near. set ascends without repetitions; an empty one is
// near none. Cost: O(len(set)), and the sets that have one of its rarest
// elements in common with it are compared.
func (f *Folds) Find(set []uint64) (i int, ok bool) {
	if len(set) == 0 {
		return 0, false
	}
	// Rounding must not ask for more elements in common than there need be.
	need := int(math.Ceil(f.near*float64(len(set)) - 1e-6))
	f.rare = f.rare[:0]
	missing := 0
	for _, x := range set {
		if place := f.first[x]; place > 0 {
			f.rare = append(f.rare, rarity{f.count[place-1], place})
		} else {
			missing++
		}
	}
	if len(f.rare) < need {
		return 0, false
	}
	slices.SortFunc(f.rare, func(a, b rarity) int { return int(a.sets) - int(b.sets) })
	f.found = f.found[:0]
	for _, r := range f.rare[:max(len(set)-max(need, 1)+1-missing, 0)] {
		for at := r.place; at > 0; at = f.prev[at-1] {
			f.found = append(f.found, f.set[at-1])
		}
	}
	slices.Sort(f.found)
	for j, n := range f.found {
		if j > 0 && n == f.found[j-1] {
			continue
		}
		if f.resembles(set, f.sets[n]) {
			return int(n), true
		}
	}
	return 0, false
}

// Add keeps a set, which must not change any more, and returns its number: they
// count from 0.
func (f *Folds) Add(set []uint64) int {
	n := uint32(len(f.sets))
	f.sets = append(f.sets, set)
	for _, x := range set {
		last, count := f.first[x], uint32(1)
		if last > 0 {
			count += f.count[last-1]
		}
		f.count = append(f.count, count)
		f.set = append(f.set, n)
		f.prev = append(f.prev, last)
		f.first[x] = uint32(len(f.set))
	}
	return int(n)
}

// resembles says whether the resemblance of two sets, neither of them empty, is
// at least near.
func (f *Folds) resembles(a, b []uint64) bool {
	if short, long := min(len(a), len(b)), max(len(a), len(b)); float64(short)/float64(long) < f.near {
		return false // what they can have in common at most
	}
	return resemblance(a, b) >= f.near
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
