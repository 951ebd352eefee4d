package engine

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
)

// boundMiB leaves all but the store 3 MiB: an empty index of vectors takes one.
const boundMiB = minMemoryMiB + 2

// beside is what a database keeps beside the float32 vectors.
func beside(s Stats) (n int64) {
	for name, bytes := range s.Memory.Parts() {
		if name != "vectors" {
			n += bytes
		}
	}
	return n
}

// ofOwnWords are n documents with words that no other has.
func ofOwnWords(from, n int) []Document {
	return worded(from, n, func(i, w int) string { return fmt.Sprintf("w%dx%d", i, w) })
}

// alike are n documents of the same twenty words.
func alike(from, n int) []Document {
	return worded(from, n, func(i, w int) string { return fmt.Sprint("w", (i+w)%20) })
}

// worded are n documents of forty words each.
func worded(from, n int, word func(document, place int) string) []Document {
	docs := make([]Document, n)
	for i := range docs {
		words := make([]string, 40)
		for w := range words {
			words[w] = word(from+i, w)
		}
		docs[i] = Document{ID: fmt.Sprint(from + i), Text: strings.Join(words, " ")}
	}
	return docs
}

// fill adds documents, from this one on, until they are refused, and returns the first of these.
func fill(t *testing.T, e *Engine, from int, docs func(from, n int) []Document) int {
	t.Helper()
	const batch = 100
	for n := from; n < from+200*batch; n += batch {
		_, err := e.Add(t.Context(), docs(n, batch))
		if errors.Is(err, ErrMemory) {
			return n
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	t.Fatal("nothing was refused")
	return 0
}

// statsNow are those of a database that has nothing left to do.
func statsNow(t *testing.T, e *Engine) Stats {
	t.Helper()
	flushed(t, e)
	s, err := e.Stats(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestMaxMemory(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	o := Options{MaxMemoryMiB: boundMiB, NoSync: true}
	e := opened(t, dir, o, autoHNSW)
	n := fill(t, e, 0, ofOwnWords)
	if n < 200 {
		t.Fatalf("%d documents were stored", n)
	}
	s := statsNow(t, e)
	if s.MaxMemory != (boundMiB-64)<<20 || s.Documents != n {
		t.Fatalf("%d documents of %d, at most %d bytes", s.Documents, n, s.MaxMemory)
	}
	if got := beside(s); got > s.MaxMemory || got < s.MaxMemory/2 {
		t.Fatalf("%d bytes beside the vectors, at most %d", got, s.MaxMemory)
	}
	if _, err := e.Get(t.Context(), fmt.Sprint(n)); !errors.Is(err, ErrNotFound) {
		t.Fatalf("a refused document: %v", err)
	}
	r, err := e.Search(t.Context(), Query{Text: fmt.Sprintf("w%dx3", n-1), K: 1})
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
	flushed(t, e)
	if _, err := e.Add(t.Context(), ofOwnWords(n, 100)); err != nil {
		t.Fatalf("after 300 were deleted: %v", err)
	}
	// A database beyond its bound opens, answers, and takes deletions.
	closed(t, e)
	e = opened(t, dir, Options{NoSync: true}, autoHNSW)
	if _, err := e.Add(t.Context(), ofOwnWords(n+100, 4000)); err != nil {
		t.Fatal(err)
	}
	closed(t, e)
	e = opened(t, dir, o, autoHNSW)
	if got := beside(statsNow(t, e)); got <= s.MaxMemory {
		t.Fatalf("%d bytes are within the bound", got)
	}
	if r, err := e.Search(t.Context(), Query{Text: fmt.Sprintf("w%dx3", n), K: 1}); err != nil || r.Hits[0].ID != fmt.Sprint(n) {
		t.Fatalf("%v, %v", r.Hits, err)
	}
	if _, err := e.Add(t.Context(), ofOwnWords(n+5000, 1)); !errors.Is(err, ErrMemory) {
		t.Fatalf("one more: %v", err)
	}
	if k, err := e.Delete(t.Context(), []string{fmt.Sprint(n)}); err != nil || k != 1 {
		t.Fatalf("%d deleted: %v", k, err)
	}
}

// What is sure not to fit takes no slots of the index, which gives none back.
func TestMaxMemoryForeseesVectors(t *testing.T) {
	t.Parallel()
	const dim = 4096
	e, err := Open(t.Context(), t.TempDir(), nil, Options{Dim: dim, MaxMemoryMiB: boundMiB, NoSync: true})
	if err != nil {
		t.Fatal(err)
	}
	defer closed(t, e)
	before := statsNow(t, e).Memory.Codes
	many, v := make([]Document, 1000), make([]float32, dim)
	v[0] = 1
	for i := range many {
		many[i] = Document{ID: fmt.Sprint(i), Text: "a", Vector: v}
	}
	if _, err := e.Add(t.Context(), many); !errors.Is(err, ErrMemory) || statsNow(t, e).Memory.Codes != before {
		t.Fatalf("%d documents: %v; codes take %d bytes, %d before", len(many), err, statsNow(t, e).Memory.Codes, before)
	}
}

func TestMaxMemoryForegoesLocalBridges(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	o := Options{MaxMemoryMiB: boundMiB, NoSync: true, Local: true}
	e := opened(t, dir, o, autoHNSW)
	if _, err := e.Add(t.Context(), ofOwnWords(0, 100)); err != nil {
		t.Fatal(err)
	}
	if s := statsNow(t, e); s.Memory.Local == 0 || len(s.Foregone) != 0 {
		t.Fatalf("local bridges of a small corpus: %d bytes, without %q", s.Memory.Local, s.Foregone)
	}
	n := fill(t, e, 100, alike)
	s := statsNow(t, e)
	if s.Memory.Local != 0 || !slices.Equal(s.Foregone, []string{"local bridges"}) || beside(s) > s.MaxMemory {
		t.Fatalf("%d bytes of local bridges, without %q", s.Memory.Local, s.Foregone)
	}
	if r, err := e.Search(t.Context(), Query{Text: "w7x3", K: 1, Variant: "rlr-local", Mode: ModeDense}); err != nil || r.Trace.Variant != "rlr" {
		t.Fatalf("rlr-local without local bridges: %+v, %v", r.Trace, err)
	}
	closed(t, e)
	e = opened(t, dir, Options{NoSync: true, Local: true}, autoHNSW)
	if s := statsNow(t, e); s.Memory.Local == 0 || s.Documents != n || s.MaxMemory != 0 || len(s.Foregone) != 0 {
		t.Fatalf("without a bound: %+v", s)
	}
}

func TestMaxMemoryOptions(t *testing.T) {
	for _, c := range []struct {
		o    Options
		good bool
	}{
		{Options{MaxMemoryMiB: 0}, true},
		{Options{MaxMemoryMiB: -1}, false},
		{Options{MaxMemoryMiB: minMemoryMiB - 1}, false},
		{Options{MaxMemoryMiB: minMemoryMiB}, true},
		{Options{MaxMemoryMiB: 1 << 31}, false},
		{Options{MaxMemoryMiB: 200, MemoryMiB: 199}, true},
		{Options{MaxMemoryMiB: 200, MemoryMiB: 200}, false},
		{Options{MemoryMiB: maxMemoryMiB}, true},
		{Options{MemoryMiB: maxMemoryMiB + 1}, false},
	} {
		if err := c.o.Validate(); (err == nil) != c.good || err != nil && !errors.Is(err, ErrInvalid) {
			t.Errorf("%d of %d MiB: %v", c.o.MemoryMiB, c.o.MaxMemoryMiB, err)
		}
	}
}

func TestMaxMemoryForegoesGraph(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	e := opened(t, dir, Options{NoSync: true, TokenStates: TokenStatesOff}, autoHNSW)
	const n = 6000
	if _, err := e.Add(t.Context(), alike(0, n)); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		most int
		kind string
		gone []string
	}{{boundMiB - 1, "flat-int8", []string{"graph"}}, {0, "hnsw-int8", nil}} {
		closed(t, e)
		e = opened(t, dir, Options{NoSync: true, TokenStates: TokenStatesOff, MaxMemoryMiB: c.most}, n/2)
		if s := statsNow(t, e); s.Index != c.kind || !slices.Equal(s.Foregone, c.gone) {
			t.Errorf("at most %d MiB: %s without %q, want %s without %q", c.most, s.Index, s.Foregone, c.kind, c.gone)
		}
	}
	closed(t, e)
}

// Token states end at their bound on disk, and documents go on. They take little of the bound of memory.
func TestMaxMemoryOfTokenStates(t *testing.T) {
	defer func(was int64) { mostTokenBytes = was }(mostTokenBytes)
	mostTokenBytes = 2 << 20
	e := opened(t, t.TempDir(), Options{NoSync: true, TokenStates: TokenStatesAuto, MaxMemoryMiB: leastStoreMiB + 4}, autoHNSW)
	n := fill(t, e, 0, alike)
	s := statsNow(t, e)
	if k := s.TokenStates; k.Chunks == 0 || k.Chunks == n || k.Bytes < mostTokenBytes || k.Bytes > mostTokenBytes*5/4 || s.Memory.Tokens > s.MaxMemory/10 {
		t.Errorf("%d of %d documents have token states, %d bytes, %d of at most %d in memory", k.Chunks, n, k.Bytes, s.Memory.Tokens, s.MaxMemory)
	}
	if !strings.Contains(s.TokenStates.Note, "since these take 2 MiB") {
		t.Errorf("note %q", s.TokenStates.Note)
	}
	closed(t, e)
}
