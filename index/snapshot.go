package index

import (
	"fmt"
	"io"

	"github.com/lexsem/lexsem/internal/section"
)

// Snapshotter is an index that can be written down. Every index of this
// package is one; Load reads it back.
type Snapshotter interface {
	Index
	// WriteTo writes the whole index and returns the number of bytes. Searches
	// go on meanwhile; Add and Delete wait.
	WriteTo(w io.Writer) (int64, error)
}

// A snapshot is a sequence of sections (package section). The first, HEAD, names
// version, kind and options; docs/FORMAT.md lists the others.
const snapshotVersion = 2

// Load makes an index of the given kind from a snapshot, which it copies. The
// options must be those the index was made with; Ef and Workers may differ.
// Errors: those of New, ErrMismatch if kind, format version or options are
// others, ErrCorrupt if the snapshot is damaged in any way. It allocates no
// more than a small multiple of len(snapshot), whatever that holds.
func Load(kind string, o Options, snapshot []byte) (Index, error) {
	return load(kind, o, snapshot, false)
}

// Map is Load without copying the vectors, where they lie in memory as the CPU
// wants them: the index goes on using snapshot, and writes to it when vectors
// are replaced or deleted. So snapshot must stay valid, and be used by nothing
// else, as long as the index; a privately mapped file serves.
func Map(kind string, o Options, snapshot []byte) (Index, error) {
	return load(kind, o, snapshot, true)
}

func load(kind string, o Options, snapshot []byte, keep bool) (Index, error) {
	if _, err := New(kind, o); err != nil {
		return nil, err
	}
	o = o.withDefaults()
	r := section.NewReader(snapshot, ErrCorrupt)
	head := r.Section("HEAD")
	if version := head.U32(); head.Err() == nil && version != snapshotVersion {
		return nil, fmt.Errorf("format version %d, want %d: %w", version, snapshotVersion, ErrMismatch)
	}
	gotKind, gotMetric := head.Text(), head.Text()
	got := Options{Dim: int(head.U32()), Metric: gotMetric, M: int(head.U32()), EfConstruction: int(head.U32()), Seed: head.U64(), Ef: o.Ef, Workers: o.Workers}
	head.Done()
	if head.Err() != nil {
		return nil, head.Err()
	}
	if gotKind != kind || got != o {
		return nil, fmt.Errorf("snapshot of %q %+v, want %q %+v: %w", gotKind, got, kind, o, ErrMismatch)
	}
	ix, err := kinds[kind].load(o, r, keep)
	if err != nil {
		return nil, err
	}
	r.End()
	return ix, r.Err()
}

// beginSnapshot writes the first section.
func beginSnapshot(w io.Writer, kind string, o Options) *section.Writer {
	s := section.NewWriter(w)
	s.Begin("HEAD", 4+4+len(kind)+4+len(o.Metric)+3*4+8)
	s.U32(snapshotVersion)
	s.Text(kind)
	s.Text(o.Metric)
	s.U32(uint32(o.Dim))
	s.U32(uint32(o.M))
	s.U32(uint32(o.EfConstruction))
	s.U64(o.Seed)
	s.Close()
	return s
}
