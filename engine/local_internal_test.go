package engine

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"

	"github.com/lexsem/lexsem/encoder"
	"github.com/lexsem/lexsem/engine/filter"
	"github.com/lexsem/lexsem/engine/internal/state"
	"github.com/lexsem/lexsem/internal/chunk"
	"github.com/lexsem/lexsem/internal/local"
	"github.com/lexsem/lexsem/internal/vec"
	"github.com/lexsem/lexsem/modulate"
)

// localFresh is a fit of a state's local bridges over the partition they have, of
// what the store says alone.
func localFresh(t *testing.T, s *state.State) *local.Bridges {
	t.Helper()
	e := s.Local.Edit()
	for c := range s.Local.Cells() {
		members, err := s.Local.Members(nil, c)
		if err != nil {
			t.Fatal(err)
		}
		for _, id := range members {
			e.Remove(id)
		}
	}
	empty, err := e.Done(t.Context())
	if err != nil || empty.Len() != 0 {
		t.Fatal(empty.Len(), err)
	}
	e = empty.Edit()
	for ord := range s.Live.All {
		rows, err := s.View.Rows(t.Context(), ord)
		if err != nil {
			t.Fatal(err)
		}
		for i, r := range rows {
			if err := e.Add(chunk.ID(ord, i), r.Vector, r.Tokens); err != nil {
				t.Fatal(err)
			}
		}
	}
	fresh, err := e.Done(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return fresh
}

// localFollows fails the test unless the local bridges of the present state hold
// exactly its chunks, the vector of every cell is that of a fresh fit, and searches
// score by it.
func localFollows(t *testing.T, e *Engine, when string, atLeast int) {
	t.Helper()
	ref := e.db.Acquire()
	defer ref.Release()
	s := ref.Value
	if s.Local == nil || s.Local.Cells() < atLeast || s.Local.Len() != s.Chunks() || s.LocalSeq != s.Seq {
		t.Fatalf("%s: local bridges %v at commit %d of %d", when, s.Local != nil, s.LocalSeq, s.Seq)
	}
	for _, id := range s.IDs() {
		if !s.Local.Has(id) {
			t.Fatalf("%s: version %d is in no cell", when, chunk.Ord(id))
		}
	}
	fresh := localFresh(t, s)
	cells := make([]int, fresh.Cells())
	for i := range cells {
		cells[i] = i
	}
	r := rand.New(rand.NewPCG(8, 8))
	for range 10 {
		q := fmt.Sprintf("w%d of x%d and y%d", r.IntN(40), r.IntN(300), r.IntN(2000))
		out, err := e.enc.Encode(t.Context(), encoder.Query, encoder.Texts(q), encoder.NeedDense)
		if err != nil {
			t.Fatal(err)
		}
		in := modulate.Input{Tokens: out[0].Tokens, Dense: out[0].Dense}
		want, err := fresh.Modulate(t.Context(), nil, in, cells)
		if err != nil {
			t.Fatal(err)
		}
		got, err := s.Local.Modulate(t.Context(), nil, in, cells)
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(got, want) {
			t.Fatalf("%s: vectors of cells are not those of a fresh fit", when)
		}
		res, err := e.Search(t.Context(), Query{Text: q, Mode: ModeDense, Variant: VariantLocal, K: 5, PerChunk: true})
		if err != nil || res.Trace.Variant != VariantLocal || res.Trace.LocalWanted || res.Trace.Cells != len(cells) || len(res.Hits) != 5 {
			t.Fatalf("%s: %+v, %v", when, res.Trace, err)
		}
		for _, h := range res.Hits {
			ord, ok, err := s.View.Lookup(h.ID)
			if err != nil || !ok {
				t.Fatal(h.ID, err)
			}
			id := chunk.ID(ord, h.Chunk)
			c, _ := fresh.Cell(id)
			v := s.Vector(id)
			if x := vec.Dot(want[c*madeDim:(c+1)*madeDim], v); math.Abs(float64(x-h.Modulated)) > 1e-5 || math.Abs(float64(vec.Dot(in.Dense, v)-h.Cosine)) > 1e-5 {
				t.Fatalf("%s: %s scores %v with cosine %v, want %v", when, h.ID, h.Modulated, h.Cosine, x)
			}
		}
	}
}

// TestLocalFollowsTheDatabase: after a thousand random inserts, updates and deletes,
// after the replay of half of them, and after reopening, the vector of every cell is
// that of a fresh fit of the same partition.
func TestLocalFollowsTheDatabase(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	o := Options{NoSync: true, Local: true, ChunkTokens: 60}
	e := opened(t, dir, o, autoHNSW)
	r := rand.New(rand.NewPCG(4, 4))
	put(t, e, madeDocs(r, 0, 900)...)
	flushed(t, e)
	localFollows(t, e, "at first", 3)
	change := func(n int) {
		for range n {
			i := r.IntN(1200)
			if r.IntN(3) > 0 {
				put(t, e, made(r, i))
			} else if _, err := e.Delete(t.Context(), []string{fmt.Sprint("d", i)}); err != nil {
				t.Fatal(err)
			}
		}
	}
	change(500)
	flushed(t, e)
	localFollows(t, e, "after 500", 3)
	closed(t, e)
	e = opened(t, dir, o, autoHNSW)
	change(500)
	flushed(t, e)
	localFollows(t, e, "after 1,000", 3)
	crashed(t, e)
	e = opened(t, dir, o, autoHNSW)
	flushed(t, e)
	localFollows(t, e, "after replay", 3)
	closed(t, e)
	o.ReadOnly = true
	e = opened(t, dir, o, autoHNSW)
	localFollows(t, e, "after reopening", 3)
	closed(t, e)
}

// TestLocalBesideSearches: local bridges that were opened while no one searched are
// brought up to date by one goroutine as soon as someone does, and by all when nobody
// has for a while.
func TestLocalBesideSearches(t *testing.T) {
	all := runtime.GOMAXPROCS(0)
	if all < 2 {
		t.Skip("one processor: there is nothing to leave to searches")
	}
	dir := t.TempDir()
	o := Options{NoSync: true, Local: true}
	e := opened(t, dir, o, autoHNSW)
	put(t, e, madeDocs(rand.New(rand.NewPCG(6, 6)), 0, 300)...)
	flushed(t, e)
	closed(t, e)
	e = opened(t, dir, o, autoHNSW)
	defer closed(t, e)
	workers := func() int {
		ref := e.db.Acquire()
		defer ref.Release()
		return ref.Value.Local.Options().Workers()
	}
	if n := workers(); n != all {
		t.Fatalf("%d goroutines where nobody searches, of %d", n, all)
	}
	if _, err := e.Search(t.Context(), Query{Text: "w3 of x7 and y9", K: 3}); err != nil {
		t.Fatal(err)
	}
	if n := workers(); n != 1 {
		t.Fatalf("%d goroutines beside searches", n)
	}
}

// crashed ends an engine as a killed process does: nothing derived is saved.
func crashed(t *testing.T, e *Engine) {
	t.Helper()
	e.calls.End()
	if err := errors.Join(e.db.Abandon(), e.st.Close()); err != nil {
		t.Fatal(err)
	}
}

// TestLocalIsBuiltOnDemand: a query that asks for local bridges where there are none
// gets rlr and says so, and they are there afterwards; documents that they do not have
// yet are found and scored by one vector; a filter that nothing meets looks into no
// cell.
func TestLocalIsBuiltOnDemand(t *testing.T) {
	dir := t.TempDir()
	e := opened(t, dir, Options{NoSync: true}, autoHNSW)
	r := rand.New(rand.NewPCG(5, 5))
	put(t, e, madeDocs(r, 0, 600)...)
	flushed(t, e)
	ask := Query{Text: "w3 of x7 and y9", Mode: ModeDense, Variant: VariantLocal, K: 3}
	look := func(q Query) Result {
		t.Helper()
		res, err := e.Search(t.Context(), q)
		if err != nil {
			t.Fatal(err)
		}
		return res
	}
	plain := look(Query{Text: ask.Text, Mode: ModeDense, K: 3})
	if s, err := e.Stats(t.Context()); err != nil || s.Memory.Local != 0 || plain.Trace.Variant != "rlr" || plain.Trace.LocalWanted {
		t.Fatalf("unasked: %+v, %+v, %v", s.Memory, plain.Trace, err)
	}
	first := look(ask)
	if first.Trace.Variant != "rlr" || !first.Trace.LocalWanted || first.Trace.Cells != 0 || first.Hits[0].Score != plain.Hits[0].Score {
		t.Fatalf("the first query: %+v", first.Trace)
	}
	flushed(t, e)
	if s, err := e.Stats(t.Context()); err != nil || s.Memory.Local == 0 {
		t.Fatal("no local bridges in the memory that is counted", err)
	}
	localFollows(t, e, "asked for", 2)
	if res := look(Query{Text: ask.Text, Mode: ModeDense, K: 3}); res.Trace.Variant != VariantLocal {
		t.Fatalf("a dense query that names no variant: %+v", res.Trace)
	}
	none, err := filter.Parse("n = 100000")
	if err != nil {
		t.Fatal(err)
	}
	empty := ask
	empty.Filter = none
	if res := look(empty); res.Trace.Cells != 0 || res.Trace.Filtered != 0 || len(res.Hits) != 0 {
		t.Fatalf("a filter that nothing meets: %+v", res.Trace)
	}
	// A state that the maintainer has not followed yet.
	var ref *state.Ref
	id := ""
	for n := 0; ref == nil; n++ {
		id = fmt.Sprint("fresh", n)
		put(t, e, Document{ID: id, Text: ask.Text})
		if ref = e.db.Acquire(); ref.Value.LocalSeq == ref.Value.Seq {
			ref.Release()
			ref = nil
			flushed(t, e)
			removed(t, e, id)
			flushed(t, e)
		}
		if n == 100 {
			t.Fatal("the maintainer is always there already")
		}
	}
	s := ref.Value
	ord, _, err := s.View.Lookup(id)
	if err != nil || s.Local.Has(ord) || len(s.Fresh) != 1 {
		t.Fatalf("%d fresh, %v", len(s.Fresh), err)
	}
	one := foundIn(t, e, s, Query{Text: ask.Text, Mode: ModeDense, Variant: "rlr", K: 1})
	for _, mode := range []string{ModeDense, ModeHybrid} {
		q := ask
		q.Mode = mode
		found := foundIn(t, e, s, q)
		if found[0].Ord != ord || math.Abs(found[0].Dense-one[0].Dense) > 1e-6 || one[0].Ord != ord {
			t.Fatalf("%s: a fresh document: %+v, want the score of one vector %v", mode, found[0], one[0])
		}
	}
	if all := foundIn(t, e, s, Query{Text: ask.Text, Mode: ModeDense, Variant: VariantLocal, K: 1000}); len(all) != 601 {
		t.Fatalf("%d hits of 601 documents", len(all))
	}
	ref.Release()
	flushed(t, e)
	localFollows(t, e, "with the fresh one", 2)
	closed(t, e)
	// They go on being there.
	e = opened(t, dir, Options{NoSync: true}, autoHNSW)
	localFollows(t, e, "reopened", 2)
	closed(t, e)
}

func TestLocalVariantNames(t *testing.T) {
	t.Parallel()
	e := opened(t, t.TempDir(), Options{Local: true}, autoHNSW)
	defer closed(t, e)
	flushed(t, e)
	if r, err := e.Search(t.Context(), Query{Text: "anything", Variant: VariantLocal}); err != nil || len(r.Hits) != 0 {
		t.Fatalf("an empty database: %+v, %v", r, err)
	}
	put(t, e, Document{ID: "a", Text: "some words"}, Document{ID: "b", Text: "different words"})
	flushed(t, e)
	for _, bad := range []string{"rlr-local+rlr", "rlr-local+rlr-local", "rlr-local+", "rlr-locale"} {
		if _, err := e.Search(t.Context(), Query{Text: "words", Variant: bad}); !errors.Is(err, ErrInvalid) {
			t.Errorf("%s: %v", bad, err)
		}
	}
	if _, err := e.Search(t.Context(), Query{Text: "words", Variant: "rlr-local+slr"}); !errors.Is(err, ErrNotFitted) {
		t.Error(err)
	}
	if _, _, err := e.Vector(t.Context(), Query{Text: "words", Variant: VariantLocal}); !errors.Is(err, ErrInvalid) {
		t.Error(err)
	}
	for _, mode := range []string{ModeDense, ModeHybrid, ModeLexical} {
		r, err := e.Search(t.Context(), Query{Text: "different words", Mode: mode, Variant: VariantLocal})
		if err != nil || r.Hits[0].ID != "b" || mode != ModeLexical && r.Trace.Variant != VariantLocal {
			t.Errorf("%s: %+v, %v", mode, r, err)
		}
	}
	removed(t, e, "a", "b")
	flushed(t, e)
	if r, err := e.Search(t.Context(), Query{Text: "anything", Variant: VariantLocal}); err != nil || len(r.Hits) != 0 {
		t.Fatalf("an emptied database: %+v, %v", r, err)
	}
	put(t, e, Document{ID: "c", Text: "new words"})
	flushed(t, e)
	localFollowsOne(t, e)
}

// localFollowsOne is localFollows for a database of one document.
func localFollowsOne(t *testing.T, e *Engine) {
	t.Helper()
	r, err := e.Search(t.Context(), Query{Text: "new words", Mode: ModeDense, Variant: VariantLocal})
	if err != nil || len(r.Hits) != 1 || r.Trace.Cells != 1 {
		t.Fatalf("%+v, %v", r, err)
	}
}
