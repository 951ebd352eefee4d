// Package columns answers filters over the metadata of many documents without reading the documents. Start
// with [Columns.Match]; [Columns.Edit] makes the Columns of the next state. Columns never change, share
// memory with those they were made from, and are safe for concurrent use. One goroutine at a time edits. A
// condition costs one pass over the distinct values and one over all values. Its answer is kept. Damage is
// ErrCorrupt.
package columns

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/lexsem/lexsem/internal/cow"
	"github.com/lexsem/lexsem/internal/snapshot"
	"github.com/lexsem/lexsem/internal/value"
)

// Columns hold the metadata of all documents, so that filters need not read documents. They are derived
// state, made from the store alone.
//
// Every value is a *term*: its path, its kind and its text, stored once for all documents that have it. A
// document is the list of its terms' numbers. A condition is tested once for every term of its paths. Then
// one pass over the lists, four bytes a value, gives the documents. So a filter costs its distinct values
// and a scan of small numbers, but no parsing of JSON, and nothing is sorted or kept for filters that are
// not used. Answers are kept and updated with later additions and deletions (match.go).
//
// Columns never change. An Edit makes the next ones, which share everything unchanged. One goroutine at a
// time may edit the descendants of one New, Open or Compacted. All other calls are safe for concurrent
// use, even during an edit, and hold no lock while they work. Columns from Open, and edits of them, must
// not outlive their file.
type Columns struct {
	paths, terms pool
	rows         rows
	dead         cow.Set  // slots
	gone         []uint64 // ordinals of the deleted, in the order of deletion
	carried      int      // dead rows whose terms the file still has

	family *family
	line   *lineage
	tables int64 // bytes of the family's tables
}

// family is the writer's state for all descendants of one New, Open or Compacted. Its terms only grow;
// terms of abandoned edits stay.
type family struct {
	paths, terms dictionary
}

// lineage is a sequence of Columns, each made from the one before. An edit of one that is not the last
// begins another lineage.
type lineage struct {
	rows, gone int // of the last one; for the writer
	cache      matchCache
	rankings   rankings
}

var (
	// ErrOrder answers an ordinal that was added before, or after a higher one.
	ErrOrder = errors.New("ordinals must ascend")
	// ErrFull means that a document exceeds the 32-bit numbers of terms.
	ErrFull = errors.New("too many distinct values of metadata; split the database")
	// ErrCorrupt is the error for a damaged file, returned by the call that reads the damage.
	ErrCorrupt = errors.New("columns are damaged")
)

func corrupt(err error) error {
	if errors.Is(err, ErrCorrupt) {
		return err
	}
	return fmt.Errorf("%w: %w", ErrCorrupt, err)
}

// named turns damage that a call has met into an ErrCorrupt.
func named(err *error) {
	if errors.Is(*err, snapshot.ErrDamaged) {
		*err = corrupt(*err)
	}
}

func corruptf(format string, args ...any) error {
	return fmt.Errorf("%w: %s: %w", ErrCorrupt, fmt.Sprintf(format, args...), snapshot.ErrDamaged)
}

const (
	// MaxOrd bounds ordinals, for the sake of tables over them: 275 thousand
	// million versions.
	MaxOrd = 1 << 38
	// maxPaths leaves the tag of a term room for its kind, maxTerms and maxRows
	// leave room for 1 in tables.
	maxPaths = 1<<(32-kindBits) - 1
	maxTerms = math.MaxUint32 - 1
	maxRows  = math.MaxUint32 - 1
)

// The tag of a path is the number of the path above it; 0 is the root. The tag
// of a term is its path and its kind.
const kindBits = 3

func termTag(path uint32, kind value.Kind) uint32 { return path<<kindBits | uint32(kind) }

func pathOf(tag uint32) uint32     { return tag >> kindBits }
func kindOf(tag uint32) value.Kind { return value.Kind(tag & (1<<kindBits - 1)) }

const rootPath = 0

// New returns Columns of no documents.
func New() *Columns {
	s := newSeed()
	f := &family{paths: newDictionary(s, maxPaths), terms: newDictionary(s, maxTerms)}
	if err := f.paths.add(0, nil); err != nil { // the root, which no table names
		panic(err)
	}
	f.paths.first = 1
	return &Columns{paths: f.paths.pool, family: f, line: &lineage{}, tables: f.tables()}
}

func (f *family) tables() int64 {
	return int64(4 * (len(f.paths.own) + len(f.paths.table) + len(f.terms.own) + len(f.terms.table)))
}

// Len is the number of documents.
func (c *Columns) Len() int { return c.rows.len() - c.dead.Len() }

// After is the number of documents whose ordinal is above ord. Cost: O(log n),
// and one step for each dead document.
func (c *Columns) After(ord uint64) int {
	from := c.rows.from(ord + 1)
	n := c.rows.len() - from
	for slot := range c.dead.All {
		if int(slot) >= from {
			n--
		}
	}
	return n
}

// Bytes is the memory of c, including that of its file and of kept answers; memory shared with others
// counts in full.
func (c *Columns) Bytes() int64 {
	n := c.paths.bytes() + c.terms.bytes() + c.rows.bytes() + c.tables + int64(8*len(c.gone)) + c.line.cache.size() + c.line.rankings.size()
	if c.dead.Len() > 0 {
		n += int64(c.rows.len() / 8)
	}
	return n
}

// Dead is the number of documents that were removed and still take memory.
func (c *Columns) Dead() int { return c.dead.Len() + c.carried }

// Wasteful reports whether Compacted would take half of the memory or less.
func (c *Columns) Wasteful() bool {
	waste := c.Dead()
	return waste > 1024 && waste > c.Len()
}

// Compacted returns Columns of the same documents without terms and rows of dead ones. It lies in memory
// and keeps nothing of c. Errors: that of ctx, ErrCorrupt. Cost: one pass over all.
func (c *Columns) Compacted(ctx context.Context) (_ *Columns, err error) {
	defer named(&err)
	defer snapshot.Guard(&err)()
	e := New().Edit()
	m := mover{from: c, to: e}
	if err := c.each(ctx, 0, m.move); err != nil {
		return nil, err
	}
	return e.Done(), nil
}

// Rebase applies the changes from base to c to fresh. fresh holds the documents of base, compacted or
// saved and opened again; c was made from base by edits. Errors: ErrCorrupt. Cost: proportional to the
// additions and removals in between.
func (c *Columns) Rebase(base, fresh *Columns) (_ *Columns, err error) {
	defer named(&err)
	defer snapshot.Guard(&err)()
	if c.family != base.family || c.rows.len() < base.rows.len() || len(c.gone) < len(base.gone) {
		return nil, errors.New("rebase of columns from others than they came from")
	}
	if fresh.Len() != base.Len() {
		return nil, fmt.Errorf("rebase of columns of %d documents onto %d", base.Len(), fresh.Len())
	}
	e := fresh.Edit()
	last, any := base.rows.last()
	for _, ord := range c.gone[len(base.gone):] {
		if any && ord <= last && !e.Remove(ord) {
			return nil, fmt.Errorf("rebase of columns onto others: version %d is missing", ord)
		}
	}
	m := mover{from: c, to: e}
	if err := c.each(context.Background(), base.rows.len(), m.move); err != nil {
		return nil, err
	}
	to := e.Done()
	to.line.cache.adopt(&c.line.cache, c.state(), to.state())
	return to, nil
}

// each calls do with every live document from a slot on, and its terms.
func (c *Columns) each(ctx context.Context, from int, do func(ord uint64, terms []uint32) error) error {
	if from == c.rows.len() {
		return nil
	}
	t := ticker{ctx: ctx}
	for k := c.rows.holding(from); k < c.rows.segments(); k++ {
		s := c.rows.segment(k)
		if err := s.stored.ready(); err != nil {
			return err
		}
		for i := max(from-s.first, 0); i < len(s.ords); i++ {
			if err := t.tick(1 + len(s.of(i))); err != nil {
				return err
			}
			if c.dead.Has(uint64(s.first + i)) {
				continue
			}
			if err := do(s.base+uint64(s.ords[i]), s.of(i)); err != nil {
				return err
			}
		}
	}
	return nil
}

// mover copies documents of one Columns into an edit of another.
type mover struct {
	from         *Columns
	to           *Edit
	paths, terms map[uint32]uint32 // number there of a number here
}

func (m *mover) move(ord uint64, terms []uint32) error {
	m.to.list = m.to.list[:0]
	for _, t := range terms {
		n, err := m.term(t)
		if err != nil {
			return err
		}
		m.to.list = append(m.to.list, n)
	}
	if err := m.to.fits(ord); err != nil {
		return err
	}
	slices.Sort(m.to.list)
	m.to.c.rows.add(ord, m.to.list)
	return nil
}

func (m *mover) term(t uint32) (uint32, error) {
	if n, ok := m.terms[t]; ok {
		return n, nil
	}
	tag, text, err := m.from.terms.at(t)
	if err != nil {
		return 0, err
	}
	path, err := m.path(pathOf(tag))
	if err != nil {
		return 0, err
	}
	n, err := m.to.c.family.terms.intern(termTag(path, kindOf(tag)), text)
	if err != nil {
		return 0, err
	}
	if m.terms == nil {
		m.terms = map[uint32]uint32{}
	}
	m.terms[t] = n
	return n, nil
}

func (m *mover) path(p uint32) (uint32, error) {
	if p == rootPath {
		return rootPath, nil
	}
	if n, ok := m.paths[p]; ok {
		return n, nil
	}
	// From the root down, without recursion: metadata nest deep.
	var way []uint32
	var above uint32
	for ; p != rootPath; p = above {
		if n, ok := m.paths[p]; ok {
			above = n
			break
		}
		way = append(way, p)
		tag, _, err := m.from.paths.at(p)
		if err != nil {
			return 0, err
		}
		above = tag
	}
	n := above
	for _, p := range slices.Backward(way) {
		_, key, err := m.from.paths.at(p)
		if err != nil {
			return 0, err
		}
		if n, err = m.to.c.family.paths.intern(n, key); err != nil {
			return 0, err
		}
		if m.paths == nil {
			m.paths = map[uint32]uint32{}
		}
		m.paths[p] = n
	}
	return n, nil
}
