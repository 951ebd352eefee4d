package columns

import (
	"fmt"
	"slices"

	"github.com/lexsem/lexsem/internal/cow"
	"github.com/lexsem/lexsem/internal/snapshot"
)

// Edit makes the next Columns. It is for one goroutine, and there is one at a time. An
// unfinished Edit may be dropped.
type Edit struct {
	c     Columns // what they will be, but for dead
	dead  *cow.SetEditor
	list  []uint32 // terms of the document that is being added
	keys  []member // of the objects that are being read
	paths []uint32 // of the keys of one
	file  fileField
}

// Edit begins the Columns that come after c, which stay as they are. Cost: almost none. A
// second edit of the same Columns, after the first was Done, copies at most a thousand
// documents.
func (c *Columns) Edit() *Edit {
	e := &Edit{c: *c, dead: c.dead.Edit()}
	if s := c.state(); s.rows != c.line.rows || s.gone != c.line.gone {
		e.c.rows, e.c.gone, e.c.line = c.rows.clipped(), slices.Clip(c.gone), &lineage{}
	}
	return e
}

// Add adds a document with metadata as JSON; nothing, null and {} mean no metadata.
// Ordinals must ascend from one Add to the next, as the store gives them. Errors:
// ErrOrder, metadata.ErrNoObject, ErrFull, ErrCorrupt; after an error nothing has
// changed. Cost: reading the JSON, some microseconds.
func (e *Edit) Add(ord uint64, raw []byte) (err error) {
	defer named(&err)
	defer snapshot.Guard(&err)()
	if err := e.fits(ord); err != nil {
		return err
	}
	e.list, e.keys = e.list[:0], e.keys[:0]
	if err := e.read(raw); err != nil {
		return fmt.Errorf("metadata of version %d: %w", ord, err)
	}
	slices.Sort(e.list)
	e.list = slices.Compact(e.list)
	e.c.rows.add(ord, e.list)
	return nil
}

// fits returns the reason why ord cannot have a row, or nil.
func (e *Edit) fits(ord uint64) error {
	if last, any := e.c.rows.last(); any && ord <= last || ord >= MaxOrd {
		return fmt.Errorf("metadata of version %d: %w", ord, ErrOrder)
	}
	if e.c.rows.len() >= maxRows {
		return fmt.Errorf("metadata of version %d: %w", ord, ErrFull)
	}
	return nil
}

// Remove removes a document and reports whether it existed. Cost: O(log n), and a copy of
// some kilobytes of marks for each of 4,096 neighbours.
func (e *Edit) Remove(ord uint64) bool {
	slot, ok := e.c.rows.find(ord)
	if !ok || !e.dead.Add(uint64(slot)) {
		return false
	}
	e.c.gone = append(e.c.gone, ord)
	return true
}

// Done returns the edited Columns. The Edit must not be used afterwards.
func (e *Edit) Done() *Columns {
	c := e.c
	c.dead = e.dead.Done()
	c.paths, c.terms, c.tables = c.family.paths.pool, c.family.terms.pool, c.family.tables()
	c.line.rows, c.line.gone = c.rows.len(), len(c.gone)
	return &c
}
