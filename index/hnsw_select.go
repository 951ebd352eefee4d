package index

import (
	"slices"

	"github.com/lexsem/lexsem/internal/vec"
)

// choose picks links for a node by the paper's heuristic (algorithm 4): it goes
// through the candidates from the nearest to the farthest, and takes one if it is nearer to
// the node than to all that it has taken. So links lead in all directions and from one cluster to the
// next; the nearest nodes alone might all be in one cluster. Equal distances do not count
// against a candidate: among many equal vectors, lists with one link to each kind of
// neighbour are too short. But those as near as the nearest, as copies of the node are,
// take half of the room if there are others: a search could not leave copies that link only
// to copies.
//
// kept are existing links; up to max are returned in total, kept first, valid until the
// next call.
func (w *walker) choose(kept []uint32, pool []cand, max int) []uint32 {
	sel, same, spare := append(w.sel[:0], kept...), 0, w.spare[:0]
	w.chosen(kept)
next:
	for _, c := range pool {
		if len(sel) >= max {
			break
		}
		if slices.Contains(kept, c.slot) {
			continue
		}
		if c.d == pool[0].d {
			if same++; same > (max+1)/2 {
				spare = append(spare, c.slot)
				continue
			}
		}
		v := w.mem.query(c.slot, w.code)
		for i := 0; i < len(sel); i += 4 {
			for _, d := range w.toChosen(&v, sel, i, min(i+4, len(sel))) {
				if d < c.d {
					continue next
				}
			}
		}
		sel = append(sel, c.slot)
		if w.mem.coded {
			w.mem.codes.add(&w.sels, c.slot)
		}
	}
	if room := max - len(sel); room > 0 {
		sel = append(sel, spare[:min(room, len(spare))]...)
	}
	w.sel, w.spare = sel, spare
	return sel
}

// chosen looks up the codes of existing links, once for all candidates.
func (w *walker) chosen(kept []uint32) {
	if w.mem.coded {
		w.find(&w.sels, kept)
		w.sels.dots = vec.Grown(w.sels.dots, 4)
	}
}

// toChosen returns the distances from v to sel[i:j], at most four; valid until the next
// call.
func (w *walker) toChosen(v *query, sel []uint32, i, j int) []float32 {
	if !w.mem.coded {
		return w.distances(v, sel[i:j])
	}
	f := found{rows: w.sels.rows[i:j], scales: w.sels.scales[i:j], dots: w.sels.dots}
	w.mem.codes.distances(w.dist4[:], v, sel[i:j], &f)
	return w.dist4[:j-i]
}

// rank returns slots with their distances from q, ascending.
func (w *walker) rank(q *query, slots []uint32) []cand {
	p := w.pool[:0]
	for i, d := range w.distances(q, slots) {
		p = append(p, cand{d, slots[i]})
	}
	sortCands(p)
	w.pool = p
	return p
}
