package engine

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

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

// TestClosingWithStrays: vectors of deleted documents that no maintainer has taken out
// yet are saved with the index. The next opening takes them out, and uses the rest.
func TestClosingWithStrays(t *testing.T) {
	for _, kind := range []string{index.KindFlatInt8, index.KindHNSWInt8} {
		t.Run(kind, func(t *testing.T) {
			dir := t.TempDir()
			e := small(t, dir, 40, Options{Index: kind})
			e.db.Stop()
			if n, err := e.Delete(t.Context(), []string{"3", "4", "5"}); n != 3 || err != nil {
				t.Fatal(n, err)
			}
			if err := e.Close(); err != nil {
				t.Fatal(err)
			}
			var log bytes.Buffer
			e = small(t, dir, 0, Options{Index: kind, Logger: slog.New(slog.NewTextHandler(&log, nil))})
			if log.Len() > 0 || e.db.Present().Vectors.Len() != 37 {
				t.Fatalf("%d vectors: %s", e.db.Present().Vectors.Len(), &log)
			}
		})
	}
}

// TestClosingUnchanged: a database that was only searched is not written again.
func TestClosingUnchanged(t *testing.T) {
	dir := t.TempDir()
	e := small(t, dir, 40, Options{})
	if err := e.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	written := func() (at []time.Time) {
		if err := e.Close(); err != nil {
			t.Fatal(err)
		}
		files, err := filepath.Glob(filepath.Join(dir, "derived", "*.snap"))
		if err != nil || len(files) != 5 {
			t.Fatal(files, err)
		}
		for _, f := range files {
			i, err := os.Stat(f)
			if err != nil {
				t.Fatal(err)
			}
			at = append(at, i.ModTime())
		}
		return at
	}
	before := written()
	e = small(t, dir, 0, Options{})
	if _, err := e.Search(t.Context(), Query{Text: number(1)}); err != nil {
		t.Fatal(err)
	}
	if after := written(); !slices.Equal(before, after) {
		t.Errorf("written at %v, and again at %v", before, after)
	}
}

// TestFactorIsKept: a factor that was made in the background is there at the next
// opening.
func TestFactorIsKept(t *testing.T) {
	dir, enc := t.TempDir(), encoder.NewHash(128)
	stale := func(e *Engine) int { n, _ := e.db.Present().Sums.Staleness(); return n }
	opened := func() *Engine {
		e, err := Open(t.Context(), dir, enc, Options{NoSync: true})
		if err != nil {
			t.Fatal(err)
		}
		return e
	}
	e := opened()
	e.db.Stop() // before it makes a factor
	numbers(t, e, 0, 3000)
	if stale(e) == 0 {
		t.Fatal("so many documents need no factor: the test shows nothing")
	}
	for range 2 {
		if err := e.Close(); err != nil {
			t.Fatal(err)
		}
		e = opened()
		if err := e.Flush(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	e = opened()
	defer e.Close()
	e.db.Stop()
	if n := stale(e); n != 0 {
		t.Errorf("%d documents are beyond the factor", n)
	}
}
