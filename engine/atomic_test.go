package engine_test

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/lexsem/lexsem/engine"
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

// TestAddCancelledAtAnyMoment cancels Upsert at every moment that it looks at its
// context: either it returns success and every document is there, or an error and
// everything is as before, in searches and after reopening.
func TestAddCancelledAtAnyMoment(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	e, err := engine.Open(t.Context(), dir, hash(t), engine.Options{NoSync: true})
	if err != nil {
		t.Fatal(err)
	}
	batch := func(generation int) []engine.Document {
		var d []engine.Document
		for i := range 5 {
			d = append(d, engine.Document{ID: fmt.Sprint("d", i), Text: text(i), Metadata: map[string]any{"generation": generation}})
		}
		return append(d, engine.Document{ID: fmt.Sprint("only", generation), Text: text(100 + generation)}) // whose metadata say nothing
	}
	if _, err := e.Add(t.Context(), batch(0)); err != nil {
		t.Fatal(err)
	}
	present, stored := 0, 6
	check := func() {
		t.Helper()
		r, err := e.Search(t.Context(), engine.Query{Text: text(1), K: 1000, Mode: engine.ModeDense})
		if err != nil || len(r.Hits) != stored {
			t.Fatalf("generation %d: %d documents, %v, want %d", present, len(r.Hits), err, stored)
		}
		for _, h := range r.Hits {
			if g, ok := h.Metadata["generation"]; ok && fmt.Sprint(g) != fmt.Sprint(present) {
				t.Fatalf("%s is of generation %v, want %d", h.ID, g, present)
			}
		}
		if r, err = e.Search(t.Context(), engine.Query{Text: text(1), K: 1000, Mode: engine.ModeLexical}); err != nil || len(r.Hits) != stored {
			t.Fatalf("generation %d: %d documents by words, %v, want %d", present, len(r.Hits), err, stored)
		}
	}
	succeeded := false
	for n := 1; !succeeded && n < 2000; n++ {
		ctx := newCountdown(t.Context(), n)
		_, err := e.Upsert(ctx, batch(n))
		switch {
		case err == nil:
			present, stored = n, stored+1
			succeeded = true
		case !errors.Is(err, context.Canceled):
			t.Fatalf("after %d looks: %v", n, err)
		}
		check()
	}
	if !succeeded {
		t.Fatal("the call never ended by itself")
	}
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	e = open(t, dir, engine.Options{})
	check()
	if v, err := e.Verify(t.Context(), nil); err != nil || len(v.Problems) > 0 {
		t.Fatalf("%+v, %v", v, err)
	}
}
