package local

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/lexsem/lexsem/internal/vec"
	"github.com/lexsem/lexsem/modulate"
)

// Editor makes the next version of Bridges. For one goroutine.
type Editor struct {
	b       *Bridges
	added   map[uint64]addition
	removed map[uint64]uint32 // passages of b, and their cells
	scratch []float32
}

type addition struct {
	cell   uint32
	tokens []uint32
}

// Edit starts the next version of b. b does not change.
func (b *Bridges) Edit() *Editor {
	return &Editor{b: b, added: map[uint64]addition{}, removed: map[uint64]uint32{}}
}

// Add puts a passage into the cell of its unit vector [Dim], with its tokens of lexical weight
// (encoder.Tokens.Lexical; repetition counts once). Done reads the vector again through the
// function given to New. ErrPassage, and no change, for an impossible vector or token, or an id in
// use. Cost O(√cells·d).
func (e *Editor) Add(id uint64, vector []float32, tokens []int32) error {
	b := e.b
	if len(vector) != b.dim || !vec.Finite(vector) {
		return fmt.Errorf("%w: passage %d has a vector of length %d where %d finite numbers are needed", modulate.ErrPassage, id, len(vector), b.dim)
	}
	list, err := lexical(tokens, b.vocab)
	if err != nil {
		return fmt.Errorf("passage %d: %w", id, err)
	}
	_, there := e.added[id]
	if _, out := e.removed[id]; !out {
		there = there || b.Has(id)
	}
	if there {
		return fmt.Errorf("%w: passage %d is there already; remove it first", modulate.ErrPassage, id)
	}
	e.added[id] = addition{uint32(b.partition.find(vector, &e.scratch)), list}
	return nil
}

// lexical returns the tokens of a passage, ascending.
func lexical(tokens []int32, vocab int) ([]uint32, error) {
	list := make([]uint32, len(tokens))
	for i, t := range tokens {
		if most := cmp.Or(vocab, maxVocab); t < 0 || int(t) >= most {
			return nil, fmt.Errorf("%w: token %d outside the vocabulary of %d; use the encoder of this corpus", modulate.ErrPassage, t, most)
		}
		list[i] = uint32(t)
	}
	slices.Sort(list)
	return slices.Compact(list), nil
}

// Remove removes a passage and reports whether it was present.
func (e *Editor) Remove(id uint64) bool {
	if _, ok := e.added[id]; ok {
		delete(e.added, id)
		return true
	}
	if _, ok := e.removed[id]; ok {
		return false
	}
	c, ok := e.b.places.find(id)
	if ok {
		e.removed[id] = c
	}
	return ok
}

// Done fits the touched cells on Options.Workers goroutines and returns the next version. It
// checks ctx between cells. ErrPassage if a vector is missing, has another length or is not of
// unit length; the edit is then as before. Cost: a fit of each touched cell, O(tokens) for each
// passage, and a copy of 8 bytes a cell.
func (e *Editor) Done(ctx context.Context) (*Bridges, error) {
	b := e.b
	touched := map[uint32][]member{}
	for id, a := range e.added {
		touched[a.cell] = append(touched[a.cell], member{id, a.tokens})
	}
	for _, c := range e.removed {
		if _, ok := touched[c]; !ok {
			touched[c] = nil
		}
	}
	cells := slices.Sorted(maps.Keys(touched))
	last, next := make([]*cell, len(cells)), make([]*cell, len(cells))
	err := parallel(ctx, b.o.Workers, len(cells), func(i int) error {
		both, err := guarded(func() ([2]*cell, error) { return e.refit(ctx, cells[i], touched[cells[i]]) })
		last[i], next[i] = both[0], both[1]
		return err
	})
	if err != nil {
		return nil, err
	}
	return guarded(func() (*Bridges, error) { return e.publish(cells, last, next) })
}

// refit returns a cell before and after the change.
func (e *Editor) refit(ctx context.Context, at uint32, added []member) (both [2]*cell, err error) {
	last, err := e.b.cell(int(at))
	if err != nil {
		return both, err
	}
	var members []member
	for _, m := range last.members() {
		if c, out := e.removed[m.id]; !out || c != at {
			members = append(members, m)
		}
	}
	next, err := e.b.fit(ctx, append(members, added...))
	if err != nil {
		return both, fmt.Errorf("cell %d: %w", at, err)
	}
	return [2]*cell{last, next}, nil
}

// publish makes the next version, with some cells replaced.
func (e *Editor) publish(cells []uint32, last, next []*cell) (*Bridges, error) {
	b := *e.b
	b.cells = slices.Clone(b.cells)
	words := b.words.edit()
	for i, at := range cells {
		if err := words.replace(int(at), last[i], next[i]); err != nil {
			return nil, err
		}
		b.n += len(next[i].ids) - len(last[i].ids)
		b.cells[at] = newSlot(next[i])
	}
	b.words = words.done()
	var r run
	for _, id := range e.ids() {
		c := gone
		if a, ok := e.added[id]; ok {
			c = a.cell
		}
		r.ids, r.cells = append(r.ids, id), append(r.cells, c)
	}
	if len(r.ids) > 0 {
		b.places = b.places.with(r)
	}
	return &b, nil
}

// ids returns the added and removed passages, ascending.
func (e *Editor) ids() []uint64 {
	ids := slices.AppendSeq(slices.Collect(maps.Keys(e.added)), maps.Keys(e.removed))
	slices.Sort(ids)
	return slices.Compact(ids)
}

// parallel calls f for 0 to n−1 on workers() goroutines, and returns the first error in that
// order, or the context's. workers may return a smaller number while it runs: each goroutine but
// the first asks before every call.
func parallel(ctx context.Context, workers func() int, n int, f func(i int) error) error {
	errs := make([]error, n)
	var next atomic.Int64
	var wg sync.WaitGroup
	for w := range min(max(1, workers()), n) {
		wg.Go(func() {
			for ctx.Err() == nil && (w == 0 || w < workers()) {
				i := int(next.Add(1)) - 1
				if i >= n {
					return
				}
				if errs[i] = f(i); errs[i] != nil {
					return
				}
			}
		})
	}
	wg.Wait()
	if err := ctx.Err(); err != nil {
		return err
	}
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}
