package index

import (
	"errors"
	"math/bits"

	"github.com/lexsem/lexsem/internal/snapshot"
	"github.com/lexsem/lexsem/internal/vec"
)

// The sections of a saved index, in this order. A slot numbers a vector; arrays are by slot, with zeros for slots that
// are not live. d is the dimension. Vectors and codes are checked by block when they are first read, links 8 slots at a
// time, the rest at opening. An id whose ordinal is not below that of the snapshot's state is not used.
const (
	tagHead   = "v.head"   // version u32, kind and metric as texts, u32 each: d, M, efConstruction, slots, live slots, entry of the graph; seed u64
	tagAlive  = "v.alive"  // one bit a slot, in u64: live
	tagIDs    = "v.ids"    // u64: ids of chunks
	tagTable  = "v.table"  // hash table of ids in 64 shards, which a reader can ignore: for each its length and the ids in it, u32; then the shards: slot + 1, 0 for none
	tagRows   = "v.rows"   // f32 × d
	tagCodes  = "v.codes"  // kinds with codes: i8 × d. compact and fast: ⌈d/2⌉ bytes; byte i holds component i in its low 4 bits and component ⌈d/2⌉ + i above, each plus 8
	tagScales = "v.scales" // kinds with codes: f32
	tagNorms  = "v.norms"  // kinds with codes, under dot and l2: f32
	tagLosts  = "v.losts"  // compact and fast: i8, ⌈127·r⌉ if the codes lose r of the vector's length
	tagNodes  = "v.nodes"  // graphs: u64, 16 bits each from the lowest: links, tree edges (the first of the links), back-links. 0 for a live slot other than the entry: it is in the unlinked buffer
	tagLinks  = "v.links"  // graphs: u32 × 2·M: links on layer 0 from the front; from the back, nodes that link here and are not linked to
	tagSpill  = "v.spill"  // graphs: back-links without room: slot, number, slots, u32 each
	tagTowers = "v.towers" // graphs: for each node above layer 0, ascending: slot, layers, and for each layer number and slots of links, number and slots of back-links, u32 each
	tagPivots = "v.pivots" // graphs: where searches begin (pivots.encode); empty for none, missing in older files
)

// saveVersion is the version of the format. In version 3, which can also be read, all vectors are in the graph:
// there is no unlinked buffer.
const saveVersion = 4

// saver writes the slots of a view; they get new numbers if chunks are left out.
type saver struct {
	v      *view
	places []int // of the chunks to write
	n      int   // slots to write
}

// newSaver leaves out chunks without live slots if renumber is set.
func newSaver(v *view, renumber bool) *saver {
	s, rows := &saver{v: v}, 1<<v.mem.rows.bits
	for c := range (v.n + rows - 1) / rows {
		end := min(v.n, (c+1)*rows)
		if renumber {
			end = v.end(c*rows, end-c*rows)
		}
		if end > c*rows {
			s.n = len(s.places)*rows + end - c*rows
			s.places = append(s.places, c)
		}
	}
	return s
}

// chunks calls f with the number, the first slot and the length of each chunk.
func (s *saver) chunks(f func(i, from, n int)) {
	rows := 1 << s.v.mem.rows.bits
	for i, c := range s.places {
		f(i, c*rows, min(rows, s.n-i*rows))
	}
}

// save writes head, tables and vectors.
func (s *saver) save(w *snapshot.Writer, b *base, entry uint32) error {
	x := s.v.mem
	w.Begin(tagHead)
	w.U32(saveVersion)
	w.Text(b.kind)
	w.Text(b.o.Metric)
	for _, v := range []int{b.o.Dim, b.o.M, b.o.EfConstruction, s.n, s.v.live, int(entry)} {
		w.U32(uint32(v))
	}
	w.U64(b.o.Seed)
	alive, table := s.tables()
	w.Begin(tagAlive)
	w.Uint64s(alive)
	if err := saveArena(w, tagIDs, &x.ids, s, w.Uint64s); err != nil {
		return err
	}
	w.Begin(tagTable)
	for i := range table {
		w.U32(uint32(len(table[i].slots)))
		w.U32(uint32(table[i].n))
	}
	for i := range table {
		w.Uint32s(table[i].slots)
	}
	err := saveArena(w, tagRows, &x.rows, s, w.Float32s)
	if err == nil && x.coded {
		err = x.codes.save(w, s)
	}
	if err == nil {
		_, err = w.Write(nil)
	}
	return err
}

// save writes the codes of live slots.
func (c *codes) save(w *snapshot.Writer, s *saver) error {
	errs := []error{saveArena(w, tagCodes, &c.rows, s, w.Int8s), saveArena(w, tagScales, &c.scales, s, w.Float32s)}
	if !c.m.unit {
		errs = append(errs, saveArena(w, tagNorms, &c.norms, s, w.Float32s))
	}
	if c.by == byInt4 {
		errs = append(errs, saveArena(w, tagLosts, &c.losts, s, w.Int8s))
	}
	return errors.Join(errs...)
}

// saveArena writes the data of live slots, and zeros for the others, which may be written to at this moment.
// The error is ErrCorrupt.
func saveArena[T float32 | int8 | uint64](w *snapshot.Writer, tag string, a *arena[T], s *saver, write func([]T)) (err error) {
	w.Begin(tag)
	var copied []T
	slots := make([]uint32, 1<<a.bits)
	s.chunks(func(_, from, n int) {
		c := from >> a.bits
		if err == nil {
			err = a.check(c)
		}
		if err != nil {
			return
		}
		rows := a.run(from, n)
		if !s.v.whole(from, n) {
			copied = vec.Grown(copied, n*a.dim)
			clear(copied)
			for _, slot := range slots[:s.v.pick(slots, from, n)] {
				copy(copied[(int(slot)-from)*a.dim:], a.row(slot))
			}
			rows = copied
		}
		write(rows)
		if at := a.place(c); at.in != nil {
			at.in.Forget(at.from, at.n)
		}
	})
	return err
}

// tables makes the bits of live slots and the table of their ids, with the new numbers.
func (s *saver) tables() (alive []uint64, table [64]savedShard) {
	alive = make([]uint64, (s.n+63)/64)
	each := func(f func(slot uint32, h uint64)) {
		slots, rows := make([]uint32, 1<<s.v.mem.rows.bits), 1<<s.v.mem.rows.bits
		s.chunks(func(i, from, n int) {
			for _, slot := range slots[:s.v.pick(slots, from, n)] {
				f(uint32(i*rows+int(slot)-from), hash(s.v.mem.id(slot)))
			}
		})
	}
	each(func(slot uint32, h uint64) {
		alive[slot>>6] |= 1 << (slot & 63)
		table[h>>58].n++
	})
	for i := range table {
		if n := table[i].n; n > 0 {
			table[i].slots = make([]uint32, max(8, 1<<bits.Len(uint(4*n/3))))
		}
	}
	each(func(slot uint32, h uint64) {
		t := table[h>>58].slots
		mask := uint64(len(t) - 1)
		i := h & mask
		for t[i] != 0 {
			i = (i + 1) & mask
		}
		t[i] = slot + 1
	})
	return alive, table
}

type savedShard struct {
	slots []uint32
	n     int
}

func (f *flat) Save(w *snapshot.Writer) error {
	_, err := f.SaveMarked(w)
	return err
}

func (f *flat) SaveMarked(w *snapshot.Writer) (Mark, error) {
	f.write.Lock()
	f.saves++
	at, r := f.saves, f.views.Acquire()
	f.write.Unlock()
	defer r.Release()
	s := newSaver(r.Value, true)
	return Mark{of: &f.base, at: at, places: s.places, n: s.n}, s.save(w, &f.base, 0)
}
