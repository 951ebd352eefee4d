package engine

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/lexsem/lexsem/encoder"
	"github.com/lexsem/lexsem/index"
	"github.com/lexsem/lexsem/internal/chunk"
	"github.com/lexsem/lexsem/internal/yield"
)

// TestBridgeIsSavedOrNot: whenever the context ends, either the call says so and the
// database has the bridge it had, or the new one is in use.
func TestBridgeIsSavedOrNot(t *testing.T) {
	e := small(t, t.TempDir(), 60, Options{})
	if _, err := e.Fit(t.Context(), FitOptions{Variant: "slr", Epochs: 1, QueriesPerPassage: 1}); err != nil {
		t.Fatal(err)
	}
	w := e.db.Present().Bridges["slr"].Weights
	for n := 0; ; n++ {
		before, auto := e.st.Manifest().Auto, fmt.Sprint("choice", n)
		_, err := e.saveBridge(lookedAt(t.Context(), n), w, 1, nil, auto)
		switch now := e.st.Manifest().Auto; {
		case err == nil && now == auto && e.db.Present().Auto == auto:
			if n == 0 {
				t.Fatal("the call never looks at its context")
			}
			return
		case err == nil || now != before || !errors.Is(err, context.Canceled):
			t.Fatalf("look %d: %v, and %q in place of %q", n, err, now, before)
		}
	}
}

// TestLongCallsYield: all calls but searches let those run when they look at their context.
func TestLongCallsYield(t *testing.T) {
	e := small(t, t.TempDir(), 3, Options{})
	for name, enter := range map[string]func(context.Context) (context.Context, func(*error), error){"work": e.work, "write": e.write} {
		ctx, done, err := enter(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if got, want := fmt.Sprintf("%T", ctx), fmt.Sprintf("%T", yield.Context(t.Context())); got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
		done(&err)
	}
}

// TestCloseEndsVerify: Close does not wait for all of a Verify.
func TestCloseEndsVerify(t *testing.T) {
	e, err := Open(t.Context(), t.TempDir(), encoder.NewHash(32), Options{})
	if err != nil {
		t.Fatal(err)
	}
	numbers(t, e, 0, 500)
	closed, once := make(chan error, 1), false
	_, err = e.Verify(t.Context(), func(Progress) {
		if !once {
			once = true
			go func() { closed <- e.Close() }()
			<-e.calls.Root().Done()
		}
	})
	if !errors.Is(err, ErrClosed) || !once {
		t.Errorf("Verify: %v", err)
	}
	if err := <-closed; err != nil {
		t.Error(err)
	}
}

// TestChunksOfACancelledAdd cancels an Add at each moment that it looks at its context from
// its first record on. Contexts made of that one would not look at it. What a cancelled Add has put into the index is gone before
// another document gets its ordinal: all chunks of it.
func TestChunksOfACancelledAdd(t *testing.T) {
	t.Parallel()
	for _, kind := range index.Kinds() {
		t.Run(kind, func(t *testing.T) {
			e := small(t, t.TempDir(), 3, Options{Index: kind, ChunkTokens: 64})
			e.db.Stop() // so that the next commit has to do it
			long := []Document{{ID: "long", Text: strings.Repeat("A sentence about nothing in particular. ", 100)}}
			undone := false
			for n := 1; ; n++ {
				records, err := e.check(t.Context(), long, false)
				if err == nil {
					err = e.encode(t.Context(), records)
				}
				if err != nil {
					t.Fatal(err)
				}
				if _, err := e.stage(lookedAt(t.Context(), n), records, false); err == nil {
					break
				} else if !errors.Is(err, context.Canceled) {
					t.Fatal(err)
				}
				undone = undone || e.db.Present().Vectors.Len() > e.db.Present().Chunks()
				if _, err := e.Get(t.Context(), "long"); !errors.Is(err, ErrNotFound) {
					t.Fatalf("look %d: %v", n, err)
				}
				numbers(t, e, 10+n, 11+n) // which gets the ordinal
				s := e.db.Present()
				for id := range s.Vectors.IDs {
					if s.Sees(id) && id != chunk.Ord(id) {
						t.Fatalf("look %d: chunk %d of a document of one piece", n, chunk.Number(id))
					}
				}
				if s.Vectors.Len() != s.Chunks() {
					t.Fatalf("look %d: %d vectors of %d chunks", n, s.Vectors.Len(), s.Chunks())
				}
			}
			if !undone {
				t.Error("nothing was ever undone: the test shows nothing")
			}
		})
	}
}
