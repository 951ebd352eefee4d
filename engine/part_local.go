package engine

import (
	"errors"
	"fmt"
	"io"
	"runtime"
	"sync"

	"github.com/lexsem/lexsem/index"
	"github.com/lexsem/lexsem/modulate"
)

// local is the part that local bridges read: a partition of the vectors, an RLR
// for each cell, and codes of the vectors cell by cell. It reads the vectors
// from the part that keeps them, which therefore comes before it.
//
// A commit marks the cells it touches; they are fitted anew by the first query
// that looks into them, or when the state is saved. The partition is replaced
// by settle once the corpus has outgrown it.
type local struct {
	*modulate.Local
	cells      *index.Cells // nil until settle
	dim, vocab int
	vector     func(ord uint64) []float32
}

func (p *local) kind() string { return "local" }
func (p *local) texts() bool  { return false }
func (p *local) len() int     { return p.Len() }

func (p *local) reset() (err error) {
	p.cells = nil
	p.Local, err = modulate.NewLocal(modulate.OneCell(p.dim), p.vocab, p.vector, modulate.LocalOptions{})
	return err
}

func (p *local) load(data []byte) (err error) {
	p.cells = nil
	p.Local, err = modulate.ReadLocal(data, p.dim, p.vocab, p.vector, modulate.LocalOptions{})
	return err
}

func (p *local) save(w io.Writer) (int64, error) { return p.WriteTo(w) }

func (p *local) add(vs []version) error {
	for _, v := range vs {
		cell := p.Partition().Cell(v.vector)
		if err := p.Add(cell, v.ord, v.tokens); err != nil {
			return err
		}
		if p.cells == nil {
			continue
		}
		if err := p.cells.Add(cell, []uint64{v.ord}); err != nil {
			return err
		}
	}
	return nil
}

func (p *local) remove(vs []version) error {
	for _, v := range vs {
		if !p.Remove(v.ord) {
			return fmt.Errorf("version %d is in no cell of the local bridges", v.ord)
		}
		if p.cells != nil {
			p.cells.Delete([]uint64{v.ord})
		}
	}
	return nil
}

// outgrown reports that the corpus wants half as many cells again, or half of
// those there are. Making a partition takes time in proportion to the corpus, so
// that growing costs a constant for each passage.
func (p *local) outgrown() bool {
	have, want := p.Partition().Cells(), modulate.CellsFor(p.Len())
	return want > have+have/2 || want < (have+1)/2
}

// index makes the codes of l's passages.
func (p *local) index(l *modulate.Local) (*index.Cells, error) {
	cells, err := index.NewCells(p.dim, l.Partition().Cells(), p.vector)
	if err != nil {
		return nil, err
	}
	workers := runtime.GOMAXPROCS(0)
	errs := make([]error, workers)
	var wg sync.WaitGroup
	for w := range workers {
		wg.Go(func() {
			var ids []uint64
			for c := w; c < cells.Cells() && errs[w] == nil; c += workers {
				ids = l.Members(ids[:0], c)
				errs[w] = cells.Add(c, ids)
			}
		})
	}
	wg.Wait()
	return cells, errors.Join(errs...)
}

// settle makes the cells that the corpus wants now, if it has others. The caller
// holds apply, or is the only user; searches go on.
func (e *Engine) settle() error {
	l, cells := e.local.Local, e.local.cells
	var err error
	if e.local.outgrown() {
		if l, err = l.Repartition(modulate.PartitionOptions{Seed: 1}); err != nil {
			return fmt.Errorf("cells of the local bridges: %w", err)
		}
		cells = nil
	}
	if cells != nil {
		return nil
	}
	if cells, err = e.local.index(l); err != nil {
		return fmt.Errorf("codes of the local bridges: %w", err)
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.local.Local, e.local.cells = l, cells
	return nil
}
