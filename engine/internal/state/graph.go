package state

import (
	"context"
	"time"

	"github.com/lexsem/lexsem/index"
)

// handful is the largest number of changes that are replayed while commits wait. More changes a second than that are a
// bulk load.
const handful = 512

// graphWaits is the multiple of the size at which a graph is due up to which the graph waits for the end of a
// bulk load.
const graphWaits = 4

// wide is the dimension from which on the graph that IndexAuto chooses has codes of four bits. A search in it waits for
// memory, and reads half as much. Below, codes of eight bits are fast enough, and narrow filters twice as fast.
const wide = 1024

// graphKind is the kind of graph that IndexAuto chooses, with options that give both the same recall.
func (d *DB) graphKind() (string, index.Options) {
	o := d.indexOptions()
	if d.o.Dim < wide {
		return index.KindHNSWInt8, o
	}
	o.M = 16
	return index.KindHNSWCompact, o
}

// sized reports whether the size of a corpus may have led to a kind of index.
func (d *DB) sized(kind string) bool {
	graph, _ := d.graphKind()
	return kind == graph || kind == index.KindHNSWInt8 || kind == index.KindFlatInt8
}

// graphDue reports whether a corpus is too large for the exact index.
func (d *DB) graphDue(s *State) bool {
	return d.auto() && s.Vectors.Kind == index.KindFlatInt8 && s.Encoded() > d.o.GraphAbove
}

// growGraph replaces the exact index by a graph once the corpus is large enough. At first all vectors but one are in
// the unlinked buffer, where searches compare them as before, and linkTail links them. So linked vectors are kept when
// the database is closed. A bulk load is as fast with the graph as with the exact index.
func (d *DB) growGraph(ctx context.Context, s *State) (bool, error) {
	if d.o.ReadOnly || !d.graphDue(s) || !d.holdsGraph(s) || d.graphLater(s) {
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
	kind, o := d.graphKind()
	x, err := index.Grow(ctx, s.Vectors.Index, kind, o, s.Sees)
	if err != nil {
		return false, err
	}
	graph := &Vectors{x, kind}
	if err := d.turn.lock(ctx); err != nil {
		return false, err
	}
	defer d.turn.unlock()
	came := b.take()
	if err := d.addVectors(ctx, graph, fed(came)); err != nil {
		return false, err
	}
	graph.Delete(idsOf(came.gone))
	next := *d.now
	next.Vectors = graph
	d.publish(&next, nil)
	d.finish(&b)
	return true, nil
}

// graphLater reports whether the graph that a corpus needs waits for the end of a bulk load.
func (d *DB) graphLater(s *State) bool {
	m := &d.maintainer
	if s.Chunks() > graphWaits*d.o.GraphAbove || m.hurried() || !d.loading(s) {
		return false
	}
	m.later = true
	return true
}

// loading reports whether more than a handful of chunks are added per second; while the rate is unknown, it
// returns true.
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

// tailBytes is the maximum size of codes in the unlinked buffer, which a search compares in about a
// millisecond.
const tailBytes = 8 << 20

// tail is the maximum number of chunks in the unlinked buffer.
func (d *DB) tail() int { return max(handful, tailBytes/d.o.Dim) }

const (
	// linkSome is how many chunks are linked while a commit has to wait, some
	// milliseconds of work, linkMany while a graph grows, as many as the index links at once, and linkTurn how many
	// before other tasks have a turn.
	linkSome = 32
	linkMany = 64
	linkTurn = 512
)

// linkTail links chunks of the unlinked buffer into the graph. During a bulk load it only keeps enough of the
// buffer free.
func (d *DB) linkTail(ctx context.Context, s *State) (bool, error) {
	graph, ok := s.Vectors.Index.(index.Linker)
	if !ok || d.o.ReadOnly {
		return false, nil
	}
	m, n, total := &d.maintainer, graph.Unlinked(), s.Chunks()
	task, grows := "links", n > d.tail() || n > total/2
	switch {
	case n == 0:
		return false, nil
	case grows && d.graphLater(s):
		return false, nil
	case n < d.tail()/2 && !m.hurried() && d.loading(s):
		m.later = true
		return false, nil
	}
	some := linkSome
	if grows {
		task, some = "graph", linkMany
	}
	for done := 0; done < min(n, linkTurn); done += some {
		m.report(task, max(0, total-n)+done, total)
		s.Vectors.SetWorkers(d.workers())
		if err := graph.Link(ctx, some); err != nil {
			return false, err
		}
		d.links.Add(int64(min(some, n-done)))
	}
	return true, nil
}
