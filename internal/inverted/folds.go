package inverted

import (
	"math"
	"math/bits"
)

// Folds finds near-duplicate sets among sets of numbers that arrive one after the other, such as
// PairNumbers. For one goroutine.
//
// Two sets of n and m elements whose resemblance (Jaccard) is at least t have at least t·n
// elements in common. So the other set has at least one of any n − ⌈t·n⌉ + 1 elements, and only
// sets with one of the rarest such elements need be compared.
type Folds struct {
	near     float64
	sets     [][]uint64
	sketches []sketch         // of the sets
	least    []int            // of each 64 sets, the size of the smallest
	elements [64]elementTable // by hash, so that none that grows takes long
	lists    []members        // the sets that have an element, of those in several
	rare     []*element       // scratch, as is the next
	rows     [][]group
	alone    []group
}

// sketch has a bit for each element of a set, one of 512 by its hash; elements may share a bit.
// It excludes most sets that are not near, some ten times as fast as a comparison of the sets.
type sketch [8]uint64

func sketchOf(set []uint64) (s sketch) {
	for _, x := range set {
		h := x * 0x9e3779b97f4a7c15 >> 55
		s[h>>6] |= 1 << (h & 63)
	}
	return s
}

// lacking is a lower bound of how many elements of the set of s that of t lacks: each bit missing
// in t stands for at least one.
func (s *sketch) lacking(t *sketch) (n int) {
	for i := range s {
		n += bits.OnesCount64(s[i] &^ t[i])
	}
	return n
}

// element is a number that sets contain.
type element struct {
	x     uint64
	first uint32 // the first set that has it, + 1; 0 for no element
	list  uint32 // index in lists + 1, 0 while one set has it
}

// members are the sets that have an element; n is their number.
type members struct {
	n      int
	groups []group // ascending
}

func (m *members) add(set uint32) {
	m.n++
	if b := groupOf(set); len(m.groups) == 0 || m.groups[len(m.groups)-1].at != b.at {
		m.groups = append(m.groups, b)
	} else {
		m.groups[len(m.groups)-1].sets |= b.sets
	}
}

// group is a subset of 64 sets: bit i stands for the set 64·at + i.
type group struct {
	at   uint32
	sets uint64
}

func groupOf(set uint32) group { return group{set >> 6, 1 << (set & 63)} }

// counts holds a count for each of 64 sets: bit i of counts[p] is binary digit p of the count of
// set i. So one step counts for all of them.
type counts [32]uint64

// add adds the counts of sets.
func (c *counts) add(sets uint64) {
	for p := 0; sets != 0; p++ {
		c[p], sets = c[p]^sets, c[p]&sets
	}
}

// atLeast returns the sets with a count of n or more, if counts are below 1<<digits.
func (c *counts) atLeast(n, digits int) (sets uint64) {
	if n >= 1<<digits {
		return 0
	}
	same := ^uint64(0) // as n in all digits so far
	for p := digits - 1; p >= 0; p-- {
		if n>>p&1 == 1 {
			same &= c[p]
		} else {
			sets |= same & c[p]
			same &^= c[p]
		}
	}
	return sets | same
}

// of is the count for set i.
func (c *counts) of(i, digits int) (n int) {
	for p := range digits {
		n |= int(c[p]>>i&1) << p
	}
	return n
}

// NewFolds returns Folds for a resemblance of at least near, which is above 0 and at most 1.
func NewFolds(near float64) *Folds {
	f := &Folds{near: near}
	for i := range f.elements {
		f.elements[i].places = make([]element, 4)
	}
	return f
}

// Find returns the number of the first added set whose resemblance with set is at least near. set
// is ascending without repetitions; an empty set is near no set. Cost: O(len(set)), and for each
// 64 sets a count of the rarest elements that they share; then a comparison with each remaining
// set.
func (f *Folds) Find(set []uint64) (i int, ok bool) {
	need := max(1, f.common(len(set), 0))
	rows := f.rarest(set, len(set)-need+1)
	digits := bits.Len(uint(len(rows)))
	var own sketch
	for sketched := false; len(rows) > 0; {
		at := rows[0][0].at
		for _, row := range rows[1:] {
			at = min(at, row[0].at)
		}
		var c counts
		for r := 0; r < len(rows); r++ {
			row := rows[r]
			if row[0].at != at {
				continue
			}
			c.add(row[0].sets)
			if rows[r] = row[1:]; len(row) == 1 {
				rows[r] = rows[len(rows)-1]
				rows = rows[:len(rows)-1]
				r--
			}
		}
		// need - 1 elements are not looked at.
		least := max(1, f.common(len(set), f.least[at])-need+1)
		for found := c.atLeast(least, digits); found != 0; found &= found - 1 {
			if !sketched {
				own, sketched = sketchOf(set), true
			}
			i := bits.TrailingZeros64(found)
			n := int(at)<<6 + i
			most := min(need-1+c.of(i, digits), len(set)-own.lacking(&f.sketches[n]), len(f.sets[n])-f.sketches[n].lacking(&own))
			if f.may(most, len(set), len(f.sets[n])) && resemblance(set, f.sets[n]) >= f.near {
				return n, true
			}
		}
	}
	return 0, false
}

// rarest returns the sets that have the n rarest elements of a set, a row for each element;
// elements that no set has get no row. Elements count as equally rare if their numbers of sets
// have equally many binary digits.
func (f *Folds) rarest(set []uint64, n int) [][]group {
	f.rare = f.rare[:0]
	var having [33]int // elements by the digits of their counts
	for _, x := range set {
		t, h := f.table(x)
		if e := t.at(x, h); e.first > 0 {
			f.rare = append(f.rare, e)
			having[bits.Len(uint(f.count(e)))]++
		}
	}
	n -= len(set) - len(f.rare)
	if n <= 0 {
		return nil
	}
	most := 0 // digits, of those that are taken
	for left := n; left > having[most]; most++ {
		left -= having[most]
		n -= having[most]
	}
	f.rows, f.alone = f.rows[:0], f.alone[:0]
	for _, e := range f.rare {
		digits := bits.Len(uint(f.count(e)))
		if digits > most || digits == most && n == 0 {
			continue
		}
		if digits == most {
			n--
		}
		if e.list > 0 {
			f.rows = append(f.rows, f.lists[e.list-1].groups)
			continue
		}
		f.alone = append(f.alone, groupOf(e.first-1))
		f.rows = append(f.rows, f.alone[len(f.alone)-1:])
	}
	return f.rows
}

// common is the minimum number of elements that a set of n must share with one of m or more to be
// near it. Rounding must not make it too large.
func (f *Folds) common(n, m int) int {
	return int(math.Ceil(f.near/(1+f.near)*(float64(n)+max(float64(m), f.near*float64(n))) - 1e-6))
}

// may reports whether sets of n and m elements that share at most common elements can be near
// each other. It rounds like resemblance.
func (f *Folds) may(common, n, m int) bool {
	common = min(common, n, m)
	return float64(common)/float64(n+m-common) >= f.near
}

// Add stores a set, which must not change afterwards, and returns its number, counted from 0.
func (f *Folds) Add(set []uint64) int {
	n := uint32(len(f.sets))
	f.sets = append(f.sets, set)
	f.sketches = append(f.sketches, sketchOf(set))
	if b := n >> 6; b == uint32(len(f.least)) {
		f.least = append(f.least, len(set))
	} else {
		f.least[b] = min(f.least[b], len(set))
	}
	for _, x := range set {
		t, h := f.table(x)
		switch e := t.at(x, h); {
		case e.first == 0:
			*e = element{x: x, first: n + 1}
			if t.used++; 3*t.used > 2*len(t.places) {
				t.grow()
			}
		case e.list == 0:
			f.lists = append(f.lists, members{})
			e.list = uint32(len(f.lists))
			f.lists[e.list-1].add(e.first - 1)
			f.lists[e.list-1].add(n)
		default:
			f.lists[e.list-1].add(n)
		}
	}
	return int(n)
}

// elementTable is a hash table with open addressing; its size is a power of two.
type elementTable struct {
	places []element
	used   int
}

// table returns the table of an element, with the element's hash in it.
func (f *Folds) table(x uint64) (t *elementTable, h uint64) {
	h = hashID(x)
	return &f.elements[h&63], h >> 6
}

// at returns the place of an element in the table.
func (t *elementTable) at(x, h uint64) *element {
	mask := uint64(len(t.places) - 1)
	for i := h & mask; ; i = (i + 1) & mask {
		if e := &t.places[i]; e.first == 0 || e.x == x {
			return e
		}
	}
}

func (t *elementTable) grow() {
	old := t.places
	t.places = make([]element, 2*len(old))
	for _, e := range old {
		if e.first > 0 {
			*t.at(e.x, hashID(e.x)>>6) = e
		}
	}
}

// count returns the number of sets that contain an element.
func (f *Folds) count(e *element) int {
	if e.list == 0 {
		return 1
	}
	return f.lists[e.list-1].n
}

// resemblance is Jaccard's coefficient of two ascending sets: the shared elements divided by all
// elements; 0 for empty sets.
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
