package engine_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/lexsem/lexsem/engine"
)

// boundMiB leaves all but the store 3 MiB: an empty index of vectors takes one.
const boundMiB = engine.MinMemoryMiB + 2

var unitVector = func() []float32 {
	v := make([]float32, dim)
	v[0] = 1
	return v
}()

// beside is what a database keeps beside the float32 vectors.
func beside(s engine.Stats) (n int64) {
	for name, bytes := range s.Memory.Parts() {
		if name != "vectors" {
			n += bytes
		}
	}
	return n
}

// ofOwnWords are n documents with words that no other has.
func ofOwnWords(from, n int) []engine.Document {
	docs := make([]engine.Document, n)
	for i := range docs {
		var b strings.Builder
		for w := range 30 {
			fmt.Fprintf(&b, "w%dx%d ", from+i, w)
		}
		docs[i] = engine.Document{ID: fmt.Sprint(from + i), Text: b.String()}
	}
	return docs
}

// fill adds documents until they are refused, and returns how many are stored.
func fill(t *testing.T, e *engine.Engine, from, batch int) int {
	t.Helper()
	for n := from; n < from+200*batch; n += batch {
		_, err := e.Add(t.Context(), ofOwnWords(n, batch))
		if errors.Is(err, engine.ErrMemory) {
			return n
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	t.Fatal("nothing was refused")
	return 0
}

func statsOf(t *testing.T, e *engine.Engine) engine.Stats {
	t.Helper()
	s, err := e.Stats(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestMaxMemory(t *testing.T) {
	dir := t.TempDir()
	o := engine.Options{MaxMemoryMiB: boundMiB, NoSync: true}
	e := openWith(t, dir, hash(t), o)
	// What is sure not to fit takes no slots of the index, which gives none back.
	before := statsOf(t, e).Memory.Codes
	many := make([]engine.Document, 40_000)
	for i := range many {
		many[i] = engine.Document{ID: fmt.Sprint("m", i), Text: "a", Vector: unitVector}
	}
	if _, err := e.Add(t.Context(), many); !errors.Is(err, engine.ErrMemory) || statsOf(t, e).Memory.Codes != before {
		t.Fatalf("%d documents: %v; codes take %d bytes, %d before", len(many), err, statsOf(t, e).Memory.Codes, before)
	}
	n := fill(t, e, 0, 100)
	if n < 200 {
		t.Fatalf("%d documents were stored", n)
	}
	s := statsOf(t, e)
	if s.MaxMemory != (boundMiB-64)<<20 || s.Documents != n {
		t.Fatalf("%d documents of %d, at most %d bytes", s.Documents, n, s.MaxMemory)
	}
	if got := beside(s); got > s.MaxMemory || got < s.MaxMemory/2 {
		t.Fatalf("%d bytes beside the vectors, at most %d", got, s.MaxMemory)
	}
	if _, err := e.Get(t.Context(), fmt.Sprint(n)); !errors.Is(err, engine.ErrNotFound) {
		t.Fatalf("a refused document: %v", err)
	}
	r, err := e.Search(t.Context(), engine.Query{Text: fmt.Sprintf("w%dx3", n-1), K: 1})
	if err != nil || len(r.Hits) != 1 || r.Hits[0].ID != fmt.Sprint(n-1) {
		t.Fatalf("the last document: %v, %v", r.Hits, err)
	}
	// What is deleted makes room, however little it is.
	ids := make([]string, 300)
	for i := range ids {
		ids[i] = fmt.Sprint(i)
	}
	if _, err := e.Delete(t.Context(), ids); err != nil {
		t.Fatal(err)
	}
	if err := e.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := e.Add(t.Context(), ofOwnWords(n, 100)); err != nil {
		t.Fatalf("after 300 were deleted: %v", err)
	}
	// A database beyond its bound opens, answers, and takes deletions.
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	e = openWith(t, dir, hash(t), engine.Options{NoSync: true})
	if _, err := e.Add(t.Context(), ofOwnWords(n+100, 4000)); err != nil {
		t.Fatal(err)
	}
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	e = openWith(t, dir, hash(t), o)
	if got := beside(statsOf(t, e)); got <= s.MaxMemory {
		t.Fatalf("%d bytes are within the bound", got)
	}
	if r, err := e.Search(t.Context(), engine.Query{Text: fmt.Sprintf("w%dx3", n), K: 1}); err != nil || r.Hits[0].ID != fmt.Sprint(n) {
		t.Fatalf("%v, %v", r.Hits, err)
	}
	if _, err := e.Add(t.Context(), ofOwnWords(n+5000, 1)); !errors.Is(err, engine.ErrMemory) {
		t.Fatalf("one more: %v", err)
	}
	if k, err := e.Delete(t.Context(), []string{fmt.Sprint(n)}); err != nil || k != 1 {
		t.Fatalf("%d deleted: %v", k, err)
	}
}

func TestMaxMemoryForegoesLocalBridges(t *testing.T) {
	dir := t.TempDir()
	o := engine.Options{MaxMemoryMiB: boundMiB, NoSync: true, Local: true}
	e := openWith(t, dir, hash(t), o)
	if _, err := e.Add(t.Context(), ofOwnWords(0, 100)); err != nil {
		t.Fatal(err)
	}
	if err := e.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	if s := statsOf(t, e); s.Memory.Local == 0 || len(s.Foregone) != 0 {
		t.Fatalf("local bridges of a small corpus: %d bytes, without %q", s.Memory.Local, s.Foregone)
	}
	n := fill(t, e, 100, 100)
	if err := e.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	s := statsOf(t, e)
	if s.Memory.Local != 0 || !slices.Equal(s.Foregone, []string{"local bridges"}) || beside(s) > s.MaxMemory {
		t.Fatalf("%d bytes of local bridges, without %q", s.Memory.Local, s.Foregone)
	}
	if r, err := e.Search(t.Context(), engine.Query{Text: "w7x3", K: 1, Variant: "rlr-local", Mode: engine.ModeDense}); err != nil || r.Trace.Variant != "rlr" {
		t.Fatalf("rlr-local without local bridges: %+v, %v", r.Trace, err)
	}
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	e = openWith(t, dir, hash(t), engine.Options{NoSync: true, Local: true})
	if err := e.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	if s := statsOf(t, e); s.Memory.Local == 0 || s.Documents != n || s.MaxMemory != 0 || len(s.Foregone) != 0 {
		t.Fatalf("without a bound: %+v", s)
	}
}

func TestMaxMemoryOptions(t *testing.T) {
	for _, c := range []struct {
		o    engine.Options
		good bool
	}{
		{engine.Options{MaxMemoryMiB: 0}, true},
		{engine.Options{MaxMemoryMiB: -1}, false},
		{engine.Options{MaxMemoryMiB: engine.MinMemoryMiB - 1}, false},
		{engine.Options{MaxMemoryMiB: engine.MinMemoryMiB}, true},
		{engine.Options{MaxMemoryMiB: 1 << 31}, false},
		{engine.Options{MaxMemoryMiB: 200, MemoryMiB: 199}, true},
		{engine.Options{MaxMemoryMiB: 200, MemoryMiB: 200}, false},
	} {
		if err := c.o.Validate(); (err == nil) != c.good || err != nil && !errors.Is(err, engine.ErrInvalid) {
			t.Errorf("%d of %d MiB: %v", c.o.MemoryMiB, c.o.MaxMemoryMiB, err)
		}
	}
}
