package httpapi

import (
	"context"
	"net/http"
	"sync/atomic"
	"time"
)

// slots bound how many requests are worked on at a time, and how many wait.
type slots struct {
	free    chan struct{} // holds a value a request that is worked on
	waiting atomic.Int64
	queue   int64
	patient time.Duration
}

func newSlots(o Options) *slots {
	return &slots{free: make(chan struct{}, o.Concurrency), queue: int64(o.Queue), patient: o.QueueTime}
}

// take waits for a slot, no longer than the context lasts and than requests wait.
// patient waits as long as the context lasts: a bulk that is under way has nowhere to
// go. The returned function gives the slot back.
func (s *slots) take(ctx context.Context, patient bool) (func(), error) {
	give := func() { <-s.free }
	select {
	case s.free <- struct{}{}:
		return give, nil
	default:
	}
	defer s.waiting.Add(-1)
	if s.waiting.Add(1) > s.queue && !patient {
		return nil, overloaded("more requests wait than the server lets wait")
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
		return nil, overloaded("the request has waited as long as the server lets it wait")
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func overloaded(why string) *Error {
	return refuse(http.StatusTooManyRequests, "overloaded", "the server has too much to do: %s; try again in a second", why)
}

// buffers bound the memory of all bodies that are being read or worked on.
type buffers struct {
	used atomic.Int64
	most int64
}

// grow takes n bytes, or says that there are none.
func (b *buffers) grow(n int64) error {
	if b.used.Add(n) > b.most {
		b.used.Add(-n)
		return overloaded("the bodies of the requests that are being read take all the memory that they may")
	}
	return nil
}

func (b *buffers) shrink(n int64) { b.used.Add(-n) }
