package engine

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/lexsem/lexsem/encoder"
)

// openBound opens a database that keeps at most n MiB beside the vectors and the store.
func openBound(t *testing.T, dir string, n, graphAbove int, tokens string) *Engine {
	t.Helper()
	o := Options{NoSync: true, TokenStates: tokens}
	if n > 0 {
		o.MaxMemoryMiB = leastStoreMiB + n
	}
	e, err := open(t.Context(), dir, encoder.NewHash(madeDim), o, graphAbove)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// fillUp adds documents until they are refused, and tells how many there are.
func fillUp(t *testing.T, e *Engine) (n int) {
	t.Helper()
	for {
		docs := alike(n, 100)
		if _, err := e.Add(t.Context(), docs); errors.Is(err, ErrMemory) {
			return n
		} else if err != nil {
			t.Fatal(err)
		}
		n += len(docs)
	}
}

// alike are n documents of the same twenty words.
func alike(from, n int) []Document {
	docs := make([]Document, n)
	for i := range docs {
		words := make([]string, 40)
		for w := range words {
			words[w] = fmt.Sprint("w", (from+i+w)%20)
		}
		docs[i] = Document{ID: fmt.Sprint(from + i), Text: strings.Join(words, " ")}
	}
	return docs
}

func statsNow(t *testing.T, e *Engine) Stats {
	t.Helper()
	if err := e.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	s, err := e.Stats(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestMaxMemoryForegoesGraph(t *testing.T) {
	dir := t.TempDir()
	e := openBound(t, dir, 0, AutoHNSW, TokenStatesOff)
	const n = 6000
	if _, err := e.Add(t.Context(), alike(0, n)); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		bound int
		kind  string
		gone  []string
	}{{2, "flat-int8", []string{"graph"}}, {0, "hnsw-int8", nil}} {
		if err := e.Close(); err != nil {
			t.Fatal(err)
		}
		e = openBound(t, dir, c.bound, n/2, TokenStatesOff)
		if s := statsNow(t, e); s.Index != c.kind || !slices.Equal(s.Foregone, c.gone) {
			t.Errorf("a bound of %d MiB: %s without %q, want %s without %q", c.bound, s.Index, s.Foregone, c.kind, c.gone)
		}
	}
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
}

// Token states end at half of the bound, and documents go on.
func TestMaxMemoryEndsTokenStates(t *testing.T) {
	e := openBound(t, t.TempDir(), 4, AutoHNSW, TokenStatesAuto)
	n := fillUp(t, e)
	s := statsNow(t, e)
	if s.TokenStates.Chunks == 0 || s.TokenStates.Chunks == n || s.Memory.Tokens < s.MaxMemory/2 || s.Memory.Tokens > s.MaxMemory*3/4 {
		t.Errorf("%d of %d documents have token states, %d bytes of at most %d", s.TokenStates.Chunks, n, s.Memory.Tokens, s.MaxMemory)
	}
	if !strings.Contains(s.TokenStates.Note, "since these take 2 MiB") {
		t.Errorf("note %q", s.TokenStates.Note)
	}
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
}
