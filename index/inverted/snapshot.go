package inverted

import (
	"encoding/binary"
	"fmt"
	"io"
	"math"

	"github.com/lexsem/lexsem/internal/section"
)

// A snapshot is a sequence of sections (package section); numbers are
// little-endian or varints.
//
//	HEAD  version (4), kind (1: 0 words, 1 sparse), k1 (8), b (8), vocabulary
//	      (4), length of analysis (1), analysis, documents (8), terms (4)
//	TERM  words only, repeated: texts of terms, length (varint) and bytes each;
//	      those of most documents first, ties ascending
//	DOCS  repeated: documents, ascending by id: distance to the id before it
//	      (varint), number of entries (varint), entries: for words term<<1 |
//	      beside (varint), for sparse term (varint) and weight (4), by term
//	END   empty
//
// It has each document once. Postings, lengths and counts are made from that
// when it is read, so that they cannot disagree. Equal documents give equal
// bytes, whatever was added and deleted before.
const snapshotVersion = 1

// sectionSize is about how long the payload of a repeated section gets.
const sectionSize = 1 << 18

// WriteTo writes the index and returns the number of bytes. Searches go on
// meanwhile; Add and Delete wait.
func (x *Words) WriteTo(w io.Writer) (int64, error) {
	x.write.Lock()
	defer x.write.Unlock()
	order := x.c.order(x.names)
	s := &sections{w: section.NewWriter(w)}
	s.head(0, x.o.K1, x.o.B, 0, x.o.Analysis, x.c.live, len(order))
	number := make([]uint32, len(x.names))
	for n, t := range order {
		number[t] = uint32(n)
		s.buf = binary.AppendUvarint(s.buf, uint64(len(x.names[t])))
		s.buf = append(s.buf, x.names[t]...)
		s.cut("TERM", n == len(order)-1)
	}
	s.documents(x.c, func(t uint32) uint32 { return number[t] })
	return s.w.Finish()
}

// WriteTo writes the index and returns the number of bytes. Searches go on
// meanwhile; Add and Delete wait.
func (x *Sparse) WriteTo(w io.Writer) (int64, error) {
	x.write.Lock()
	defer x.write.Unlock()
	s := &sections{w: section.NewWriter(w)}
	s.head(1, 0, 0, x.vocab, x.analysis, x.c.live, 0)
	s.documents(x.c, func(t uint32) uint32 { return t })
	return s.w.Finish()
}

func (s *sections) head(kind byte, k1, b float64, vocab int, analysis string, documents, terms int) {
	s.buf = binary.LittleEndian.AppendUint32(s.buf, snapshotVersion)
	s.buf = append(s.buf, kind)
	s.buf = binary.LittleEndian.AppendUint64(s.buf, math.Float64bits(k1))
	s.buf = binary.LittleEndian.AppendUint64(s.buf, math.Float64bits(b))
	s.buf = binary.LittleEndian.AppendUint32(s.buf, uint32(vocab))
	s.buf = append(s.buf, byte(len(analysis)))
	s.buf = append(s.buf, analysis...)
	s.buf = binary.LittleEndian.AppendUint64(s.buf, uint64(documents))
	s.buf = binary.LittleEndian.AppendUint32(s.buf, uint32(terms))
	s.cut("HEAD", true)
}

func (s *sections) documents(c *core, number func(uint32) uint32) {
	last := uint64(0)
	slots := c.liveSlots()
	for i, slot := range slots {
		s.buf = binary.AppendUvarint(s.buf, c.ids[slot]-last)
		last = c.ids[slot]
		w := c.walk(slot)
		s.buf = binary.AppendUvarint(s.buf, uint64(w.left))
		for w.left > 0 {
			e := w.next()
			e.term = number(e.term)
			s.buf = appendEntry(s.buf, e, c.weights)
		}
		s.cut("DOCS", i == len(slots)-1)
	}
}

// LoadWords reads a snapshot of Words, which it copies. Options must be those
// of the index that was written. Errors: ErrOptions, ErrMismatch if kind,
// version or options are others, ErrCorrupt if the snapshot is damaged in any
// way. It allocates no more than a small multiple of len(snapshot), whatever
// that holds. Cost: that of adding the documents without analysing them.
func LoadWords(o Options, snapshot []byte) (*Words, error) {
	x, err := NewWords(o)
	if err != nil {
		return nil, err
	}
	r := parser{section.NewReader(snapshot, ErrCorrupt)}
	documents, terms := r.head(0, x.o.K1, x.o.B, 0, x.o.Analysis)
	if r.Err() == nil && terms > uint64(len(snapshot)) {
		r.Fail("%d terms in %d bytes", terms, len(snapshot))
	}
	for uint64(len(x.names)) < terms && r.Err() == nil {
		s := r.section("TERM")
		for s.Len() > 0 && r.Err() == nil {
			name := string(s.Raw(s.Varint()))
			if _, twice := x.terms[name]; twice || name == "" || len(name) > math.MaxUint16 {
				s.Fail("term %d is empty, too long or there twice", len(x.names))
			}
			x.terms[name] = uint32(len(x.names))
			x.names = append(x.names, name)
		}
	}
	if r.Err() == nil && uint64(len(x.names)) != terms {
		r.Fail("%d terms, want %d", len(x.names), terms)
	}
	if r.Err() != nil {
		return nil, r.Err()
	}
	x.c.lists = make([]list, len(x.names))
	if r.documents(x.c, documents); r.Err() != nil {
		return nil, r.Err()
	}
	for t := range x.c.lists {
		if x.c.lists[t].df == 0 {
			return nil, fmt.Errorf("term %d is in no document: %w", t, ErrCorrupt)
		}
	}
	return x, nil
}

// LoadSparse reads a snapshot of Sparse in the way of LoadWords.
func LoadSparse(vocab int, analysis string, snapshot []byte) (*Sparse, error) {
	x, err := NewSparse(vocab, analysis)
	if err != nil {
		return nil, err
	}
	r := parser{section.NewReader(snapshot, ErrCorrupt)}
	documents, _ := r.head(1, 0, 0, vocab, analysis)
	if r.documents(x.c, documents); r.Err() != nil {
		return nil, r.Err()
	}
	return x, nil
}

// head reads the first section and compares it with what is wanted.
func (r parser) head(kind byte, k1, b float64, vocab int, analysis string) (documents, terms uint64) {
	s := r.section("HEAD")
	if v := s.U32(); s.Err() == nil && v != snapshotVersion {
		r.Set(fmt.Errorf("format version %d, want %d: %w", v, snapshotVersion, ErrMismatch))
		return 0, 0
	}
	gotKind, gotK1, gotB, gotVocab := s.U8(), math.Float64frombits(s.U64()), math.Float64frombits(s.U64()), int(s.U32())
	gotAnalysis := string(s.Raw(uint64(s.U8())))
	documents, terms = s.U64(), uint64(s.U32())
	s.Done()
	if r.Err() == nil && (gotKind != kind || gotK1 != k1 || gotB != b || gotVocab != vocab || gotAnalysis != analysis) {
		r.Set(fmt.Errorf("snapshot of kind %d, k1 %v, b %v, vocabulary %d, analysis %q; want %d, %v, %v, %d, %q: %w",
			gotKind, gotK1, gotB, gotVocab, gotAnalysis, kind, k1, b, vocab, analysis, ErrMismatch))
	}
	return documents, terms
}

// documents adds all documents to an empty core and reads the end.
func (r parser) documents(c *core, n uint64) {
	if r.Err() == nil && n > MaxLen {
		r.Fail("%d documents", n)
	}
	var entries []entry
	for uint64(c.live) < n && r.Err() == nil {
		s := r.section("DOCS")
		if r.Err() == nil && s.Len() == 0 {
			s.Fail("section without documents")
		}
		for s.Len() > 0 && r.Err() == nil && uint64(c.live) < n {
			step := s.Varint()
			id := step
			if last := len(c.ids) - 1; last >= 0 {
				if id = c.ids[last] + step; id <= c.ids[last] {
					s.Fail("ids do not ascend")
				}
			}
			if entries = s.entries(entries[:0], c); r.Err() == nil {
				c.add(id, entries)
			}
		}
		s.Done()
	}
	r.End()
}

// entries reads one forward list.
func (r parser) entries(dst []entry, c *core) []entry {
	n := r.Varint()
	if n > uint64(r.Len()) {
		r.Fail("%d terms in %d bytes", n, r.Len())
	}
	for range n {
		v := r.Varint()
		e := entry{term: uint32(v >> 1), beside: v&1 != 0}
		if c.weights {
			e = entry{term: uint32(v), weight: math.Float32frombits(r.U32())}
			if !(e.weight > 0) || math.IsInf(float64(e.weight), 0) {
				r.Fail("weight %v", e.weight)
			}
			if len(dst) > 0 && e.term <= dst[len(dst)-1].term {
				r.Fail("terms of a document do not ascend")
			}
		}
		if v > math.MaxUint32 || uint64(e.term) >= uint64(len(c.lists)) {
			r.Fail("term %d of %d", v, len(c.lists))
		}
		if r.Err() != nil {
			return nil
		}
		dst = append(dst, e)
	}
	return dst
}
