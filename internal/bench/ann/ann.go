// Package ann measures indexes of nearest neighbours: recall against exact search, speed and memory.
// Start with Run. "lexsem bench ann" is its command.
package ann

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"time"

	"github.com/lexsem/lexsem/bench"
	"github.com/lexsem/lexsem/index"
	"github.com/lexsem/lexsem/internal/bench/process"
	"github.com/lexsem/lexsem/internal/bench/vectors"
)

// neighbours is the number of neighbours asked for and judged.
const neighbours = 10

// Options are the options of Run.
type Options struct {
	// Base and Queries are .fbin files of the same dimension. If Base is empty, vectors.TextLike makes both
	// from N, Dim and Seed.
	Base, Queries string
	// Truth is an .ibin file with at least 10 nearest neighbours by cosine for each query. If it is
	// empty, or if Delete is set, the truth is computed by exact search.
	Truth string
	// N, Dim and NumQueries are the numbers of base vectors, dimensions and queries of made vectors. 0
	// means 20,000, 384 and 1,000.
	N, Dim, NumQueries int
	// Seed makes the vectors and chooses those to delete. 0 means 1.
	Seed uint64
	// Index is one of Indexes; "" means "hnsw".
	Index string
	// M and EfConstruction are the parameters of a graph. 0 means the default of index.Options for one
	// of index.Kinds, and M = 16 for a baseline, which has no EfConstruction.
	M, EfConstruction int
	// Ef lists the candidate pool sizes to measure. nil means 16, 32, 64, 128. An exact index is
	// measured once.
	Ef []int
	// Threads is the number of goroutines that build and search. 0 means 1.
	Threads int
	// Delete is the share of vectors, in [0, 1), that is deleted after the build and before the
	// measurement.
	Delete float64
	// Dir, if not empty, is a folder for a memory-mapped index file, so that the index may be larger
	// than memory. It requires made vectors and one of index.Kinds, and excludes Delete. The made
	// vectors differ from those without Dir. A subfolder needs at most twice the size of the index and
	// is removed at the end. An interrupted run leaves its saved index; a run with the same options
	// resumes from it.
	//
	// Step is the number of added vectors after which the index is saved. 0 means 2,500,000.
	Dir  string
	Step int
	// Progress, if not nil, is called by one goroutine at a time.
	Progress func(bench.Progress)

	timed time.Duration // as measurement has it; 0 means 500 ms, and tests take less
}

// Report is the result of Run. Its JSON form is stable.
type Report struct {
	N       int    `json:"n"`
	Dim     int    `json:"dim"`
	Index   string `json:"index"`
	Deleted int    `json:"deleted"`
	Queries int    `json:"queries"`
	Threads int    `json:"threads"`
	// BuildSeconds is wall time. BuildCPUSeconds is processor time of all threads.
	BuildSeconds    float64 `json:"build_seconds"`
	BuildCPUSeconds float64 `json:"build_cpu_seconds"`
	// BuildPanics and DeletePanics count the calls that panicked.
	BuildPanics  int `json:"build_panics"`
	DeletePanics int `json:"delete_panics"`
	// BytesPerVector is the heap of the filled index, including vectors, divided by the number of
	// vectors. With Options.Dir it is the file size divided by that number.
	BytesPerVector float64 `json:"bytes_per_vector"`
	Points         []Point `json:"points"`
	// The following fields are set only with Options.Dir. SaveSeconds is the time of all saves,
	// OpenSeconds the time to map the whole index. Resident and Anonymous are the memory after
	// searching in MiB: all of it, and the part outside files. Both are nil except on Linux.
	SaveSeconds float64  `json:"save_seconds,omitempty"`
	OpenSeconds float64  `json:"open_seconds,omitempty"`
	Resident    *float64 `json:"rss_mb,omitempty"`
	Anonymous   *float64 `json:"anonymous_mb,omitempty"`
}

// Point is the measurement of an index at one candidate pool size.
type Point struct {
	Ef int `json:"ef"`
	// Recall is the share of the 10 nearest neighbours that was found, in [0, 1]. A hit counts once if
	// it is as near as the 10th true neighbour. A failed query counts 0. A deleted vector counts as
	// not found.
	Recall float64 `json:"recall@10"`
	QPS    float64 `json:"qps"`    // queries per second of wall time, all threads together
	P50    float64 `json:"p50_us"` // median time of one query in microseconds
	P99    float64 `json:"p99_us"`
	// CPU is the processor time of one query in microseconds. Unlike QPS, it is comparable on a shared
	// machine.
	CPU    float64 `json:"cpu_us"`
	Allocs float64 `json:"allocs_per_query"`
	Panics int     `json:"panics"` // number of the Report.Queries queries that panicked
	Ghosts int     `json:"ghosts"` // number of deleted vectors among the hits
}

// Run builds an index over vectors by cosine, and measures its recall against exact search and its
// speed. The result is deterministic, except for times and for indexes whose parallel build is not
// deterministic.
func Run(ctx context.Context, o Options) (*Report, error) {
	o, kind, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	if o.Dir != "" {
		return o.runMapped(ctx)
	}
	base, queries, err := o.vectors()
	if err != nil {
		return nil, err
	}
	rep := &Report{N: base.Len(), Dim: base.Dim, Index: o.Index, Queries: queries.Len(), Threads: o.Threads}
	before := heapInUse()
	began, cpu := time.Now(), process.CPUTime()
	ix, err := kind.make(base.Dim, o)
	if err != nil {
		return nil, err
	}
	if err := o.build(ctx, ix, base, rep); err != nil {
		return nil, err
	}
	rep.BuildSeconds, rep.BuildCPUSeconds = time.Since(began).Seconds(), (process.CPUTime() - cpu).Seconds()
	rep.BytesPerVector = (heapInUse() - before) / float64(base.Len())
	gone := o.delete(ix, base.Len(), rep)
	worst, err := o.truth(ctx, base, queries, gone)
	if err != nil {
		return nil, err
	}
	efs := o.Ef
	if kind.exact {
		efs = []int{0}
	}
	m := measurement{
		ix: ix, queries: queries, worst: worst, gone: gone, threads: o.Threads, timed: o.timed, alive: base.Len() - rep.Deleted,
		distance: func(q int, id uint64) (float32, error) { return distance(queries.Row(q), base.Row(int(id))), nil },
	}
	return rep, m.points(ctx, o, rep, efs)
}

func (o Options) withDefaults() (Options, indexKind, error) {
	set := func(x *int, v int) {
		if *x == 0 {
			*x = v
		}
	}
	set(&o.N, 20_000)
	set(&o.Dim, 384)
	set(&o.NumQueries, 1_000)
	o.timed = cmp.Or(o.timed, 500*time.Millisecond)
	set(&o.Threads, 1)
	set(&o.Step, defaultStep)
	o.Seed = cmp.Or(o.Seed, 1)
	o.Index = cmp.Or(o.Index, "hnsw")
	if o.Ef == nil {
		o.Ef = []int{16, 32, 64, 128}
	}
	if !slices.Contains(index.Kinds(), o.Index) {
		set(&o.M, 16)
	}
	kind, err := findIndex(o.Index)
	if err != nil {
		return o, kind, err
	}
	switch {
	case o.N < 1 || o.Dim < 1 || o.NumQueries < 1 || o.M < 0 || o.EfConstruction < 0 || o.Threads < 1 || len(o.Ef) == 0 || slices.Min(o.Ef) < 1:
		return o, kind, fmt.Errorf("%w: every number of an index benchmark is at least 1", bench.ErrOption)
	case !(o.Delete >= 0 && o.Delete < 1):
		return o, kind, fmt.Errorf("%w: the share to delete is %v, want at least 0 and below 1", bench.ErrOption, o.Delete)
	case o.Base == "" && (o.Queries != "" || o.Truth != ""):
		return o, kind, fmt.Errorf("%w: queries or truth without a base file; name the base they belong to", bench.ErrOption)
	case o.Dir != "" && (o.Base != "" || o.Delete > 0 || !slices.Contains(index.Kinds(), o.Index) || kind.exact || o.Step < 1):
		return o, kind, fmt.Errorf("%w: an index in a folder is one of made vectors, a graph of this package, without deletes; leave out what is not", bench.ErrOption)
	case o.Base != "" && o.Queries == "":
		return o, kind, fmt.Errorf("%w: a base file without queries; name a file of query vectors", bench.ErrOption)
	}
	return o, kind, nil
}

func (o Options) report(stage string, done, total int) {
	if o.Progress != nil {
		o.Progress(bench.Progress{Stage: stage, Done: done, Total: total})
	}
}

// vectors reads or makes the base and the queries.
func (o Options) vectors() (base, queries *vectors.Set, err error) {
	if o.Base == "" {
		base, queries = vectors.TextLike(o.N, o.NumQueries, o.Dim, o.Seed)
		return base, queries, nil
	}
	if base, err = vectors.Read(o.Base); err != nil {
		return nil, nil, err
	}
	if queries, err = vectors.Read(o.Queries); err != nil {
		return nil, nil, err
	}
	if base.Dim != queries.Dim {
		return nil, nil, fmt.Errorf("%w: %s has dimension %d, %s has %d; use files of one model", vectors.ErrFile, o.Base, base.Dim, o.Queries, queries.Dim)
	}
	for name, v := range map[string]*vectors.Set{o.Base: base, o.Queries: queries} {
		for i := range v.Len() {
			if !vectors.Normalize(v.Row(i)) {
				return nil, nil, fmt.Errorf("%w: vector %d of %s has no direction (length 0); drop it", vectors.ErrFile, i, name)
			}
		}
	}
	return base, queries, nil
}

// addBatch is the number of vectors given to the index at once.
const addBatch = 2_000

func (o Options) build(ctx context.Context, ix measured, base *vectors.Set, rep *Report) error {
	for at := 0; at < base.Len(); at += addBatch {
		if err := ctx.Err(); err != nil {
			return err
		}
		end := min(at+addBatch, base.Len())
		ids := make([]uint64, end-at)
		for i := range ids {
			ids[i] = uint64(at + i)
		}
		err := ix.Add(ids, base.Data[at*base.Dim:end*base.Dim])
		if p, ok := errors.AsType[*panicError](err); ok {
			rep.BuildPanics += p.count
		} else if err != nil {
			return fmt.Errorf("building %s: %w", o.Index, err)
		}
		o.report("build", end, base.Len())
	}
	return nil
}

// delete removes a share of the vectors, drawn by the seed, and reports for each vector whether it
// was removed.
func (o Options) delete(ix measured, n int, rep *Report) []bool {
	gone := make([]bool, n)
	rng := rand.New(rand.NewPCG(o.Seed, 0xde1e7e))
	for _, i := range rng.Perm(n)[:int(o.Delete*float64(n))] {
		gone[i] = true
		rep.Deleted++
		if f, ok := ix.(interface{ tryDelete(id uint64) error }); ok {
			if f.tryDelete(uint64(i)) != nil {
				rep.DeletePanics++
			}
			continue
		}
		ix.Delete([]uint64{uint64(i)})
	}
	return gone
}

// exactBatch is the number of queries compared with all vectors between two looks at ctx.
const exactBatch = 1024

// truth returns, for each query, the distance of its 10th nearest vector among those not deleted.
func (o Options) truth(ctx context.Context, base, queries *vectors.Set, gone []bool) ([]float32, error) {
	worst := make([]float32, queries.Len())
	if o.Truth != "" && !slices.Contains(gone, true) {
		t, err := vectors.ReadTruth(o.Truth, base.Len())
		if err != nil {
			return nil, err
		}
		if t.K < neighbours || len(t.IDs)/t.K != queries.Len() {
			return nil, fmt.Errorf("%w: %s has %d neighbours for %d queries, want at least %d for %d; use the truth of these queries",
				vectors.ErrFile, o.Truth, t.K, len(t.IDs)/t.K, neighbours, queries.Len())
		}
		for i := range worst {
			for _, id := range t.IDs[i*t.K : i*t.K+neighbours] {
				worst[i] = max(worst[i], distance(queries.Row(i), base.Row(int(id))))
			}
		}
		return worst, nil
	}
	exact, err := index.New(index.KindFlat, index.Options{Dim: base.Dim})
	if err != nil {
		return nil, err
	}
	for i, dead := range gone {
		if !dead {
			if err := exact.Add([]uint64{uint64(i)}, base.Row(i)); err != nil {
				return nil, fmt.Errorf("computing the exact neighbours: %w", err)
			}
		}
	}
	near := make([][]index.Neighbor, exactBatch)
	for at := 0; at < queries.Len(); at += len(near) {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		near = near[:min(len(near), queries.Len()-at)]
		if err := exact.SearchBatch(near, queries.Data[at*base.Dim:(at+len(near))*base.Dim], index.SearchOptions{K: neighbours}); err != nil {
			return nil, fmt.Errorf("computing the exact neighbours: %w", err)
		}
		for i, answer := range near {
			worst[at+i] = distance(queries.Row(at+i), base.Row(int(answer[len(answer)-1].ID)))
		}
		o.report("exact neighbours", at+len(near), queries.Len())
	}
	return worst, nil
}

// heapInUse is the heap that is still reachable, in bytes. The second
// collection drops what pools kept over the first.
func heapInUse() float64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return float64(m.HeapAlloc)
}
