package local

import (
	"cmp"
	"fmt"
	"slices"
	"sync"

	"github.com/lexsem/lexsem/modulate"
)

// Refresh fits the cells that have changed. Cost O(n·d·min(n, d)) for a cell of
// n passages: some 5 ms at d = 384 and n = 250. A passage whose vector is
// missing, of another length or not of unit length is a modulate.ErrPassage; its cell
// then stays unfitted, and queries of it fail, until the vector is right or the
// passage is removed.
func (l *Bridges) Refresh() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	var all []int
	for i := range l.cells {
		all = append(all, i)
	}
	return l.refit(all)
}

// Dirty is the number of cells that have changed since they were fitted.
func (l *Bridges) Dirty() int {
	l.mu.RLock()
	defer l.mu.RUnlock()
	return l.dirty
}

// fresh takes the read lock with the given cells fitted.
func (l *Bridges) fresh(cells []int) error {
	for {
		l.mu.RLock()
		if l.dirty == 0 || !slices.ContainsFunc(cells, func(c int) bool { return l.cells[c].dirty }) {
			return nil
		}
		l.mu.RUnlock()
		l.mu.Lock()
		err := l.refit(cells)
		l.mu.Unlock()
		if err != nil {
			return err
		}
	}
}

// refit fits those of the cells that have changed. The caller holds the lock.
func (l *Bridges) refit(cells []int) error {
	var todo []int
	for _, i := range cells {
		c := l.cells[i]
		if !c.dirty {
			continue
		}
		todo = append(todo, i)
		slices.SortFunc(c.members, func(a, b member) int { return cmp.Compare(a.id, b.id) })
		for at, m := range c.members {
			l.place[m.id] = place{uint32(i), uint32(at)}
		}
	}
	errs := make([]error, len(todo))
	fits := make([]fit, len(todo))
	entered := make([][]tokenEntry, len(todo))
	var wg sync.WaitGroup
	for w := range min(l.o.Workers, len(todo)) {
		wg.Go(func() {
			for k := w; k < len(todo); k += l.o.Workers {
				fits[k], entered[k], errs[k] = l.fitCell(l.cells[todo[k]].members)
			}
		})
	}
	wg.Wait()
	var first error
	for k, i := range todo {
		if errs[k] != nil {
			if first == nil {
				first = fmt.Errorf("cell %d: %w", i, errs[k])
			}
			continue
		}
		l.publish(i, fits[k], entered[k])
	}
	return first
}

// publish makes a fit the one that queries use.
func (l *Bridges) publish(cell int, f fit, entered []tokenEntry) {
	for _, e := range entered {
		list := l.dir[e.token]
		i, _ := slices.BinarySearchFunc(list, uint32(cell), byCell)
		list[i].from, list[i].weight = e.from, e.weight
	}
	c := l.cells[cell]
	c.fit, c.dirty = f, false
	l.dirty--
}

// Repartition returns the same passages over a new partition, made of their
// vectors as they are, none of its cells fitted yet. l stays as it is. o.Workers
// goroutines, Options.Workers if 0. Cost that of NewPartition, and O(Cells·d) a
// passage.
func (l *Bridges) Repartition(o PartitionOptions) (*Bridges, error) {
	if o.Workers == 0 {
		o.Workers = l.o.Workers
	}
	l.mu.RLock()
	defer l.mu.RUnlock()
	all := make([]member, 0, len(l.place))
	for _, c := range l.cells {
		all = append(all, c.members...)
	}
	slices.SortFunc(all, func(a, b member) int { return cmp.Compare(a.id, b.id) })
	p := OneCell(l.partition.dim)
	if len(all) > 0 {
		var err error
		if p, err = NewPartition(p.dim, len(all), func(i int) []float32 { return l.vectors(all[i].id) }, o); err != nil {
			return nil, err
		}
	}
	next, err := New(p, len(l.df), l.vectors, l.o)
	if err != nil {
		return nil, err
	}
	const block = 4096
	rows := make([]float32, 0, min(block, len(all))*p.dim)
	for from := 0; from < len(all); from += block {
		part := all[from:min(from+block, len(all))]
		rows = rows[:0]
		for _, m := range part {
			rows = append(rows, l.vectors(m.id)...)
		}
		if len(rows) != len(part)*p.dim {
			return nil, fmt.Errorf("%w: a passage from %d to %d has no vector of %d numbers", modulate.ErrPassage, part[0].id, part[len(part)-1].id, p.dim)
		}
		for i, cell := range p.Assign(rows, o.Workers) {
			next.add(cell, part[i].id, part[i].tokens)
		}
	}
	return next, nil
}
