package ann

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/lexsem/lexsem/index"
	"github.com/lexsem/lexsem/internal/bench/process"
	"github.com/lexsem/lexsem/internal/bench/vectors"
)

// measurement measures one filled index.
type measurement struct {
	ix       measured
	queries  *vectors.Set
	worst    []float32 // distance of the 10th nearest of each query
	gone     []bool    // by id; nil where nothing was deleted
	alive    int
	threads  int
	timed    time.Duration                               // how long the timing of one point lasts at least
	distance func(query int, id uint64) (float32, error) // 1 − cosine, exact
}

// points measures the index at each candidate pool.
func (m measurement) points(ctx context.Context, o Options, rep *Report, efs []int) error {
	for i, ef := range efs {
		o.report("search", i, len(efs))
		p, err := m.point(ctx, ef)
		if err != nil {
			return err
		}
		rep.Points = append(rep.Points, p)
	}
	o.report("search", len(efs), len(efs))
	return nil
}

func (m measurement) point(ctx context.Context, ef int) (Point, error) {
	if f, ok := m.ix.(interface{ setEf(int) }); ok {
		f.setEf(ef)
	}
	p := Point{Ef: ef}
	o := index.SearchOptions{K: neighbours, Ef: ef}
	if err := m.quality(ctx, &p, o); err != nil {
		return p, err
	}
	m.speed(ctx, &p, o)
	return p, ctx.Err()
}

// quality fills recall, panics, ghosts and allocations in one pass.
func (m measurement) quality(ctx context.Context, p *Point, o index.SearchOptions) error {
	want := min(neighbours, m.alive)
	found := 0
	var dst []index.Neighbor
	var before, after runtime.MemStats
	for i := range m.worst {
		if err := ctx.Err(); err != nil {
			return err
		}
		var err error
		dst, err = m.ix.Search(dst[:0], m.queries.Row(i), o)
		if _, ok := errors.AsType[*panicError](err); ok {
			p.Panics++
			continue
		}
		if err != nil {
			return fmt.Errorf("searching query %d: %w", i, err)
		}
		seen := map[uint64]struct{}{}
		for _, n := range dst {
			if m.gone != nil && m.gone[n.ID] {
				p.Ghosts++
				continue
			}
			if _, dup := seen[n.ID]; dup {
				continue
			}
			seen[n.ID] = struct{}{}
			d, err := m.distance(i, n.ID)
			if err != nil {
				return fmt.Errorf("the distance of vector %d from query %d: %w", n.ID, i, err)
			}
			if d <= m.worst[i]+1e-6 {
				found++
			}
		}
	}
	p.Recall = float64(found) / float64(want*len(m.worst))
	runtime.ReadMemStats(&before)
	for i := range m.worst {
		dst, _ = m.ix.Search(dst[:0], m.queries.Row(i), o) // errors were counted above
	}
	runtime.ReadMemStats(&after)
	p.Allocs = float64(after.Mallocs-before.Mallocs) / float64(len(m.worst))
	return nil
}

// speed measures the times: all threads repeat the queries, each from a different first
// query, until enough time has passed.
func (m measurement) speed(ctx context.Context, p *Point, o index.SearchOptions) {
	var mu sync.Mutex
	var took []time.Duration
	var wg sync.WaitGroup
	n := m.queries.Len()
	began, cpu := time.Now(), process.CPUTime()
	for t := range m.threads {
		wg.Go(func() {
			var mine []time.Duration
			var dst []index.Neighbor
			for i := t * n / m.threads; len(mine) < n/m.threads+1 || time.Since(began) < m.timed; i++ {
				if ctx.Err() != nil {
					return
				}
				start := time.Now()
				dst, _ = m.ix.Search(dst[:0], m.queries.Row(i%n), o) // errors were counted by quality
				mine = append(mine, time.Since(start))
			}
			mu.Lock()
			took = append(took, mine...)
			mu.Unlock()
		})
	}
	wg.Wait()
	all, used := time.Since(began), process.CPUTime()-cpu
	if len(took) == 0 {
		return
	}
	slices.Sort(took)
	at := func(q float64) float64 {
		return float64(took[min(len(took)-1, int(q*float64(len(took))))].Nanoseconds()) / 1000
	}
	p.CPU = float64(used.Nanoseconds()) / 1000 / float64(len(took))
	p.QPS, p.P50, p.P99 = float64(len(took))/all.Seconds(), at(.50), at(.99)
}
