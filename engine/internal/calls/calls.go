// Package calls keeps count of the calls that an open database answers, and ends them
// when it closes.
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

// New is that of a database that has just been opened.
func New() *Calls {
	c := new(Calls)
	c.root, c.stop = context.WithCancelCause(context.Background())
	return c
}

// Root is a context that ends with End. Its cause is store.ErrClosed then.
func (c *Calls) Root() context.Context { return c.root }

// Enter marks a call as running; the returned function ends it. Behind End it is
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

// Begin is Enter for a call that End cancels, and that ends no later than its deadline. It
// returns the call's context. What ends the call makes store.ErrClosed of an error that
// comes of End.
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

// End has further calls refused, and cancels those that Begin began. It says whether it is
// the first to do so.
func (c *Calls) End() (first bool) {
	c.mu.Lock()
	first, c.ended = !c.ended, true
	c.mu.Unlock()
	c.stop(store.ErrClosed)
	return first
}

// Wait waits until no call runs. End comes before it.
func (c *Calls) Wait() { c.running.Wait() }

// either is a context made of the caller's and of the database's. Both are asked as
// well: one of a kind of its own tells those made of it a moment late, and so does
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
