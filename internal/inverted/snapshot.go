package inverted

import (
	"errors"
	"fmt"
	"math"
	"math/bits"

	"github.com/lexsem/lexsem/internal/snapshot"
)

// The sections of Words in a snapshot, all numbers little-endian; slots of
// removed documents and their postings included.
//
//	w.head   version (4), 3, or 4 where terms that stand in a row are written once; k1 (8), b (8), seed of hashes (8), slots (4), terms
//	         (4), terms of all live documents (8), analysis
//	w.text   the terms one after the other
//	w.textat their offsets (4 each), and the end
//	w.textix table from terms to their numbers (4 each)
//	w.lists  of each term, and of one more: live documents, postings, the first
//	         of its blocks, the first of its bytes, low and high half (4 each)
//	w.terms  of up to 16,384 terms in place of w.textat, w.textix and w.lists: for each the length of its text, live
//	         documents, postings less these, and bytes of postings, as uvarints
//	w.dead   a bit for each slot of a removed document, in words of 8 bytes; they
//	         may end before the slots do
//	w.blocks of each full block: see block (4 each)
//	w.posts  postings, see list
//	w.ids    of each slot (8)
//	w.idix   table from ids to slots (4 each)
//	w.lens   number of terms of each slot (4)
//	w.fwdat  offset of the forward list of each slot (8), and the end
//	w.fwd    forward lists, see appendForward
//
// The sections up to w.dead are checked when they are opened, the others when they are read.
const snapshotVersion = 3

func (x *Words) version() uint32 {
	if x.form == repeated {
		return snapshotVersion + 1
	}
	return snapshotVersion
}

// shortTerms is the number of terms up to which w.terms is written. It is shorter than what it replaces, which opening
// then makes in memory.
var shortTerms = 1 << 14

// Save writes the index as sections of w. Errors: ErrCorrupt if x reads from a damaged snapshot,
// and those of writing. Cost: a copy of the bytes, and two tables.
func (x *Words) Save(w *snapshot.Writer) (err error) {
	defer wrapped(&err)
	defer snapshot.Guard(&err)()
	w.Begin("w.head")
	w.U32(x.version())
	w.U64(math.Float64bits(x.o.K1))
	w.U64(math.Float64bits(x.o.B))
	w.U64(x.terms.seed)
	w.U32(x.len())
	w.U32(uint32(x.terms.len()))
	w.U64(x.total)
	w.Text(x.o.Analysis)
	terms := uint32(x.terms.len())
	if int(terms) <= shortTerms {
		err = x.saveTerms(w, terms)
	} else {
		err = errors.Join(x.terms.save(w), x.saveLists(w, terms))
	}
	if err != nil {
		return err
	}
	if err := x.savePostings(w, terms); err != nil {
		return err
	}
	return x.saveSlots(w)
}

func (d *dictionary) save(w *snapshot.Writer) error {
	t := sizedTable(d.len())
	w.Begin("w.text")
	at := []uint32{0}
	for n := range uint32(d.len()) {
		name := d.name(n)
		t.add(hashText(d.seed, name), n)
		w.Write([]byte(name))
		if uint64(at[n])+uint64(len(name)) > math.MaxUint32 {
			return fmt.Errorf("terms of more than 4 GiB: %w", ErrFull)
		}
		at = append(at, at[n]+uint32(len(name)))
	}
	w.Begin("w.textat")
	w.Uint32s(at)
	w.Begin("w.textix")
	w.Uint32s(t.entries)
	return nil
}

// saveTerms writes terms and their lists in short form.
func (x *Words) saveTerms(w *snapshot.Writer, terms uint32) error {
	w.Begin("w.text")
	for term := range terms {
		w.Write([]byte(x.terms.name(term)))
	}
	w.Begin("w.terms")
	for term := range terms {
		v, err := x.view(term)
		if err != nil {
			return err
		}
		for _, n := range []uint64{uint64(len(x.terms.name(term))), uint64(v.df), uint64(v.n - v.df), uint64(len(v.bytes) + len(v.data))} {
			w.Uvarint(n)
		}
	}
	return nil
}

// openTerms makes of a section of saveTerms what it replaces.
func (d *dictionary) openTerms(s *snapshot.Section, terms uint32) (*dictionaryFile, []uint32, error) {
	f := &dictionaryFile{at: []uint32{0}}
	r, lists := s.Reader(), []uint32(nil)
	var text, block, at uint64
	for range terms {
		length, df, dead, size := r.Uvarint(), r.Uvarint(), r.Uvarint(), r.Uvarint()
		n := df + dead
		if r.Err() != nil {
			break
		}
		if text += length; length > math.MaxUint32 || text > math.MaxUint32 || df > math.MaxUint32 || n > math.MaxUint32 || n < dead || size > math.MaxInt64-at {
			return nil, nil, corrupt("a term of %d bytes with %d and %d postings in %d bytes", length, df, dead, size)
		}
		lists = append(lists, uint32(df), uint32(n), uint32(block), uint32(at), uint32(at>>32))
		f.at = append(f.at, uint32(text))
		block, at = block+n/blockLen, at+size
	}
	if err := r.Done(); err != nil {
		return nil, nil, err
	}
	return f, append(lists, 0, 0, uint32(block), uint32(at), uint32(at>>32)), nil
}

// indexed makes the table of the terms of f.
func (d *dictionary) indexed(f *dictionaryFile) {
	t := sizedTable(len(f.at) - 1)
	for n := range uint32(len(f.at) - 1) {
		t.add(hashText(d.seed, string(f.name(n))), n)
	}
	f.index = *t
}

func (c *core) saveLists(w *snapshot.Writer, terms uint32) error {
	w.Begin("w.lists")
	block, at := uint32(0), uint64(0)
	for term := range terms {
		v, err := c.view(term)
		if err != nil {
			return err
		}
		w.Uint32s([]uint32{v.df, v.n, block, uint32(at), uint32(at >> 32)})
		block += uint32(v.full())
		at += uint64(len(v.bytes) + len(v.data))
	}
	w.Uint32s([]uint32{0, 0, block, uint32(at), uint32(at >> 32)})
	return nil
}

func (c *core) savePostings(w *snapshot.Writer, terms uint32) error {
	w.Begin("w.dead")
	for i := range c.dead.Len() {
		w.U64(c.dead.At(i))
	}
	w.Begin("w.blocks")
	for term := range terms {
		v, err := c.view(term)
		if err != nil {
			return err
		}
		for i := range v.full() {
			b := *v.block(i)
			if i >= len(v.head) {
				b.end += uint32(len(v.bytes))
			}
			w.Uint32s([]uint32{b.next, b.end, b.top, b.shortest[0], b.shortest[1], b.shortest[2]})
		}
	}
	w.Begin("w.posts")
	for term := range terms {
		v, err := c.view(term)
		if err != nil {
			return err
		}
		if len(v.bytes) > 0 {
			if err := check(v.section, v.offset, len(v.bytes)); err != nil {
				return err
			}
			w.Write(v.bytes)
		}
		w.Write(v.data)
	}
	return nil
}

func (c *core) saveSlots(w *snapshot.Writer) error {
	t := sizedTable(int(c.len()))
	w.Begin("w.ids")
	for slot := range c.len() {
		id, err := c.id(slot)
		if err != nil {
			return err
		}
		t.add(hashID(id), slot)
		w.U64(id)
	}
	w.Begin("w.idix")
	w.Uint32s(t.entries)
	w.Begin("w.lens")
	for slot := range c.len() {
		n, err := c.length(slot)
		if err != nil {
			return err
		}
		w.U32(n)
	}
	w.Begin("w.fwdat")
	at := uint64(0)
	for slot := range c.len() {
		b, err := c.forward(slot)
		if err != nil {
			return err
		}
		w.U64(at)
		at += uint64(len(b))
	}
	w.U64(at)
	w.Begin("w.fwd")
	for slot := range c.len() {
		b, err := c.forward(slot)
		if err != nil {
			return err
		}
		if _, err := w.Write(b); err != nil {
			return err
		}
	}
	return nil
}

// OpenWords opens a saved index in place: the snapshot must stay open as long as the index, or a
// value made from it by edits, is used. Options must be those of the saved index. Errors:
// ErrOptions, ErrMismatch for another version or options, ErrCorrupt. Damage in parts that are not
// read here is an ErrCorrupt of a later call. Cost: a checksum over the dictionary, some 60 bytes
// a term.
func OpenWords(o Options, f *snapshot.File) (x *Words, err error) {
	x, err = NewWords(o)
	if err != nil {
		return nil, err
	}
	defer wrapped(&err)
	defer snapshot.Guard(&err)()
	slots, terms, err := x.openHead(f)
	if err != nil {
		return nil, err
	}
	r := opener{f: f}
	x.terms.from, x.from = terms, slots
	b := &base{slots: slots, terms: terms}
	if s, missing := f.Section("w.terms"); missing == nil {
		if x.terms.file, b.lists, err = x.terms.openTerms(s, terms); err != nil {
			return nil, err
		}
		x.terms.file.text = r.whole("w.text")
		if end := x.terms.file.at[terms]; r.err == nil && int(end) != len(x.terms.file.text) {
			return nil, corrupt("terms of %d bytes, their texts have %d", end, len(x.terms.file.text))
		}
		x.terms.indexed(x.terms.file)
	} else {
		x.terms.file = &dictionaryFile{
			text:  r.whole("w.text"),
			at:    snapshot.Uint32s(r.whole("w.textat")),
			index: table{entries: snapshot.Uint32s(r.whole("w.textix"))},
		}
		b.lists = snapshot.Uint32s(r.whole("w.lists"))
	}
	*b = base{
		slots: slots, terms: terms,
		lists:    b.lists,
		blocks:   open(&r, "w.blocks", snapshot.Uint32s),
		postings: r.section("w.posts"),
		ids:      open(&r, "w.ids", snapshot.Uint64s),
		index:    open(&r, "w.idix", snapshot.Uint32s),
		lengths:  open(&r, "w.lens", snapshot.Uint32s),
		at:       open(&r, "w.fwdat", snapshot.Uint64s),
		entries:  r.section("w.fwd"),
	}
	dead := snapshot.Uint64s(r.whole("w.dead"))
	if r.err != nil {
		return nil, r.err
	}
	n, t := int(slots), int(terms)
	if n > MaxLen || len(b.ids.v) != n || len(b.lengths.v) != n || len(b.at.v) != n+1 || len(dead) > (n+63)/64 ||
		len(x.terms.file.at) != t+1 || len(b.lists) != (t+1)*listFields ||
		!power(len(b.index.v)) || !power(len(x.terms.file.index.entries)) {
		return nil, corrupt("sections do not fit %d documents of %d terms", slots, terms)
	}
	x.base = b
	x.live = n
	e := x.dead.Edit()
	e.Resize(len(dead))
	for i, w := range dead {
		if i == n/64 && w>>(n%64) != 0 {
			return nil, corrupt("removed documents beyond %d", n)
		}
		if w != 0 {
			e.Set(i, w)
			x.live -= bits.OnesCount64(w)
		}
	}
	x.dead = e.Done()
	for slot := x.border(); slot < slots; slot++ {
		length, err := b.length(slot)
		if err != nil {
			return nil, err
		}
		x.lengths = append(x.lengths, length)
	}
	return x, nil
}

// openHead reads the first section, compares it with the expected values, and returns the numbers
// of slots and terms.
func (x *Words) openHead(f *snapshot.File) (slots, terms uint32, err error) {
	s, err := f.Section("w.head")
	if err != nil {
		return 0, 0, err
	}
	r := s.Reader()
	if v := r.U32(); r.Err() == nil && v != x.version() {
		return 0, 0, fmt.Errorf("words of version %d, want %d: %w", v, x.version(), ErrMismatch)
	}
	k1, b := math.Float64frombits(r.U64()), math.Float64frombits(r.U64())
	x.terms.seed = r.U64()
	slots, terms = r.U32(), r.U32()
	x.total = r.U64()
	analysis := r.Text()
	if err := r.Done(); err != nil {
		return 0, 0, err
	}
	if k1 != x.o.K1 || b != x.o.B || analysis != x.o.Analysis {
		return 0, 0, fmt.Errorf("words of k1 %v, b %v, analysis %q; want %v, %v, %q: %w", k1, b, analysis, x.o.K1, x.o.B, x.o.Analysis, ErrMismatch)
	}
	return slots, terms, nil
}

// opener opens sections. It keeps the first error.
type opener struct {
	f   *snapshot.File
	err error
}

func (o *opener) section(tag string) *snapshot.Section {
	s, err := o.f.Section(tag)
	if o.err == nil {
		o.err = err
	}
	return s
}

// whole returns a section after checking it.
func (o *opener) whole(tag string) []byte {
	s := o.section(tag)
	if o.err != nil {
		return nil
	}
	b, err := s.All()
	o.err = err
	return b
}

// open returns a section of numbers, which is checked when it is read.
func open[T any](o *opener, tag string, numbers func([]byte) []T) column[T] {
	s := o.section(tag)
	if o.err != nil {
		return column[T]{}
	}
	return column[T]{s, numbers(s.Raw())}
}

func power(n int) bool { return n > 0 && n&(n-1) == 0 }
