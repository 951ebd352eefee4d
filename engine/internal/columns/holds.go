package columns

import (
	"fmt"
	"slices"

	"github.com/lexsem/lexsem/internal/snapshot"
)

// Checker compares rows with their metadata. It is for one goroutine, and keeps each
// distinct path and value that it has seen.
type Checker struct{ m mover }

// Checker returns a checker of c.
func (c *Columns) Checker() *Checker {
	return &Checker{mover{from: c, to: New().Edit()}}
}

// Holds reports whether a document is present with exactly this metadata, as Edit.Add
// reads it. Errors: ErrCorrupt, and those of Add. Cost: that of Add.
func (k *Checker) Holds(ord uint64, raw []byte) (ok bool, err error) {
	defer named(&err)
	defer snapshot.Guard(&err)()
	c, e := k.m.from, k.m.to
	slot, ok := c.rows.find(ord)
	if !ok || c.dead.Has(uint64(slot)) {
		return false, nil
	}
	e.list, e.keys = e.list[:0], e.keys[:0]
	if err := e.read(raw); err != nil {
		return false, fmt.Errorf("metadata of version %d: %w", ord, err)
	}
	slices.Sort(e.list)
	want := slices.Compact(e.list)
	s := c.rows.segment(c.rows.holding(slot))
	if err := s.stored.ready(); err != nil {
		return false, err
	}
	have := make([]uint32, 0, len(want))
	for _, t := range s.of(slot - s.first) {
		n, err := k.m.term(t)
		if err != nil {
			return false, err
		}
		have = append(have, n)
	}
	slices.Sort(have)
	return slices.Equal(have, want), nil
}
