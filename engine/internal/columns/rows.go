package columns

import (
	"math"
	"slices"
)

// rows are the terms of each document in the order of addition, dead documents included.
// The index of a row is its slot. It is a value: appending to a copy writes after the end
// that others see.
type rows struct {
	full []segment
	tail segment
}

// segment is a piece of rows. posts and ends may be in a file; then they must be checked
// before they are read.
type segment struct {
	first  int      // slot of its first row
	base   uint64   // of its ordinals
	ords   []uint32 // above base, ascending
	ends   []uint32 // of each row in posts
	posts  []uint32 // distinct terms of each row, ascending
	stored *stored  // nil in memory
}

// A segment ends at this number of rows, or with the row that reaches this number of
// posts.
const (
	segmentRows  = 1024
	segmentPosts = 1 << 18
)

func (r *rows) len() int { return r.tail.first + len(r.tail.ords) }

// segments is the number of segments, including the tail; segment is the i-th.
func (r *rows) segments() int { return len(r.full) + 1 }

func (r *rows) segment(i int) *segment {
	if i < len(r.full) {
		return &r.full[i]
	}
	return &r.tail
}

// last is the highest ordinal; ok is false if there are no rows.
func (r *rows) last() (ord uint64, ok bool) {
	s := &r.tail
	if len(s.ords) == 0 {
		if len(r.full) == 0 {
			return 0, false
		}
		s = &r.full[len(r.full)-1]
	}
	return s.base + uint64(s.ords[len(s.ords)-1]), true
}

// from is the first slot whose ordinal is ord or higher.
func (r *rows) from(ord uint64) int {
	lo, hi := 0, r.segments() // the segment before lo begins at or before ord
	for lo < hi {
		if mid := (lo + hi) / 2; len(r.segment(mid).ords) > 0 && r.segment(mid).base <= ord {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	if lo == 0 {
		return 0
	}
	s := r.segment(lo - 1)
	if ord-s.base > math.MaxUint32 {
		return s.first + len(s.ords)
	}
	i, _ := slices.BinarySearch(s.ords, uint32(ord-s.base))
	return s.first + i
}

// holding is the number of the segment that holds a slot.
func (r *rows) holding(slot int) int {
	i, ok := slices.BinarySearchFunc(r.full, slot, func(s segment, slot int) int { return s.first - slot })
	if ok || i == len(r.full) && slot >= r.tail.first {
		return i
	}
	return i - 1
}

// find returns the slot of an ordinal.
func (r *rows) find(ord uint64) (slot int, ok bool) {
	slot = r.from(ord)
	if slot == r.len() {
		return 0, false
	}
	s := r.segment(r.holding(slot))
	return slot, s.base+uint64(s.ords[slot-s.first]) == ord
}

// add appends a row with an ordinal above all others.
func (r *rows) add(ord uint64, terms []uint32) {
	t := &r.tail
	if n := len(t.ords); n > 0 && full(n, len(t.posts), t.base, ord) {
		r.full = append(r.full, segment{t.first, t.base, bytes32(t.ords), bytes32(t.ends), bytes32(t.posts), nil})
		r.tail = segment{first: t.first + n}
	}
	if len(t.ords) == 0 {
		t.base = ord
	}
	t.ords = append(t.ords, uint32(ord-t.base))
	t.posts = append(t.posts, terms...)
	t.ends = append(t.ends, uint32(len(t.posts)))
}

// full reports whether a segment has no room for the row of ord.
func full(rows, posts int, base, ord uint64) bool {
	return rows == segmentRows || posts >= segmentPosts || ord-base > math.MaxUint32
}

// of returns the terms of the i-th row of a segment that is ready.
func (s *segment) of(i int) []uint32 {
	from := uint32(0)
	if i > 0 {
		from = s.ends[i-1]
	}
	return s.posts[from:s.ends[i]]
}

// clipped is r with its capacity clipped, so that appending to it copies.
func (r rows) clipped() rows {
	r.full = slices.Clip(r.full)
	t := &r.tail
	t.ords, t.ends, t.posts = slices.Clip(t.ords), slices.Clip(t.ends), slices.Clip(t.posts)
	return r
}

// bytes is the memory of the rows.
func (r *rows) bytes() int64 {
	n := int64(0)
	for i := range r.segments() {
		s := r.segment(i)
		n += int64(4 * (len(s.ords) + len(s.ends) + len(s.posts)))
	}
	return n
}
