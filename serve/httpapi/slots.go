package httpapi

import (
	"context"
	"net/http"
	"runtime"
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

// buffers limit the memory of all bodies until they are decoded. The first bytes of each body have memory of their own,
// so that large bodies do not keep small ones out.
type buffers struct {
	used, firsts atomic.Int64 // bytes after and before firstBody
	most         int64        // of used; firsts may take a quarter of it
}

// firstBody is the length of a body's first part in bytes, a power of two.
const firstBody = 64 << 10

// grow reserves n bytes for a body that holds some bytes, or reports that there are not enough. A body grows to
// firstBody before it grows beyond.
func (b *buffers) grow(held, n int64) error {
	of, most := &b.used, b.most
	if held+n <= firstBody {
		of, most = &b.firsts, b.most/4
	}
	if of.Add(n) > most {
		of.Add(-n)
		return overloaded("the bodies of running requests use all memory for bodies")
	}
	return nil
}

// shrink returns all that a body holds.
func (b *buffers) shrink(held int64) {
	first := min(held, firstBody)
	b.firsts.Add(-first)
	b.used.Add(first - held)
}

// taken is what all bodies hold, in bytes.
func (b *buffers) taken() int64 { return b.used.Load() + b.firsts.Load() }

// values limit the memory of the decoded values of all bodies, and how many large bodies are worked on at a time.
type values struct {
	free    *semaphore.Weighted
	large   chan struct{} // holds a value a large body that is weighed or decoded
	used    atomic.Int64
	most    int64
	patient time.Duration
}

func newValues(most int64, patient time.Duration) *values {
	return &values{free: semaphore.NewWeighted(most), large: make(chan struct{}, max(1, runtime.GOMAXPROCS(0)/2)), most: most, patient: patient}
}

// largeBody is the size in bytes from which decoding a body takes some milliseconds.
const largeBody = 256 << 10

// turn waits until a body of n bytes may be weighed or decoded, and returns the function that lets others in. Large ones
// leave half of the processors to small requests.
func (v *values) turn(ctx context.Context, n int) (give func(), err error) {
	if n < largeBody {
		return func() {}, nil
	}
	select {
	case v.large <- struct{}{}:
		return func() { <-v.large }, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// work weighs or decodes a body of n bytes in its turn.
func (v *values) work(ctx context.Context, n int, do func() error) error {
	give, err := v.turn(ctx, n)
	if err != nil {
		return err
	}
	defer give()
	return do()
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
