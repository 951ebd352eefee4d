package load

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/lexsem/lexsem/engine"
	"github.com/lexsem/lexsem/internal/bench/process"
)

const (
	lifePause    = time.Millisecond // what a reader waits between two searches
	lifePatience = 20 * time.Second // deadline of a search beside work
	lifeControl  = 20 * time.Second // longest control run; a shorter one is the stricter
	lifeRest     = 2 * time.Minute  // longest wait until a process does nothing
)

// oneSearch records when a search began and how long it took.
type oneSearch struct {
	start time.Time
	took  time.Duration
}

// readers search until they are stopped, each at a natural pace.
type readers struct {
	stop atomic.Bool
	wg   sync.WaitGroup
	logs [][]oneSearch
	errs []error
}

// read starts n readers of e. Their queries have a vector and words, dense and hybrid in turn; the dense ones
// use variant instead of the default.
func read(ctx context.Context, e *engine.Engine, queries []engine.Query, n int, variant string) *readers {
	r := &readers{logs: make([][]oneSearch, n), errs: make([]error, n)}
	for i := range n {
		r.wg.Go(func() {
			for j := i; !r.stop.Load(); j++ {
				q := queries[j%len(queries)]
				if j/n%2 == 0 {
					q.Mode, q.Variant = engine.ModeDense, variant
				}
				start := time.Now()
				one, cancel := context.WithTimeout(ctx, lifePatience)
				_, err := e.Search(one, q)
				cancel()
				r.logs[i] = append(r.logs[i], oneSearch{start, time.Since(start)})
				if err != nil && !errors.Is(err, context.DeadlineExceeded) {
					r.errs[i] = fmt.Errorf("a search beside work: %w", err)
					return
				}
				time.Sleep(lifePause)
			}
		})
	}
	return r
}

// end stops the readers and returns their searches.
func (r *readers) end() ([]oneSearch, error) {
	r.stop.Store(true)
	r.wg.Wait()
	return slices.Concat(r.logs...), errors.Join(r.errs...)
}

// during returns the times of the searches that ran at any time in s.
func (s span) during(log []oneSearch) (took []time.Duration) {
	for _, x := range log {
		if x.start.Before(s.to) && x.start.Add(x.took).After(s.from) {
			took = append(took, x.took)
		}
	}
	return took
}

// longest returns the longest of times, or 0.
func longest(took []time.Duration) (most time.Duration) {
	for _, t := range took {
		most = max(most, t)
	}
	return most
}

// span is a stretch of time.
type span struct{ from, to time.Time }

func (s span) length() time.Duration { return s.to.Sub(s.from) }

// stall measures the longest search during one kind of work; the best round counts.
type stall struct {
	// Seconds is how long the work was observed. Searches is the number of searches in that time.
	Seconds  float64 `json:"seconds"`
	Searches int     `json:"searches"`
	// P50 and P99 are the times of the searches that ran during the work.
	P50 float64 `json:"p50_ms"`
	P99 float64 `json:"p99_ms"`
	// Longest is the time of the longest search during the work. Control is that of the longest search
	// while one goroutine is busy. Stall is Longest − Control, at least 0. All are in milliseconds.
	Longest float64 `json:"longest_ms"`
	Control float64 `json:"control_ms"`
	Stall   float64 `json:"stall_ms"`
}

// stall runs work during searches and then, for the same time, one busy goroutine. It keeps the round if it
// is the best so far. work returns the time span in which searches count. A span of length 0 makes the round
// void.
func (b *life) stall(ctx context.Context, e *engine.Engine, name, variant string, work func() (span, error)) error {
	if err := b.settle(ctx, e, variant); err != nil {
		return err
	}
	r := read(ctx, e, b.queries, b.o.Readers, variant)
	time.Sleep(b.o.sizes.moment)
	s, err := work()
	log, readErr := r.end()
	if err := errors.Join(err, readErr); err != nil {
		return fmt.Errorf("searches beside %s: %w", name, err)
	}
	if s.length() <= 0 {
		return nil
	}
	took := s.during(log)
	most := longest(took)
	if err := b.settle(ctx, e, variant); err != nil {
		return err
	}
	r = read(ctx, e, b.queries, b.o.Readers, variant)
	c := busy(min(s.length(), lifeControl))
	log, err = r.end()
	if err != nil {
		return fmt.Errorf("control run for %s: %w", name, err)
	}
	control := longest(c.during(log))
	got := &stall{
		Seconds: s.length().Seconds(), Searches: len(took), Longest: ms(most), Control: ms(control), Stall: ms(max(0, most-control)),
	}
	if len(took) > 0 {
		got.P50, got.P99 = ms(middle(took)), ms(quantileOf(took, .99))
	}
	if old := b.r.Stalls[name]; old == nil || got.Stall < old.Stall {
		b.r.Stalls[name], b.r.Stall[name] = got, &got.Stall
		if name == "add_10" {
			b.r.P50Beside, b.r.P99Beside = &got.P50, &got.P99
		}
	}
	greatest := 0.0
	for _, s := range b.r.Stalls {
		greatest = max(greatest, s.Control)
	}
	b.r.ControlMax = &greatest
	return nil
}

// settle waits until e is at rest and has served every query once, so that work left by earlier commits is
// not measured.
func (b *life) settle(ctx context.Context, e *engine.Engine, variant string) error {
	if err := rest(ctx, b.o.sizes.moment); err != nil {
		return err
	}
	for _, q := range b.queries {
		if _, err := e.Search(ctx, q); err != nil {
			return err
		}
		q.Mode, q.Variant = engine.ModeDense, variant
		if _, err := e.Search(ctx, q); err != nil {
			return err
		}
	}
	return nil
}

// lingering extends work by the time in which its background work runs.
func (b *life) lingering(work func() error) func() (span, error) {
	return func() (span, error) {
		from := time.Now()
		err := work()
		time.Sleep(b.o.sizes.linger)
		return span{from, time.Now()}, err
	}
}

// busy keeps one goroutine computing for d.
func busy(d time.Duration) span {
	from := time.Now()
	x := uint64(1)
	for time.Since(from) < d {
		for range 10_000 {
			x = x*6364136223846793005 + 1442695040888963407
		}
	}
	busySink.Store(x)
	return span{from, time.Now()}
}

// busySink keeps the compiler from removing the computation of busy.
var busySink atomic.Uint64

// caughtUp waits until a database has finished its background work, such as linking a graph of a million vectors.
func (b *life) caughtUp(ctx context.Context, e *engine.Engine) error {
	if err := e.Flush(ctx); err != nil {
		return err
	}
	return rest(ctx, b.o.sizes.moment)
}

// rest waits until the process is nearly idle for a moment, as it is after background work. It waits for at
// most two minutes.
func rest(ctx context.Context, moment time.Duration) error {
	for until := time.Now().Add(lifeRest); time.Now().Before(until); {
		start, used := time.Now(), process.CPUTime()
		select {
		case <-time.After(moment):
		case <-ctx.Done():
			return ctx.Err()
		}
		if used = process.CPUTime() - used; used < time.Since(start)/20 {
			return nil
		}
	}
	return nil
}

func ms(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// middle is the median of times, which must not be empty.
func middle(t []time.Duration) time.Duration { return quantileOf(t, 0.5) }

// quantileOf is the shortest time that a share q of t does not exceed.
func quantileOf(t []time.Duration, q float64) time.Duration {
	t = slices.Clone(t)
	slices.Sort(t)
	return t[min(len(t)-1, int(q*float64(len(t))))]
}
