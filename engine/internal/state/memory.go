package state

import (
	"cmp"
	"errors"
	"fmt"

	"github.com/lexsem/lexsem/index"
)

// ErrMemory means that documents of a commit would exceed the memory of Options.MaxBytes.
var ErrMemory = errors.New("memory limit")

// Memory is the memory of a state, in bytes, including mapped files.
type Memory struct{ Vectors, Codes, Graph, Words, Columns, RLR, Local, Tokens int64 }

// Memory sums up the parts. Cost: proportional to the number of distinct tokens in the
// corpus.
func (s *State) Memory() Memory {
	x := s.Vectors.Bytes()
	m := Memory{Vectors: x.Vectors, Codes: x.Codes, Graph: x.Graph + x.Tables, Words: s.Words.Bytes() + s.Impacts.Bytes(), Columns: s.Columns.Bytes(), RLR: s.Sums.Bytes().Total()}
	if s.Local != nil {
		m.Local = s.Local.Bytes().Total()
	}
	m.Tokens = s.Tokens.Memory() + min(s.Tokens.Stored(), int64(s.cached.Most()))
	return m
}

// needed is the memory that searches cannot do without, in addition to the float32
// vectors: all except the local bridges.
func (m Memory) needed() int64 { return m.Codes + m.Graph + m.Words + m.Columns + m.RLR + m.Tokens }

const (
	// slotBytes is about the memory of a vector in tables of ids and positions.
	slotBytes = 24
	// linkBytes is about the memory of a vector's links in a graph.
	linkBytes = 200
	// compactBytes is about the memory of a vector in a compact graph, for its fewer links,
	// in addition to the codes.
	compactBytes = 135
	// fastBytes is that of a graph with two thirds more of them.
	fastBytes = 199
)

// vectorBytes returns the approximate memory of a vector in an index of a kind, in addition to
// its float32 row.
func (d *DB) vectorBytes(kind string) int64 {
	n := int64(slotBytes)
	switch kind {
	case index.KindFlatInt8:
		n += int64(d.o.Dim)
	case index.KindHNSW:
		n += linkBytes
	case index.KindHNSWInt8:
		n += int64(d.o.Dim) + linkBytes
	case index.KindHNSWFast:
		n += int64(d.o.Dim)/2 + fastBytes
	case index.KindHNSWCompact:
		n += int64(d.o.Dim)/2 + compactBytes
	}
	return n
}

// foresee refuses vectors that cannot fit, before they take slots, which an index never
// frees.
func (d *DB) foresee(s *State, added int) error {
	if d.o.MaxBytes == 0 || added == 0 {
		return nil
	}
	m := s.Memory()
	grown := max(0, int64(s.Chunks()+added)*d.vectorBytes(s.Vectors.Kind)-m.Codes-m.Graph)
	return d.fits(m.needed() + grown)
}

// room refuses a state if its new documents exceed the limit.
func (d *DB) room(next *State, added int) error {
	if d.o.MaxBytes == 0 || added == 0 {
		return nil
	}
	return d.fits(next.Memory().needed())
}

// fits refuses sizes above the limit. Until documents can be stored again, any amount of
// removed data is then worth a compaction.
func (d *DB) fits(bytes int64) error {
	if bytes <= d.o.MaxBytes {
		return nil
	}
	d.refused.Store(true)
	d.wake()
	return fmt.Errorf("%w: beside the vectors the documents would take %.1f MiB, and may take %.1f", ErrMemory, mib(bytes), mib(d.o.MaxBytes))
}

func mib(n int64) float64 { return float64(n) / (1 << 20) }

// localBytes estimates the memory of local bridges over n chunks: per chunk as in the last
// ones built or, before that, as for short texts.
func (d *DB) localBytes(n int) int64 {
	return int64(n) * cmp.Or(d.localEach.Load(), int64(5*d.o.Dim))
}

// noteLocal records the memory per chunk of a state's local bridges.
func (d *DB) noteLocal(s *State) {
	if n := s.Chunks(); n > 0 {
		d.localEach.Store(s.Local.Bytes().Total()/int64(n) + 1)
	}
}

// holdsLocal reports whether local bridges fit into memory with all else.
func (d *DB) holdsLocal(s *State) bool {
	if d.o.MaxBytes == 0 {
		return true
	}
	m := s.Memory()
	if s.Local == nil {
		m.Local = d.localBytes(s.Chunks())
	} else {
		d.noteLocal(s)
	}
	return m.needed()+m.Local <= d.o.MaxBytes
}

// holdsGraph reports whether there is memory for a graph instead of the exact index.
func (d *DB) holdsGraph(s *State) bool {
	return d.o.MaxBytes == 0 || s.Memory().needed()+int64(s.Chunks())*linkBytes <= d.o.MaxBytes
}

// Foregone names the parts that a state omits for lack of memory.
func (d *DB) Foregone(s *State) (names []string) {
	if d.graphDue(s) && !d.holdsGraph(s) {
		names = append(names, "graph")
	}
	if d.localWanted.Load() && s.Local == nil && s.Chunks() > 0 && !d.holdsLocal(s) {
		names = append(names, "local bridges")
	}
	return names
}
