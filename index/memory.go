package index

// memory holds the ids, rows and codes of vectors, by slot. It is a value that never
// changes, except for slots that no search reads yet; the next one shares its chunks.
type memory struct {
	m     *metric
	ids   arena[uint64]
	rows  arena[float32]
	codes codes
	coded bool // by codes.by
}

func newMemory(dim int, m *metric, by coding) *memory {
	b := chunkBits(dim)
	return &memory{
		m:     m,
		ids:   arena[uint64]{dim: 1, bits: b},
		rows:  arena[float32]{dim: dim, bits: b},
		codes: newCodes(dim, m, by),
		coded: by != noCodes,
	}
}

func (x *memory) id(slot uint32) uint64 { return x.ids.row(slot)[0] }

// slots is the number of slots there is room for.
func (x *memory) slots() int { return len(x.rows.chunks) << x.rows.bits }

// read returns the vector of a slot. One that lies in a file that is read aside is copied to space.
func (x *memory) read(slot uint32, space *[]float32) []float32 {
	row := x.rows.row(slot)
	if at := x.rows.place(int(slot >> x.rows.bits)); at.in != nil && at.in.IsAside() {
		if *space == nil {
			*space = make([]float32, len(row))
		}
		if at.in.ReadAside(*space, at.from+int(slot&(1<<x.rows.bits-1))*4*len(row)) {
			return *space
		}
	}
	return row
}

// query returns a stored vector in the form of a query; see codes.query.
func (x *memory) query(slot uint32, space []int8) query {
	row := x.rows.row(slot)
	if !x.coded {
		return query{row: row}
	}
	return x.codes.query(slot, row, space)
}

// put writes an id and a checked vector into a slot that nobody reads.
func (x *memory) put(slot uint32, id uint64, v []float32) {
	row := x.rows.row(slot)
	x.m.put(row, v)
	if x.coded {
		x.codes.put(slot, row)
	}
	x.ids.row(slot)[0] = id
}

// move copies one slot to another one that nobody reads.
func (x *memory) move(to, from uint32) {
	copy(x.rows.row(to), x.rows.row(from))
	if x.coded {
		x.codes.move(to, from)
	}
	x.ids.row(to)[0] = x.id(from)
}

// grown is x with room for n slots in total.
func (x *memory) grown(n int) *memory {
	g := *x
	g.rows = x.rows.grown(n)
	n = g.slots() // rows may have grown by more than others would
	g.ids = x.ids.grown(n)
	if x.coded {
		g.codes = x.codes.grown(n)
	}
	return &g
}

// copied is x with copies of the given chunks, which it checks first; the error is
// ErrCorrupt.
func (x *memory) copied(places []int) (*memory, error) {
	for _, p := range places {
		if err := x.check(p); err != nil {
			return nil, err
		}
	}
	g := *x
	g.ids, g.rows = x.ids.copied(places), x.rows.copied(places)
	if x.coded {
		g.codes = x.codes.copied(places)
	}
	return &g, nil
}

// without is x with new, empty chunks at places in fresh, and without those at places in
// gone.
func (x *memory) without(fresh, gone []int) *memory {
	g := *x
	g.ids, g.rows = renewed(x.ids, fresh, gone), renewed(x.rows, fresh, gone)
	if x.coded {
		g.codes.rows = renewed(x.codes.rows, fresh, gone)
		g.codes.scales = renewed(x.codes.scales, fresh, gone)
		if !x.m.unit {
			g.codes.norms = renewed(x.codes.norms, fresh, gone)
		}
	}
	return &g
}

func renewed[T float32 | int8 | uint64](a arena[T], fresh, gone []int) arena[T] {
	b := a.with(fresh, func(int) []T { return a.blank() })
	return b.with(gone, func(int) []T { return nil })
}

// check makes a chunk ready for reading, or returns ErrCorrupt if it is damaged.
func (x *memory) check(chunk int) error {
	if err := x.rows.check(chunk); err != nil {
		return err
	}
	return x.codes.rows.check(chunk)
}

// Memory is the size of the parts of an index in bytes, mapped parts of a snapshot included.
type Memory struct {
	Vectors int64 // float32 vectors
	Codes   int64 // codes, their scales and norms
	Graph   int64 // links and pivots
	Tables  int64 // ids, their slots, and which are live
}

// Total is the sum of all parts.
func (m Memory) Total() int64 { return m.Vectors + m.Codes + m.Graph + m.Tables }

func (x *memory) bytes() Memory {
	m := Memory{Vectors: x.rows.bytes(4), Tables: x.ids.bytes(8)}
	if x.coded {
		m.Codes = x.codes.rows.bytes(1) + x.codes.scales.bytes(4) + x.codes.norms.bytes(4) + x.codes.losts.bytes(1)
	}
	return m
}
