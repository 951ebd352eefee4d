package bench

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"time"

	"github.com/lexsem/lexsem/index"
	"github.com/lexsem/lexsem/internal/snapshot"
	"github.com/lexsem/lexsem/internal/vec"
)

// annStep is how many vectors a mapped index takes before it is saved.
const annStep = 2_500_000

// annMapped builds an index that lies in a file: after every step it is saved, closed and mapped, so what is in memory
// is what the index has changed or added since. Vectors are made when they are added, after the queries, and their
// distances to all queries taken then, so neither is kept.
type annMapped struct {
	*annBuilt
	o    ANNOptions
	ix   index.Index
	file *snapshot.File
}

// runMapped is RunANN with a Dir.
func (o ANNOptions) runMapped(ctx context.Context, kind annKind) (_ *ANNReport, err error) {
	empty, err := kind.make(o.Dim, o)
	if err != nil {
		return nil, err
	}
	built, err := openBuilt(o)
	if err != nil {
		return nil, err
	}
	m := &annMapped{annBuilt: built, o: o, ix: empty}
	defer func() { err = errors.Join(err, m.unmap(), m.close(err == nil)) }()
	rep := &ANNReport{N: o.N, Dim: o.Dim, Index: o.Index, Queries: o.NumQueries, Threads: o.Threads}
	queries, near, err := m.build(ctx, rep)
	if err != nil {
		return nil, err
	}
	rep.BuildSeconds, rep.BuildCPUSeconds, rep.SaveSeconds = m.BuildSeconds, m.BuildCPUSeconds, m.SaveSeconds
	i, err := os.Stat(m.index(m.Done))
	if err != nil {
		return nil, err
	}
	rep.BytesPerVector = float64(i.Size()) / float64(o.N)
	measure := annMeasure{ix: m.ix, queries: queries, worst: near.worst(), threads: o.Threads, timed: o.timed, alive: o.N, distance: m.distances(queries)}
	if err := measure.points(ctx, o, rep, o.Ef); err != nil {
		return nil, err
	}
	runtime.GC() // another one, of memory, drops what pools kept over the first
	u, err := memory(m.dir)
	if err == nil && u != nil {
		rep.Resident, rep.Anonymous = mib(u.resident), mib(u.anonymous)
	}
	return rep, err
}

// build makes the index, or goes on with the one that the folder has. It returns the queries, and what they are to find.
func (m *annMapped) build(ctx context.Context, rep *ANNReport) (queries *Vectors, near *annNearest, err error) {
	o := m.o
	if m.Done > 0 {
		if err := m.open(rep); err != nil {
			return nil, nil, err
		}
	}
	source := newTextLike(o.N, o.Dim, o.Seed)
	queries = source.draw(o.NumQueries, textLikeAsked)
	near = newAnnNearest(queries, min(annK, o.N))
	for at, n := 0, 0; at < o.N; at += n {
		n = min(addBatch, o.N-at, o.Step-at%o.Step)
		part := source.draw(n, textLikeStored)
		near.offer(part)
		if err := ctx.Err(); err != nil {
			return nil, nil, err
		}
		if at < m.Done {
			continue
		}
		if err := m.add(at, part); err != nil {
			return nil, nil, err
		}
		o.report("build", at+n, o.N)
		if (at+n)%o.Step != 0 && at+n != o.N {
			continue
		}
		if err := m.save(at + n); err != nil {
			return nil, nil, err
		}
		if err := m.open(rep); err != nil {
			return nil, nil, err
		}
	}
	return queries, near, nil
}

// add adds part, whose ids begin with first.
func (m *annMapped) add(first int, part *Vectors) error {
	ids := make([]uint64, part.Len())
	for i := range ids {
		ids[i] = uint64(first + i)
	}
	began, cpu := time.Now(), cpuTime()
	if err := m.ix.Add(ids, part.Data); err != nil {
		return fmt.Errorf("building %s: %w", m.o.Index, err)
	}
	m.BuildSeconds += time.Since(began).Seconds()
	m.BuildCPUSeconds += (cpuTime() - cpu).Seconds()
	return nil
}

// save writes the index of done vectors to a file, and lets go of both the index and the file that it lay in.
func (m *annMapped) save(done int) error {
	saved, ok := m.ix.(index.Snapshotter)
	if !ok {
		return fmt.Errorf("%w: index %s cannot be saved; leave the folder out", ErrOption, m.o.Index)
	}
	began := time.Now()
	path := m.index(done)
	if err := snapshot.Write(path, snapshot.Header{Kind: "vectors", Version: 1}, saved.Save); err != nil {
		return fmt.Errorf("saving %s: %w", path, err)
	}
	if err := m.unmap(); err != nil {
		return err
	}
	m.SaveSeconds += time.Since(began).Seconds()
	return m.keep(done)
}

// open maps what save wrote.
func (m *annMapped) open(rep *ANNReport) (err error) {
	began := time.Now()
	if m.file, err = snapshot.Open(m.index(m.Done)); err == nil {
		m.ix, err = index.Open(m.o.Index, m.o.options(m.o.Dim), m.file)
	}
	if err == nil && m.ix.Len() != m.Done {
		err = fmt.Errorf("it has %d vectors", m.ix.Len())
	}
	if err != nil {
		return fmt.Errorf("index of %d vectors: %w; remove %s to build anew", m.Done, err, m.dir)
	}
	rep.OpenSeconds = time.Since(began).Seconds()
	return nil
}

func (m *annMapped) unmap() error {
	m.ix = nil
	f := m.file
	if m.file = nil; f == nil {
		return nil
	}
	return f.Close()
}

// distances are 1 − cosine, by the index's own vectors.
func (m *annMapped) distances(queries *Vectors) func(q int, id uint64) (float32, error) {
	var one [1]float32
	return func(q int, id uint64) (float32, error) {
		err := m.ix.Scores(one[:], queries.Row(q), []uint64{id})
		return one[0], err
	}
}

// annNearest are the least distances of each query to the vectors that were offered, ascending.
type annNearest struct {
	queries *Vectors
	k       int
	least   [][]float32
}

func newAnnNearest(queries *Vectors, k int) *annNearest {
	return &annNearest{queries, k, make([][]float32, queries.Len())}
}

func (a *annNearest) offer(part *Vectors) {
	for q := range a.least {
		row := a.queries.Row(q)
		for i := range part.Len() {
			d := 1 - vec.Dot(row, part.Row(i))
			l := a.least[q]
			if len(l) == a.k {
				if d >= l[a.k-1] {
					continue
				}
				l = l[:a.k-1]
			}
			at, _ := slices.BinarySearch(l, d)
			a.least[q] = slices.Insert(l, at, d)
		}
	}
}

// worst is the distance of the k-th nearest of each query.
func (a *annNearest) worst() []float32 {
	w := make([]float32, len(a.least))
	for q, l := range a.least {
		w[q] = l[len(l)-1]
	}
	return w
}
