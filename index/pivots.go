package index

import (
	"math"

	"github.com/lexsem/lexsem/internal/vec"
)

// Searches begin on layer 0, at the nearest of the pivots: the highest nodes of the
// graph, which are a random sample of all. One-bit codes show approximately which are
// nearest, in some microseconds for all pivots. Going down the layers, as linking does,
// compares some eighty vectors one after another.
const (
	mostPivots  = 1024
	leastPivots = 16 // with fewer, searches take the way down
	bestPivots  = 4  // compared by distance, and walked from
)

// sweeps reports whether this machine compares all pivots faster than it goes down the
// layers.
var sweeps = vec.SignKernel() != "go"

// Searches read pivots while they hold the lock of the graph. Only the writer changes
// them, and it holds that lock for the parts that searches read.
type pivots struct {
	signs *vec.Signs // of what pivots are beyond mean; a lane each
	slots []uint32   // by lane; none where there are too few, or a snapshot has none
	mean  []float32  // of the pivots there were at some time; see come

	ranks  []uint64 // by lane; the writer's, as is what follows
	lowest int      // the lane with the largest rank
	fitted int      // pivots when mean was made
	come   int      // nodes that have become pivots since; as many as fitted, and mean is made anew
}

// start returns the start nodes of a search on layer 0, ascending, valid until the next
// call.
func (w *walker) start(q *query) []cand {
	if p := &w.h.pivots; len(p.slots) > 0 && sweeps {
		if from := w.sweep(p, q); len(from) > 0 {
			return from
		}
	}
	w.from = append(w.from[:0], w.descend(q, 0))
	return w.from
}

// sweep returns the pivots that are nearest by their signs, with their distances from q.
func (w *walker) sweep(p *pivots, q *query) []cand {
	w.centred = append(w.centred[:0], q.row...)
	vec.Axpy(w.centred, -1, p.mean)
	w.signs.Make(w.centred)
	w.scores = vec.Grown(w.scores, p.signs.Lanes())
	p.signs.Score(w.scores, &w.signs)
	best, bar := w.from[:0], -infinite
	for lane := vec.FirstAbove(w.scores, bar); lane < len(w.scores); lane += 1 + vec.FirstAbove(w.scores[lane+1:], bar) {
		best, _ = insertCand(best, cand{-w.scores[lane], p.slots[lane]}, bestPivots)
		if len(best) == bestPivots {
			bar = -best[bestPivots-1].d
		}
	}
	w.near = w.near[:0]
	for _, c := range best {
		w.near = append(w.near, c.slot)
	}
	best = best[:0]
	for i, d := range w.distances(q, w.near) {
		best, _ = insertCand(best, cand{d, w.near[i]}, bestPivots)
	}
	w.from = best
	return best
}

// pivotCode is the one-bit code of a vector.
type pivotCode struct {
	packed         []byte
	factor, offset float32
}

// code makes the code of row. With r = row − mean and a query q beyond the mean,
// ⟨r, q⟩ is about |r|²/|r|₁·⟨sgn r, q⟩; the offset makes that a score that falls
// as the distance rises.
func (p *pivots) code(row []float32, m *metric) pivotCode {
	r := make([]float32, len(row))
	var one, two, along float64
	for i, x := range row {
		r[i] = x - p.mean[i]
		v := float64(r[i])
		one += math.Abs(v)
		two += v * v
		along += v * float64(p.mean[i])
	}
	c := pivotCode{packed: make([]byte, vec.SignBytes(len(row))), offset: float32(along)}
	vec.PackSigns(c.packed, r)
	if one > 0 {
		c.factor = float32(two / one)
	}
	if m.code.squares {
		c.offset = float32(-two / 2)
	}
	return c
}

// set makes a node the pivot of a lane; lane is at most one after the last.
func (p *pivots) set(lane int, slot uint32, rank uint64, c pivotCode) {
	if lane == len(p.slots) {
		p.signs.Grow(lane + 1)
		p.slots, p.ranks = append(p.slots, slot), append(p.ranks, rank)
	}
	p.slots[lane], p.ranks[lane] = slot, rank
	p.signs.Set(lane, c.packed, c.factor, c.offset)
}

// drop removes the pivot of a lane; the last pivot takes its place.
func (p *pivots) drop(lane int) {
	last := len(p.slots) - 1
	p.signs.Move(lane, last)
	p.slots[lane], p.ranks[lane] = p.slots[last], p.ranks[last]
	p.slots, p.ranks = p.slots[:last], p.ranks[:last]
}

// lower finds the lowest of the pivots.
func (p *pivots) lower() {
	p.lowest = 0
	for lane, r := range p.ranks {
		if r > p.ranks[p.lowest] {
			p.lowest = lane
		}
	}
}

// bytes is the memory that p takes.
func (p *pivots) bytes() int64 {
	if p.signs == nil {
		return 0
	}
	return int64(len(p.signs.Codes) + 8*p.signs.Lanes() + 12*len(p.slots) + 4*len(p.mean))
}
