package state

import (
	"cmp"
	"errors"
	"fmt"

	"github.com/lexsem/lexsem/index"
)

// ErrMemory answers a commit whose documents would take more memory than Options.MaxBytes.
var ErrMemory = errors.New("memory limit")

// Memory is what a state keeps in memory, in bytes, mapped files included.
type Memory struct{ Vectors, Codes, Graph, Words, Columns, RLR, Local, Tokens int64 }

// Memory sums up the parts. Cost: it goes with the number of tokens that the corpus knows.
func (s *State) Memory() Memory {
	x := s.Vectors.Bytes()
	m := Memory{Vectors: x.Vectors, Codes: x.Codes, Graph: x.Graph + x.Tables, Words: s.Words.Bytes(), Columns: s.Columns.Bytes(), RLR: s.Sums.Bytes().Total()}
	if s.Local != nil {
		m.Local = s.Local.Bytes().Total()
	}
	m.Tokens = s.Tokens.Memory() + min(s.Tokens.Stored(), int64(s.cached.Most()))
	return m
}

// needed is what searches cannot do without, beside the float32 vectors: all but the
// local bridges.
func (m Memory) needed() int64 { return m.Codes + m.Graph + m.Words + m.Columns + m.RLR + m.Tokens }

const (
	// slotBytes is about what a vector takes in tables of ids and places.
	slotBytes = 24
	// linkBytes is about what its links take in a graph.
	linkBytes = 200
	// compactBytes is what a compact graph takes for its fewer links, and beside the codes.
	compactBytes = 135
	// fastBytes is that of a graph with two thirds more of them.
	fastBytes = 199
)

// vectorBytes is about what an index of a kind takes for a vector beside its float32 row.
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

// foresee refuses vectors that are sure not to fit, before they take their slots, which
// an index never gives back.
func (d *DB) foresee(s *State, added int) error {
	if d.o.MaxBytes == 0 || added == 0 {
		return nil
	}
	m := s.Memory()
	grown := max(0, int64(s.Chunks()+added)*d.vectorBytes(s.Vectors.Kind)-m.Codes-m.Graph)
	return d.fits(m.needed() + grown)
}

// room refuses a state that documents have grown beyond the limit.
func (d *DB) room(next *State, added int) error {
	if d.o.MaxBytes == 0 || added == 0 {
		return nil
	}
	return d.fits(next.Memory().needed())
}

// fits remembers that documents were refused until some are stored again: what is kept of
// those that are gone is then worth a compaction however little it is.
func (d *DB) fits(bytes int64) error {
	if bytes <= d.o.MaxBytes {
		return nil
	}
	d.refused.Store(true)
	d.wake()
	return fmt.Errorf("%w: beside the vectors the documents would take %.1f MiB, and may take %.1f", ErrMemory, mib(bytes), mib(d.o.MaxBytes))
}

func mib(n int64) float64 { return float64(n) / (1 << 20) }

// localBytes is about what local bridges over n chunks take: as much for each as those
// that were built last, and before there were any what short texts take.
func (d *DB) localBytes(n int) int64 {
	return int64(n) * cmp.Or(d.localEach.Load(), int64(5*d.o.Dim))
}

// noteLocal remembers what the local bridges of a state that has some take for each chunk.
func (d *DB) noteLocal(s *State) {
	if n := s.Chunks(); n > 0 {
		d.localEach.Store(s.Local.Bytes().Total()/int64(n) + 1)
	}
}

// holdsLocal says whether local bridges have room beside all else.
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

// holdsGraph says whether a graph in place of the exact index has room.
func (d *DB) holdsGraph(s *State) bool {
	return d.o.MaxBytes == 0 || s.Memory().needed()+int64(s.Chunks())*linkBytes <= d.o.MaxBytes
}

// Foregone names what a state does without because it has no room.
func (d *DB) Foregone(s *State) (names []string) {
	if d.graphDue(s) && !d.holdsGraph(s) {
		names = append(names, "graph")
	}
	if d.localWanted.Load() && s.Local == nil && s.Chunks() > 0 && !d.holdsLocal(s) {
		names = append(names, "local bridges")
	}
	return names
}
