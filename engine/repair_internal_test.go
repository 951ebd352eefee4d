package engine

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/lexsem/lexsem/encoder"
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
