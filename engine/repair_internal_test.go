package engine

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/lexsem/lexsem/encoder"
	"github.com/lexsem/lexsem/engine/internal/columns"
	"github.com/lexsem/lexsem/index"
	"github.com/lexsem/lexsem/index/inverted"
	"github.com/lexsem/lexsem/internal/snapshot"
	"github.com/lexsem/lexsem/modulate"
)

// small is a database of n documents with the words of numbers.
func small(t *testing.T, dir string, n int, o Options) *Engine {
	t.Helper()
	e, err := Open(t.Context(), dir, encoder.NewHash(32), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { e.Close() })
	if n > 0 {
		numbers(t, e, 0, n)
	}
	return e
}

func number(i int) string { return fmt.Sprintf("the document number n%d of all", i) }

func numbers(t *testing.T, e *Engine, lo, hi int) {
	t.Helper()
	var docs []Document
	for i := lo; i < hi; i++ {
		docs = append(docs, Document{ID: fmt.Sprint(i), Text: number(i)})
	}
	if _, err := e.Upsert(t.Context(), docs); err != nil {
		t.Fatal(err)
	}
}

// TestOpeningIsCancelled: an Open that has to rebuild derived state returns the
// error of its context, and the database opens afterwards.
func TestOpeningIsCancelled(t *testing.T) {
	dir := t.TempDir()
	if err := small(t, dir, 20, Options{}).Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(filepath.Join(dir, "derived")); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Open(ctx, dir, encoder.NewHash(32), Options{}); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	small(t, dir, 0, Options{})
}

// damaged makes the engine believe that a search has met some damage, and waits for
// the repair.
func damaged(t *testing.T, e *Engine, what error) {
	t.Helper()
	err := fmt.Errorf("for a test: %w", what)
	if e.db.Repair(&err); !errors.Is(err, ErrCorrupt) {
		t.Fatal(err)
	}
	if err := e.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// TestRepair makes each part anew while local bridges are there. Nothing is counted
// twice, and the local bridges go on following the commits.
func TestRepair(t *testing.T) {
	for name, what := range map[string]error{
		"vectors": index.ErrCorrupt, "words": inverted.ErrCorrupt, "metadata": columns.ErrCorrupt,
		"sums": modulate.ErrCorrupt, "all": snapshot.ErrDamaged,
	} {
		t.Run(name, func(t *testing.T) {
			e := small(t, t.TempDir(), 30, Options{Local: true})
			if err := e.Flush(t.Context()); err != nil {
				t.Fatal(err)
			}
			damaged(t, e, what)
			s := e.db.Present()
			if s.Local == nil || len(s.Fresh) > 0 || s.Chunks != 30 {
				t.Fatalf("%d chunks, %d that the local bridges lack, local bridges %v", s.Chunks, len(s.Fresh), s.Local != nil)
			}
			numbers(t, e, 20, 40)
			if err := e.Flush(t.Context()); err != nil {
				t.Fatal(err)
			}
			if s = e.db.Present(); s.Local.Len() != 40 || len(s.Fresh) > 0 || s.Chunks != 40 || s.Vectors.Len() != 40 {
				t.Fatalf("local bridges of %d, %d that they lack, %d chunks, %d vectors", s.Local.Len(), len(s.Fresh), s.Chunks, s.Vectors.Len())
			}
			for _, i := range []int{3, 25, 39} {
				r, err := e.Search(t.Context(), Query{Text: number(i), Mode: ModeDense, Variant: VariantLocal, K: 1})
				if err != nil || r.Hits[0].ID != fmt.Sprint(i) {
					t.Fatalf("%d: %+v, %v", i, r.Hits, err)
				}
			}
			if v, err := e.Verify(t.Context(), nil); err != nil || len(v.Problems) > 0 {
				t.Fatalf("%+v, %v", v, err)
			}
		})
	}
}
