package calls

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/lexsem/lexsem/store"
)

// TestEnd: End ends the calls that Begin began, lets those of Enter run, and refuses others;
// Wait waits for both.
func TestEnd(t *testing.T) {
	c := New()
	done, err := c.Enter()
	if err != nil {
		t.Fatal(err)
	}
	ctx, ends, err := c.Begin(t.Context())
	if err != nil || ctx.Err() != nil {
		t.Fatal(err, ctx.Err())
	}
	if !c.End() || c.End() {
		t.Error("the first End is not told from the second")
	}
	if !errors.Is(ctx.Err(), context.Canceled) {
		t.Errorf("a call that runs: %v", ctx.Err())
	}
	if _, err := c.Enter(); !errors.Is(err, store.ErrClosed) {
		t.Errorf("a call behind End: %v", err)
	}
	if _, _, err := c.Begin(t.Context()); !errors.Is(err, store.ErrClosed) {
		t.Errorf("a call behind End: %v", err)
	}
	waited := make(chan struct{})
	go func() { c.Wait(); close(waited) }()
	err = ctx.Err()
	if ends(&err); !errors.Is(err, store.ErrClosed) {
		t.Errorf("what the call returns: %v", err)
	}
	select {
	case <-waited:
		t.Error("Wait did not wait for a call of Enter")
	case <-time.After(10 * time.Millisecond):
	}
	done()
	<-waited
}

// TestCallersEnd: a call whose caller cancels it returns the caller's error, also behind End.
func TestCallersEnd(t *testing.T) {
	c := New()
	caller, cancel := context.WithCancel(t.Context())
	ctx, ends, err := c.Begin(caller)
	if err != nil {
		t.Fatal(err)
	}
	cancel()
	c.End()
	err = ctx.Err()
	if ends(&err); !errors.Is(err, context.Canceled) || errors.Is(err, store.ErrClosed) {
		t.Errorf("%v", err)
	}
}
