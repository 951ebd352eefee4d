package local

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/lexsem/lexsem/internal/snapshot"
	"github.com/lexsem/lexsem/internal/vec"
	"github.com/lexsem/lexsem/modulate"
)

// The sections of a snapshot, all numbers little-endian:
//
//	lb.head   u32 d, |V|, cells, groups, TableFrom; float64 λ; u64 passages;
//	          with groups, the first cell of each and the end, u32;
//	          for each cell u32 passages, rows, tokens, slots; float64 lost
//	lb.cent   float32 centroids [cells × d], groups [groups × d]
//	lb.place  u64 ids of the passages, ascending; u32 the cell of each
//	lb.words  for each token, and the end: u32 df, first of its cells in lb.lists
//	lb.lists  u32 the cells of each token, ascending
//	lb.cells  for each cell with passages, from a multiple of 8 bytes on:
//	          u64 ids; float32 scales of the codes; float32 scales of h;
//	          float32 scales of the rows; u32 tokens; u32 starts, one more than
//	          tokens; u32 slots; int8 codes, h, rows
const (
	sectionHead  = "lb.head"
	sectionCent  = "lb.cent"
	sectionPlace = "lb.place"
	sectionWords = "lb.words"
	sectionLists = "lb.lists"
	sectionCells = "lb.cells"
)

// bytes is the length of a cell's record.
func (s *slot) bytes(d int) uint64 {
	if s.n == 0 {
		return 0
	}
	n, rows, tokens, slots := uint64(s.n), uint64(s.rows), uint64(s.tokens), uint64(s.slots)
	all := 16*n + 4*(rows+2*tokens+1+slots) + (2*n+rows)*uint64(d)
	return (all + 7) &^ 7
}

// Save writes the bridges as sections lb.… of a snapshot, in one pass. Errors: those of writing,
// which w.Close also returns, and ErrCorrupt if cells are in a damaged file.
func (b *Bridges) Save(w *snapshot.Writer) error {
	_, err := guarded(func() (struct{}, error) { return struct{}{}, b.save(w) })
	return err
}

func (b *Bridges) save(w *snapshot.Writer) (err error) {
	p := b.partition
	w.Begin(sectionHead)
	w.Uint32s([]uint32{uint32(b.dim), uint32(b.vocab), uint32(len(b.cells)), uint32(len(p.groups) / p.dim), uint32(b.o.TableFrom)})
	w.Float64s([]float64{b.o.Lambda})
	w.U64(uint64(b.n))
	w.Uint32s(p.first)
	lost := make([]float64, len(b.cells))
	for i, s := range b.cells {
		if lost[i], err = b.lost(i); err != nil {
			return err
		}
		w.Uint32s([]uint32{uint32(s.n), uint32(s.rows), uint32(s.tokens), uint32(s.slots)})
		w.Float64s(lost[i : i+1])
	}
	w.Begin(sectionCent)
	w.Float32s(p.centroids)
	w.Float32s(p.groups)
	w.Begin(sectionPlace)
	all := b.places.all()
	w.Uint64s(all.ids)
	w.Uint32s(all.cells)
	if err := b.words.save(w); err != nil {
		return err
	}
	w.Begin(sectionCells)
	for i, s := range b.cells {
		c, err := b.cell(i)
		if err != nil {
			return err
		}
		if s.n == 0 {
			continue
		}
		w.Uint64s(c.ids)
		for _, scales := range [][]float32{c.scale, c.hScale, c.rowScale} {
			w.Float32s(scales)
		}
		for _, list := range [][]uint32{c.tokens, c.starts, c.slots} {
			w.Uint32s(list)
		}
		for _, codes := range [][]int8{c.codes, c.h, c.rows} {
			w.Int8s(codes)
		}
		w.Write(make([]byte, -(s.n*2*b.dim+s.rows*b.dim+4*(s.rows+2*s.tokens+1+s.slots))&7))
	}
	_, err = w.Write(nil)
	return err
}

// lost is that of cell i; it does not read the cell.
func (b *Bridges) lost(i int) (float64, error) {
	if r := b.cells[i].at; r != nil {
		return r.lost, nil
	}
	c, err := b.cell(i)
	if err != nil {
		return 0, err
	}
	return c.lost, nil
}

// save writes the present contents as one table.
func (d *directory) save(w *snapshot.Writer) error {
	w.Begin(sectionWords)
	first := 0
	for t := range int32(d.vocab()) {
		list, err := d.cells(t)
		if err != nil {
			return err
		}
		w.Uint32s([]uint32{uint32(d.count(t)), uint32(first)})
		first += len(list)
	}
	w.Uint32s([]uint32{0, uint32(first)})
	w.Begin(sectionLists)
	for t := range int32(d.vocab()) {
		list, err := d.cells(t)
		if err != nil {
			return err
		}
		w.Uint32s(list)
	}
	return nil
}

// Open opens saved bridges with their partition. The other arguments are those of New. Cells are
// read in place and checked at their first use, so f must stay open as long as the bridges, or
// any made from them, are used. ErrCorrupt that wraps snapshot.ErrDamaged for damage, here or in
// the call that meets it; ErrCorrupt that wraps snapshot.ErrForeign for other dimensions or
// options. Cost: a read of 12 bytes a passage, 8 a token of the vocabulary, and the centroids.
func Open(dim, vocab int, vectors func(id uint64) []float32, o Options, f *snapshot.File) (*Bridges, error) {
	return guarded(func() (*Bridges, error) { return open(dim, vocab, vectors, o, f) })
}

func open(dim, vocab int, vectors func(id uint64) []float32, o Options, f *snapshot.File) (*Bridges, error) {
	b, err := New(dim, vocab, vectors, o)
	if err != nil {
		return nil, err
	}
	b.mapped = true
	if err := b.openHead(f); err != nil {
		return nil, err
	}
	if err := b.openPlaces(f); err != nil {
		return nil, err
	}
	if err := b.words.open(f, vocab, b.n); err != nil {
		return nil, err
	}
	return b, nil
}

func (b *Bridges) openHead(f *snapshot.File) error {
	head, err := f.Section(sectionHead)
	if err != nil {
		return err
	}
	cells, err := f.Section(sectionCells)
	if err != nil {
		return err
	}
	r := head.Reader()
	d, v, k, groups, tableFrom := r.U32(), r.U32(), r.U32(), r.U32(), r.U32()
	lambda, n := math.Float64frombits(r.U64()), r.U64()
	if r.Err() != nil {
		return r.Err()
	}
	if int(d) != b.dim || int(v) != b.vocab || lambda != b.o.Lambda || int(tableFrom) != b.o.TableFrom {
		return fmt.Errorf("%w: local bridges of dimension %d, vocabulary %d, lambda %v and tables from %d passages where %d, %d, %v and %d are in use; make them anew from the passages: %w",
			modulate.ErrCorrupt, d, v, lambda, tableFrom, b.dim, b.vocab, b.o.Lambda, b.o.TableFrom, snapshot.ErrForeign)
	}
	p := &partition{dim: b.dim}
	if groups > 0 {
		p.first = slices.Clone(r.Uint32s(int(groups) + 1))
	}
	if r.Err() != nil || k == 0 || r.Len() != 24*int(k) || groups > k {
		return corrupt("%d cells in %d groups do not fit their table", k, groups)
	}
	for i, c := range p.first {
		if i == 0 && c != 0 || i > 0 && c <= p.first[i-1] || i == int(groups) && c != k {
			return corrupt("groups of cells begin at %d", p.first)
		}
	}
	slots, records := make([]slot, k), make([]record, k)
	b.cells = make([]*slot, k)
	var from, passages uint64
	for i := range slots {
		s := &slots[i]
		s.n, s.rows, s.tokens, s.slots = int(r.U32()), int(r.U32()), int(r.U32()), int(r.U32())
		records[i] = record{cells, int(from), math.Float64frombits(r.U64())}
		s.at, b.cells[i] = &records[i], s
		from, passages = from+s.bytes(b.dim), passages+uint64(s.n)
		if lost := records[i].lost; from > uint64(cells.Len()) || s.n == 0 && s.rows+s.tokens+s.slots > 0 || s.rows > s.tokens || !(lost >= 0 && lost <= 2) {
			return corrupt("cell %d has %d passages, %d rows, %d tokens and %d slots", i, s.n, s.rows, s.tokens, s.slots)
		}
	}
	if from != uint64(cells.Len()) || passages != n {
		return corrupt("cells of %d bytes and %d passages where there are %d and %d", from, passages, cells.Len(), n)
	}
	b.n = int(n)
	cent, err := f.Section(sectionCent)
	if err != nil {
		return err
	}
	rows, err := cent.All()
	if err != nil {
		return err
	}
	if uint64(len(rows)) != 4*(uint64(k)+uint64(groups))*uint64(d) {
		return corrupt("centroids of %d bytes", len(rows))
	}
	p.centroids = snapshot.Float32s(rows[:4*int(k)*b.dim])
	p.groups = snapshot.Float32s(rows[4*int(k)*b.dim:])
	if !vec.Finite(p.centroids) || !vec.Finite(p.groups) {
		return corrupt("a centroid is not finite")
	}
	b.partition = p
	return nil
}

// openPlaces copies the table of passages, which is small.
func (b *Bridges) openPlaces(f *snapshot.File) error {
	s, err := f.Section(sectionPlace)
	if err != nil {
		return err
	}
	data, err := s.All()
	if err != nil {
		return err
	}
	if len(data) != 12*b.n {
		return corrupt("table of passages of %d bytes for %d", len(data), b.n)
	}
	if b.n == 0 {
		return nil
	}
	r := run{slices.Clone(snapshot.Uint64s(data[:8*b.n])), slices.Clone(snapshot.Uint32s(data[8*b.n:]))}
	left := make([]int, len(b.cells))
	for i, c := range b.cells {
		left[i] = c.n
	}
	for i, c := range r.cells {
		if i > 0 && r.ids[i] <= r.ids[i-1] || int(c) >= len(left) || left[c] == 0 {
			return corrupt("passage %d stands wrongly in cell %d", r.ids[i], c)
		}
		left[c]--
	}
	b.places = places{[]run{r}}
	return nil
}

func (d *directory) open(f *snapshot.File, vocab, n int) error {
	s, err := f.Section(sectionWords)
	if err != nil {
		return err
	}
	data, err := s.All()
	if err != nil {
		return err
	}
	if d.file, err = f.Section(sectionLists); err != nil {
		return err
	}
	d.heads, d.lists = snapshot.Uint32s(data), snapshot.Uint32s(d.file.Raw())
	if vocab == 0 {
		vocab = len(data)/8 - 1
	}
	if vocab < 0 || len(data) != 8*(vocab+1) || d.file.Len()%4 != 0 || d.heads[1] != 0 || int(d.heads[2*vocab+1]) != len(d.lists) {
		return corrupt("directory of %d bytes, lists of %d", len(data), d.file.Len())
	}
	for t := range vocab {
		if int(d.heads[2*t]) > n || d.heads[2*t+3] < d.heads[2*t+1] {
			return corrupt("token %d is in %d of %d passages", t, d.heads[2*t], n)
		}
	}
	return nil
}

// record is the place of a cell in a file.
type record struct {
	file *snapshot.Section
	from int
	lost float64
}

// read checks the cell and returns it; it uses the memory of the file.
func (r *record) read(s *slot, d, vocab int) (*cell, error) {
	data, err := r.file.Bytes(r.from, int(s.bytes(d)))
	if err != nil {
		return nil, err
	}
	c := &cell{lost: r.lost}
	if s.n == 0 {
		return c, nil
	}
	take := func(n int) []byte {
		b := data[:n:n]
		data = data[n:]
		return b
	}
	c.ids = snapshot.Uint64s(take(8 * s.n))
	c.scale, c.hScale, c.rowScale = snapshot.Float32s(take(4*s.n)), snapshot.Float32s(take(4*s.n)), snapshot.Float32s(take(4*s.rows))
	c.tokens, c.starts, c.slots = snapshot.Uint32s(take(4*s.tokens)), snapshot.Uint32s(take(4*(s.tokens+1))), snapshot.Uint32s(take(4*s.slots))
	c.codes, c.h, c.rows = snapshot.Int8s(take(s.n*d)), snapshot.Int8s(take(s.n*d)), snapshot.Int8s(take(s.rows*d))
	if err := c.check(vocab); err != nil {
		return nil, err
	}
	c.complete()
	return c, nil
}

// check checks that no number of a cell points outside it.
func (c *cell) check(vocab int) error {
	if !vec.Finite(c.scale) || !vec.Finite(c.hScale) || !vec.Finite(c.rowScale) {
		return corrupt("a scale is not finite")
	}
	for i, id := range c.ids {
		if i > 0 && id <= c.ids[i-1] {
			return corrupt("passage %d is out of order", id)
		}
	}
	for i, t := range c.tokens {
		if int(t) >= cmp.Or(vocab, maxVocab) || i > 0 && i != len(c.rowScale) && t <= c.tokens[i-1] || c.starts[i+1] <= c.starts[i] || c.count(i) > len(c.ids) {
			return corrupt("token %d is out of order or range", t)
		}
	}
	if c.starts[0] != 0 || int(c.starts[len(c.tokens)]) != len(c.slots) {
		return corrupt("its tokens are those of %d passages, not %d", c.starts[len(c.tokens)], len(c.slots))
	}
	for i, s := range c.slots {
		if int(s) >= len(c.ids) {
			return corrupt("slot %d is passage %d of %d", i, s, len(c.ids))
		}
	}
	return nil
}
