package state

import (
	"context"
	"math"
	"time"

	"github.com/lexsem/lexsem/index"
)

// handful is how many changes may be caught up with while commits wait, and how many
// a second are no bulk load.
const handful = 512

// graphWaits says up to how many times the corpus that is due a graph one waits for a
// bulk load to end.
const graphWaits = 4

// graphDue says whether a corpus has outgrown the exact index.
func (d *DB) graphDue(s *State) bool {
	return d.o.Index == "" && s.Vectors.Kind == index.KindFlatInt8 && s.Chunks() > d.o.GraphAbove
}

// growGraph replaces the exact index by a graph once the corpus has outgrown it. A bulk
// load goes on into the exact index, which takes documents several times as fast.
func (d *DB) growGraph(ctx context.Context, s *State) (bool, error) {
	if d.o.ReadOnly || !d.graphDue(s) || !d.holdsGraph(s) {
		return false, nil
	}
	m := &d.maintainer
	if s.Chunks() <= graphWaits*d.o.GraphAbove && !m.hurried() && d.loading(s) {
		m.later = true
		return false, nil
	}
	var b backlog
	ref, err := d.begin(ctx, &b)
	if err != nil {
		return false, err
	}
	defer ref.Release()
	defer d.abandon(&b)
	s = ref.Value
	m.report("graph", 0, s.Chunks())
	o := d.indexOptions()
	o.Workers = d.workers()
	x, err := index.Grow(ctx, s.Vectors.Keeper, index.KindHNSWInt8, o, s.Sees)
	if err != nil {
		return false, err
	}
	graph := &Vectors{x.(index.Keeper), index.KindHNSWInt8}
	follow := func(df diff) error {
		if err := d.addVectors(ctx, graph, fed(df)); err != nil {
			return err
		}
		graph.Delete(idsOf(df.gone))
		return nil
	}
	var todo diff
	for before, slow := math.MaxInt, false; ; {
		if err := d.turn.lock(ctx); err != nil {
			return false, err
		}
		came := b.len()
		todo.append(b.take())
		n := todo.len()
		if n <= handful {
			break
		}
		// Commits that bring more than the graph takes in meanwhile have to wait:
		// each about as long as what it brought takes.
		slow = slow || came >= before
		before = n
		var err error
		if slow {
			err = follow(todo.cut(max(handful, 2*came)))
			d.turn.unlock()
		} else {
			d.turn.unlock()
			err = follow(todo.cut(n))
		}
		if err != nil {
			return false, err
		}
	}
	defer d.turn.unlock()
	if err := follow(todo); err != nil {
		return false, err
	}
	next := *d.now
	next.Vectors = graph
	d.publish(&next, nil)
	d.unsaved = true
	d.finish(&b)
	return true, nil
}

// loading says whether more than a handful of chunks come in a second, and yes where
// that is to be counted first.
func (d *DB) loading(s *State) bool {
	m := &d.maintainer
	if d.committed.since() >= rest {
		return false
	}
	if took := time.Since(m.countedAt); took >= rest {
		n := s.Chunks()
		m.many = took > 3*rest || float64(n-m.counted) > handful*took.Seconds()
		m.counted, m.countedAt = n, time.Now()
	}
	return m.many
}

// tailBytes is how many bytes of codes a search may have to compare beside the graph,
// about a millisecond of its time.
const tailBytes = 8 << 20

// tail is how many chunks commits may leave beside the graph.
func (d *DB) tail() int { return max(handful, tailBytes/d.o.Dim) }

const (
	// linkSome is how many chunks are linked while a commit has to wait, some
	// milliseconds of work, and linkTurn how many before other tasks have a turn.
	linkSome = 32
	linkTurn = 16 * linkSome
)

// linkTail takes into the graph what commits have left beside it. While a bulk load
// goes on, it leaves room for it and no more.
func (d *DB) linkTail(ctx context.Context, s *State) (bool, error) {
	graph, ok := s.Vectors.Keeper.(index.Linker)
	if !ok || d.o.ReadOnly {
		return false, nil
	}
	m, n := &d.maintainer, graph.Unlinked()
	if n == 0 {
		return false, nil
	}
	if n < d.tail()/2 && !m.hurried() && d.loading(s) {
		m.later = true
		return false, nil
	}
	for done := 0; done < min(n, linkTurn); done += linkSome {
		m.report("links", done, n)
		s.Vectors.SetWorkers(d.workers())
		if err := graph.Link(ctx, linkSome); err != nil {
			return false, err
		}
	}
	return true, nil
}
