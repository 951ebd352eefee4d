package engine_test

import (
	"context"
	"sync/atomic"
)

// countdown is a context that is cancelled when it was asked n times.
type countdown struct {
	context.Context
	left   atomic.Int64
	done   chan struct{}
	closed atomic.Bool
}

func newCountdown(ctx context.Context, n int) *countdown {
	c := &countdown{Context: ctx, done: make(chan struct{})}
	c.left.Store(int64(n))
	return c
}

func (c *countdown) Done() <-chan struct{} { return c.done }

func (c *countdown) Err() error {
	if c.left.Add(-1) < 0 {
		if !c.closed.Swap(true) {
			close(c.done)
		}
		return context.Canceled
	}
	return nil
}
