package ann

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"time"

	"github.com/lexsem/lexsem/index"
	"github.com/lexsem/lexsem/internal/bench/process"
	"github.com/lexsem/lexsem/internal/bench/vectors"
	"github.com/lexsem/lexsem/internal/snapshot"
	"github.com/lexsem/lexsem/internal/vec"
)

// defaultStep is how many vectors a mapped index takes before it is saved.
const defaultStep = 2_500_000

// mappedRun builds an index in a file. After every step the index is saved, closed and mapped, so memory holds only
// the changes since the last save. Each batch of vectors is made when it is added. Its distances to all queries are
// computed then, so no vector needs to be kept.
type mappedRun struct {
	*savedBuild
	o    Options
	ix   index.Index
	file *snapshot.File
}

// runMapped is Run with a Dir.
func (o Options) runMapped(ctx context.Context) (_ *Report, err error) {
	empty, err := newIndex(o.Index, o.Dim, o)
	if err != nil {
		return nil, err
	}
	built, err := openBuilt(o)
	if err != nil {
		return nil, err
	}
	m := &mappedRun{savedBuild: built, o: o, ix: empty}
	defer func() { err = errors.Join(err, m.unmap(), m.close(err == nil)) }()
	rep := &Report{N: o.N, Dim: o.Dim, Index: o.Index, Queries: o.NumQueries, Threads: o.Threads}
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
	measure := measurement{ix: m.ix, queries: queries, worst: near.worst(), threads: o.Threads, timed: o.timed, alive: o.N, distance: m.distances(queries)}
	if err := measure.points(ctx, o, rep, o.Ef); err != nil {
		return nil, err
	}
	runtime.GC() // another one, of memory, drops what pools kept over the first
	u, err := process.Memory(m.dir)
	if err == nil && u != nil {
		rep.Resident, rep.Anonymous = process.MiB(u.Resident), process.MiB(u.Anonymous)
	}
	return rep, err
}

// build makes the index, or continues the one in the folder. It returns the queries and their true neighbours.
func (m *mappedRun) build(ctx context.Context, rep *Report) (queries *vectors.Set, near *nearest, err error) {
	o := m.o
	if m.Done > 0 {
		if err := m.open(rep); err != nil {
			return nil, nil, err
		}
	}
	source := vectors.NewCollection(o.N, o.Dim, o.Seed)
	queries = source.Draw(o.NumQueries, vectors.Asked)
	near = newNearest(queries, min(neighbours, o.N))
	for at, n := 0, 0; at < o.N; at += n {
		n = min(addBatch, o.N-at, o.Step-at%o.Step)
		part := source.Draw(n, vectors.Stored)
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
func (m *mappedRun) add(first int, part *vectors.Set) error {
	ids := make([]uint64, part.Len())
	for i := range ids {
		ids[i] = uint64(first + i)
	}
	began, cpu := time.Now(), process.CPUTime()
	if err := m.ix.Add(ids, part.Data); err != nil {
		return fmt.Errorf("building %s: %w", m.o.Index, err)
	}
	m.BuildSeconds += time.Since(began).Seconds()
	m.BuildCPUSeconds += (process.CPUTime() - cpu).Seconds()
	return nil
}

// save writes the index of done vectors to a file, and closes the index and the file that it was mapped from.
func (m *mappedRun) save(done int) error {
	began := time.Now()
	path := m.index(done)
	if err := snapshot.Write(path, snapshot.Header{Kind: "vectors", Version: 1}, m.ix.Save); err != nil {
		return fmt.Errorf("saving %s: %w", path, err)
	}
	if err := m.unmap(); err != nil {
		return err
	}
	m.SaveSeconds += time.Since(began).Seconds()
	return m.keep(done)
}

// open maps the file that save wrote.
func (m *mappedRun) open(rep *Report) (err error) {
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

func (m *mappedRun) unmap() error {
	m.ix = nil
	f := m.file
	if m.file = nil; f == nil {
		return nil
	}
	return f.Close()
}

// distances are 1 − cosine, by the index's own vectors.
func (m *mappedRun) distances(queries *vectors.Set) func(q int, id uint64) (float32, error) {
	var one [1]float32
	return func(q int, id uint64) (float32, error) {
		err := m.ix.Scores(one[:], queries.Row(q), []uint64{id})
		return one[0], err
	}
}

// nearest holds, for each query, the smallest distances to the vectors offered so far, ascending.
type nearest struct {
	queries *vectors.Set
	k       int
	least   [][]float32
}

func newNearest(queries *vectors.Set, k int) *nearest {
	return &nearest{queries, k, make([][]float32, queries.Len())}
}

func (a *nearest) offer(part *vectors.Set) {
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
func (a *nearest) worst() []float32 {
	w := make([]float32, len(a.least))
	for q, l := range a.least {
		w[q] = l[len(l)-1]
	}
	return w
}
