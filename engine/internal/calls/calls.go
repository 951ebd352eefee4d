// Package calls counts the running calls of an open database, and ends them when it
// closes.
package calls

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/lexsem/lexsem/store"
)

// Calls are the running calls of a database. It is safe for concurrent use.
type Calls struct {
	root context.Context // ends when End is called
	stop context.CancelCauseFunc

	mu      sync.Mutex // guards ended
	ended   bool
	running sync.WaitGroup
}

// New returns the Calls of a database that was just opened.
func New() *Calls {
	c := new(Calls)
	c.root, c.stop = context.WithCancelCause(context.Background())
	return c
}

// Root is a context that ends with End. Its cause is then store.ErrClosed.
func (c *Calls) Root() context.Context { return c.root }

// Enter marks a call as running; the returned function ends it. After End it returns
// store.ErrClosed.
func (c *Calls) Enter() (func(), error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ended {
		return nil, store.ErrClosed
	}
	c.running.Add(1)
	return c.running.Done, nil
}

// Begin is Enter for a call that End cancels, and that ends at its deadline at the latest.
// It returns the call's context. The function that ends the call turns an error caused by
// End into store.ErrClosed.
func (c *Calls) Begin(ctx context.Context) (context.Context, func(*error), error) {
	done, err := c.Enter()
	if err != nil {
		return ctx, nil, err
	}
	caller := Promptly(ctx)
	ctx, cancel := context.WithCancelCause(caller)
	stop := context.AfterFunc(c.root, func() { cancel(store.ErrClosed) })
	return either{ctx, caller, c.root}, func(err *error) {
		closing := context.Cause(ctx) == store.ErrClosed || caller.Err() == nil && c.root.Err() != nil
		if errors.Is(*err, context.Canceled) && closing {
			*err = fmt.Errorf("cancelled by Close: %w", store.ErrClosed)
		}
		stop()
		cancel(nil)
		done()
	}, nil
}

// End refuses further calls, and cancels the calls of Begin. It reports whether it is the
// first call of End.
func (c *Calls) End() (first bool) {
	c.mu.Lock()
	first, c.ended = !c.ended, true
	c.mu.Unlock()
	c.stop(store.ErrClosed)
	return first
}

// Wait waits until no call is running. End must be called first.
func (c *Calls) Wait() { c.running.Wait() }

// either is a context that ends with the caller's or the database's. It also asks both
// directly: a context of another type informs derived contexts a moment late, and so does
// context.AfterFunc.
type either struct {
	context.Context
	caller, root context.Context
}

func (c either) Err() error {
	if err := c.caller.Err(); err != nil {
		return err
	}
	if err := c.root.Err(); err != nil {
		return err
	}
	return c.Context.Err()
}
