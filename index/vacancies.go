package index

// vacancies are the slots of a graph that hold no vector any more, by chunk of memory. The first write to a chunk that
// lies in a snapshot copies the chunk. If each new vector took any vacant slot, some hundred vectors would bring the
// whole file back into memory. So such a chunk is used again only once a quarter of all slots is vacant, and
// then the one with the most of them: under random replacements nearly half of its slots, where an eighth of all would
// leave a quarter.
type vacancies struct {
	chunks [][]uint32
	n      int
}

const vacantShare = 4

// release makes slots reusable.
func (h *hnsw) release(slots ...uint32) {
	f := &h.free
	for _, slot := range slots {
		c := int(slot >> h.now.mem.rows.bits)
		for len(f.chunks) <= c {
			f.chunks = append(f.chunks, nil)
		}
		f.chunks[c] = append(f.chunks[c], slot)
		f.n++
	}
}

// many reports whether chunks in a snapshot are used again, of an index with so many slots.
func (f *vacancies) many(slots int) bool { return f.n*vacantShare >= slots }

// within is a number of slots that take would return at least, if asked for as many.
func (f *vacancies) within(owned []bool, slots int) (n int) {
	for c, free := range f.chunks {
		if owned[c] {
			n += len(free)
		}
	}
	return max(n, f.n-slots/vacantShare)
}

// take removes and returns up to n slots.
func (f *vacancies) take(n int, owned []bool, slots int) (taken []uint32) {
	for len(taken) < n {
		best := -1
		for _, mine := range []bool{true, false} {
			for c, free := range f.chunks {
				if owned[c] == mine && len(free) > 0 && (best < 0 || len(free) > len(f.chunks[best])) {
					best = c
				}
			}
			if best >= 0 || !f.many(slots) {
				break
			}
		}
		if best < 0 {
			return taken
		}
		free := f.chunks[best]
		left := max(0, len(free)-(n-len(taken)))
		taken, f.chunks[best], f.n = append(taken, free[left:]...), free[:left], f.n-len(free)+left
	}
	return taken
}
