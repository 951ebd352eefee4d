package index

// gather computes distances to scattered rows, four at a time.
type gather struct {
	m    *metric
	q    []float32
	tags [4]uint32
	rows [4][]float32
	dist [4]float32
	n    int

	space [4][]float32 // of rows that are read aside
}

// add notes a row with a tag and reports whether flush is due.
func (g *gather) add(tag uint32, row []float32) bool {
	g.tags[g.n], g.rows[g.n] = tag, row
	g.n++
	return g.n == 4
}

// addSlot is add for the vector in a slot of x.
func (g *gather) addSlot(tag uint32, x *memory, slot uint32) bool {
	return g.add(tag, x.read(slot, &g.space[g.n]))
}

// flush returns the added tags with the distances of their rows, valid until the next
// add.
func (g *gather) flush() ([]uint32, []float32) {
	n := g.n
	if n == 0 {
		return nil, nil
	}
	for i := n; i < 4; i++ {
		g.rows[i] = g.rows[n-1]
	}
	g.m.four(&g.dist, g.q, g.rows[0], g.rows[1], g.rows[2], g.rows[3])
	g.n = 0
	return g.tags[:n], g.dist[:n]
}
