package httpapi

import (
	"context"
	"net/http"
	"sync/atomic"
	"time"

	"golang.org/x/sync/semaphore"
)

// slots limit how many requests are processed at a time, and how many wait.
type slots struct {
	free    chan struct{} // holds a value a request that is worked on
	waiting atomic.Int64
	queue   int64
	patient time.Duration
}

func newSlots(o Options) *slots {
	return &slots{free: make(chan struct{}, o.Concurrency), queue: int64(o.Queue), patient: o.QueueTime}
}

// take waits for a slot, until the context or the waiting time of requests ends. With
// patient it waits until the context ends, since a bulk in progress cannot be sent
// elsewhere. The returned function releases the slot.
func (s *slots) take(ctx context.Context, patient bool) (func(), error) {
	give := func() { <-s.free }
	select {
	case s.free <- struct{}{}:
		return give, nil
	default:
	}
	defer s.waiting.Add(-1)
	if s.waiting.Add(1) > s.queue && !patient {
		return nil, overloaded("too many requests are waiting")
	}
	var over <-chan time.Time
	if !patient {
		t := time.NewTimer(s.patient)
		defer t.Stop()
		over = t.C
	}
	select {
	case s.free <- struct{}{}:
		return give, nil
	case <-over:
		return nil, overloaded("the request has waited too long")
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func overloaded(why string) *Error {
	return refuse(http.StatusTooManyRequests, "overloaded", "the server is overloaded: %s; try again in a second", why)
}

// buffers limit the memory of all bodies until they are decoded.
type buffers struct {
	used atomic.Int64
	most int64
}

// grow reserves n bytes, or reports that there are not enough.
func (b *buffers) grow(n int64) error {
	if b.used.Add(n) > b.most {
		b.used.Add(-n)
		return overloaded("the bodies of running requests use all memory for bodies")
	}
	return nil
}

func (b *buffers) shrink(n int64) { b.used.Add(-n) }

// values limit the memory of the decoded values of all bodies.
type values struct {
	free    *semaphore.Weighted
	used    atomic.Int64
	most    int64
	patient time.Duration
}

func newValues(most int64, patient time.Duration) *values {
	return &values{free: semaphore.NewWeighted(most), most: most, patient: patient}
}

// holding is the share of one request.
type holding struct {
	of *values
	n  int64 // bytes
}

// try takes n bytes if they are free.
func (h *holding) try(n int64) bool {
	ok := h.of.free.TryAcquire(n)
	if ok {
		h.n += n
		h.of.used.Add(n)
	}
	return ok
}

// fits refuses amounts above the total.
func (h *holding) fits(n int64) error {
	if n > h.of.most {
		return refuse(http.StatusRequestEntityTooLarge, "too_large", "the decoded body would take %d MiB of memory, and the limit is %d; send less at a time, or documents as NDJSON", n>>20, h.of.most>>20)
	}
	return nil
}

// take waits for n bytes, until the context or the waiting time of requests ends.
func (h *holding) take(ctx context.Context, n int64) error {
	if err := h.fits(n); err != nil {
		return err
	}
	waited, cancel := context.WithTimeout(ctx, h.of.patient)
	defer cancel()
	if h.of.free.Acquire(waited, n) != nil {
		if err := ctx.Err(); err != nil {
			return err
		}
		return overloaded("the values of other requests use all memory for requests")
	}
	h.n += n
	h.of.used.Add(n)
	return nil
}

// keep returns all but n bytes.
func (h *holding) keep(n int64) {
	if over := h.n - n; over > 0 {
		h.n = n
		h.of.used.Add(-over)
		h.of.free.Release(over)
	}
}
