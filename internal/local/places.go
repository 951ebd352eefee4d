package local

import "slices"

// places hold the cell of each passage: sorted runs of changes, the newest last. A run is
// merged with the previous one if that is at most twice as long, so there are few runs,
// and a change costs O(log n) on average. They never change.
type places struct{ runs []run }

type run struct {
	ids   []uint64 // ascending
	cells []uint32 // gone where the passage was removed
}

const gone = ^uint32(0)

// find is the cell of a passage; ok is false if there is no such passage.
func (p places) find(id uint64) (uint32, bool) {
	for i := len(p.runs) - 1; i >= 0; i-- {
		r := &p.runs[i]
		if at, ok := slices.BinarySearch(r.ids, id); ok {
			return r.cells[at], r.cells[at] != gone
		}
	}
	return 0, false
}

// with is p after the changes in a run.
func (p places) with(r run) places {
	runs := slices.Clone(p.runs)
	for len(runs) > 0 && len(runs[len(runs)-1].ids) <= 2*len(r.ids) {
		r = join(runs[len(runs)-1], r)
		runs = runs[:len(runs)-1]
	}
	if len(runs) == 0 {
		r = r.present()
	}
	return places{append(runs, r)}
}

// join merges two runs; entries of b override those of a.
func join(a, b run) run {
	n := len(a.ids) + len(b.ids)
	out := run{make([]uint64, 0, n), make([]uint32, 0, n)}
	i := 0
	for j, id := range b.ids {
		for ; i < len(a.ids) && a.ids[i] <= id; i++ {
			if a.ids[i] < id {
				out.ids, out.cells = append(out.ids, a.ids[i]), append(out.cells, a.cells[i])
			}
		}
		out.ids, out.cells = append(out.ids, id), append(out.cells, b.cells[j])
	}
	out.ids, out.cells = append(out.ids, a.ids[i:]...), append(out.cells, a.cells[i:]...)
	return out
}

// present is r without its deleted entries.
func (r run) present() run {
	out := run{make([]uint64, 0, len(r.ids)), make([]uint32, 0, len(r.ids))}
	for i, c := range r.cells {
		if c != gone {
			out.ids, out.cells = append(out.ids, r.ids[i]), append(out.cells, c)
		}
	}
	return out
}

// all is one run with every passage.
func (p places) all() run {
	var out run
	for _, r := range p.runs {
		out = join(out, r)
	}
	return out.present()
}

// len is the number of entries.
func (p places) len() (n int) {
	for _, r := range p.runs {
		n += len(r.ids)
	}
	return n
}
