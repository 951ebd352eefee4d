package bench

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
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
	o    ANNOptions
	ix   index.Index
	file *snapshot.File
	at   string // the file
}

// runMapped is RunANN with a Dir.
func (o ANNOptions) runMapped(ctx context.Context) (_ *ANNReport, err error) {
	m := &annMapped{o: o}
	if m.ix, err = index.New(o.Index, o.options(o.Dim)); err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp(o.Dir, "ann-")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, m.close(), os.RemoveAll(dir)) }()
	source := newTextLike(o.N, o.Dim, o.Seed)
	queries := source.draw(o.NumQueries, textLikeAsked)
	near := newAnnNearest(queries, min(annK, o.N))
	rep := &ANNReport{N: o.N, Dim: o.Dim, Index: o.Index, Queries: o.NumQueries, Threads: o.Threads}
	for done := 0; done < o.N; {
		n := min(addBatch, o.N-done, o.Step-done%o.Step)
		part := source.draw(n, textLikeStored)
		near.offer(part)
		ids := make([]uint64, n)
		for i := range ids {
			ids[i] = uint64(done + i)
		}
		began, cpu := time.Now(), cpuTime()
		if err := m.ix.Add(ids, part.Data); err != nil {
			return nil, fmt.Errorf("building %s: %w", o.Index, err)
		}
		done += n
		rep.BuildSeconds += time.Since(began).Seconds()
		rep.BuildCPUSeconds += (cpuTime() - cpu).Seconds()
		o.report("build", done, o.N)
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if done%o.Step != 0 && done != o.N {
			continue
		}
		began = time.Now()
		if err := m.save(filepath.Join(dir, fmt.Sprintf("%d.snap", done))); err != nil {
			return nil, err
		}
		rep.SaveSeconds += time.Since(began).Seconds()
		began = time.Now()
		if err := m.open(); err != nil {
			return nil, err
		}
		rep.OpenSeconds = time.Since(began).Seconds()
	}
	i, err := os.Stat(m.at)
	if err != nil {
		return nil, err
	}
	rep.BytesPerVector = float64(i.Size()) / float64(o.N)
	measure := annMeasure{ix: m.ix, queries: queries, worst: near.worst(), threads: o.Threads, timed: o.timed, alive: o.N, distance: m.distances(queries)}
	if err := measure.points(ctx, o, rep, o.Ef); err != nil {
		return nil, err
	}
	runtime.GC() // another one, of memory, drops what pools kept over the first
	u, err := memory(dir)
	if err == nil && u != nil {
		rep.Resident, rep.Anonymous = mib(u.resident), mib(u.anonymous)
	}
	return rep, err
}

// save writes the index to a file, and lets go of both the index and the file that it lay in.
func (m *annMapped) save(path string) error {
	saved, ok := m.ix.(index.Snapshotter)
	if !ok {
		return fmt.Errorf("%w: index %s cannot be saved; leave the folder out", ErrOption, m.o.Index)
	}
	if err := snapshot.Write(path, snapshot.Header{Kind: "vectors", Version: 1}, saved.Save); err != nil {
		return fmt.Errorf("saving %s: %w", path, err)
	}
	before := m.at
	if err := m.close(); err != nil {
		return err
	}
	if m.at = path; before == "" {
		return nil
	}
	return os.Remove(before)
}

// open maps what save wrote.
func (m *annMapped) open() (err error) {
	if m.file, err = snapshot.Open(m.at); err != nil {
		return err
	}
	m.ix, err = index.Open(m.o.Index, m.o.options(m.o.Dim), m.file)
	return err
}

func (m *annMapped) close() error {
	m.ix = nil
	f := m.file
	if m.file = nil; f == nil {
		return nil
	}
	return f.Close()
}

// distances are 1 − cosine, by the index's own vectors.
func (m *annMapped) distances(queries *Vectors) func(q int, id uint64) float32 {
	var one [1]float32
	return func(q int, id uint64) float32 {
		if m.ix.Scores(one[:], queries.Row(q), []uint64{id}) != nil {
			return 2
		}
		return one[0]
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
