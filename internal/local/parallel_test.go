package local

import (
	"errors"
	"fmt"
	"runtime"
	"runtime/metrics"
	"slices"
	"sync/atomic"
	"testing"
	"time"
)

// crowd counts how many goroutines are in a piece of work at once.
type crowd struct{ now, most atomic.Int64 }

// enter stays long enough for others to come, and returns how many there were.
func (c *crowd) enter() int64 {
	n := c.now.Add(1)
	for most := c.most.Load(); n > most && !c.most.CompareAndSwap(most, n); most = c.most.Load() {
	}
	time.Sleep(100 * time.Microsecond)
	c.now.Add(-1)
	return n
}

// Work that began on three goroutines goes on on one as soon as that is all it may take,
// and leaves nothing out.
func TestWorkersBecomeFewer(t *testing.T) {
	const n = 200
	var allowed atomic.Int64
	allowed.Store(3)
	var c crowd
	var late atomic.Int64
	times := make([]int, n)
	err := parallel(ctx, func() int { return int(allowed.Load()) }, n, func(i int) error {
		times[i]++
		if i == 20 {
			allowed.Store(1)
		}
		if there := c.enter(); i >= n/2 {
			late.Store(max(late.Load(), there))
		}
		return nil
	})
	if err != nil || slices.Min(times) != 1 || slices.Max(times) != 1 {
		t.Fatalf("not each was done once: %v, %v", times, err)
	}
	if c.most.Load() < 2 || late.Load() != 1 {
		t.Errorf("%d goroutines at first, %d where one was allowed", c.most.Load(), late.Load())
	}
}

// The first error in order is returned, whoever meets it and when.
func TestFirstError(t *testing.T) {
	for round := range 50 {
		err := parallel(ctx, workers(3), 40, func(i int) error {
			if i == 7 {
				time.Sleep(time.Duration(round%5) * 100 * time.Microsecond)
			}
			if i >= 7 && i%3 != 2 {
				return fmt.Errorf("%d", i)
			}
			return nil
		})
		if err == nil || err.Error() != "7" {
			t.Fatalf("round %d: %v", round, err)
		}
	}
	if err := parallel(ctx, workers(0), 3, func(i int) error { return errors.New("done") }); err == nil {
		t.Error("no worker, and nobody did it")
	}
}

// Bridges that were made by many goroutines are edited and made anew by as many as are
// allowed then.
func TestWorkersAreAskedForEachWork(t *testing.T) {
	set := newSet(15, 160)
	var allowed atomic.Int64
	allowed.Store(3)
	var c crowd
	src := set.source()
	src.Vectors = func(id uint64) []float32 { c.enter(); return set.vectors[id] }
	b, err := Build(ctx, testDim, testVocab, src, Options{Cells: 8, Workers: func() int { return int(allowed.Load()) }})
	if err != nil {
		t.Fatal(err)
	}
	if c.most.Load() < 2 {
		t.Fatalf("%d goroutines built", c.most.Load())
	}
	allowed.Store(1)
	c.most.Store(0)
	if _, err := b.Repartition(ctx); err != nil {
		t.Fatal(err)
	}
	e := b.Edit()
	for id := range uint64(40) {
		e.Remove(id)
	}
	done(t, e)
	if c.most.Load() != 1 {
		t.Errorf("%d goroutines where one is allowed", c.most.Load())
	}
}

// A fit stays in its goroutine: whoever lets one work beside searches gives away no more.
func TestAFitIsOneGoroutine(t *testing.T) {
	const n, d = 400, 420 // products that a library would divide
	set := newSet(3, n)
	for i := range set.vectors {
		x := make([]float32, d)
		copy(x, set.vectors[i])
		set.vectors[i] = x
	}
	b, err := New(d, testVocab, set.vector, Options{})
	if err != nil {
		t.Fatal(err)
	}
	members := make([]member, n)
	for i := range members {
		members[i].id = uint64(i)
	}
	created := func() uint64 {
		m := []metrics.Sample{{Name: "/sched/goroutines-created:goroutines"}}
		metrics.Read(m)
		return m[0].Value.Uint64()
	}
	runtime.GC() // starts the collector's own
	before := created()
	if _, err := b.fit(ctx, members); err != nil {
		t.Fatal(err)
	}
	if n := created() - before; n > 0 {
		t.Errorf("a fit started %d goroutines", n)
	}
}
