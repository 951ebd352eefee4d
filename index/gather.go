package index

import "math"

// scores is Scores over any table of slots.
func scores(dst []float32, ids []uint64, g *gather, slots *idTable) {
	var at [4]int // where in dst the gathered ones go
	store := func() {
		_, dist := g.flush()
		for j, d := range dist {
			dst[at[j]] = d
		}
	}
	for i, id := range ids {
		slot, ok := slots.get(id)
		if !ok {
			dst[i] = float32(math.NaN())
			continue
		}
		at[g.n] = i
		if g.add(slot) {
			store()
		}
	}
	store()
}

// gather computes distances to rows that lie apart, four at a time.
type gather struct {
	m     *metric
	rows  *arena[float32]
	q     []float32
	slots [4]uint32
	dist  [4]float32
	n     int
}

// add notes a slot and reports whether flush is due.
func (g *gather) add(slot uint32) bool {
	g.slots[g.n] = slot
	g.n++
	return g.n == 4
}

// flush returns the noted slots with their distances, valid until the next
// add.
func (g *gather) flush() ([]uint32, []float32) {
	n := g.n
	if n == 0 {
		return nil, nil
	}
	for i := n; i < 4; i++ {
		g.slots[i] = g.slots[n-1]
	}
	r := g.rows
	g.m.four(&g.dist, g.q, r.row(g.slots[0]), r.row(g.slots[1]), r.row(g.slots[2]), r.row(g.slots[3]))
	g.n = 0
	return g.slots[:n], g.dist[:n]
}
