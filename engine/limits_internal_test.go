package engine

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/lexsem/lexsem/engine/filter"
	"github.com/lexsem/lexsem/engine/internal/search"
	"github.com/lexsem/lexsem/internal/chunk"
	"github.com/lexsem/lexsem/internal/local"
)

// TestWhereNearDuplicatesBegin: texts are folded from four fifths of their distinct
// word pairs on, and not before.
func TestWhereNearDuplicatesBegin(t *testing.T) {
	t.Parallel()
	words := func(other ...int) string {
		var w []string
		for i := range 33 { // 32 pairs; another word makes others of two
			name := fmt.Sprintf("kernel%c%c", 'a'+i%26, 'a'+i/26)
			if slices.Contains(other, i) {
				name = fmt.Sprintf("splinter%c%d", 'a'+i, len(other))
			}
			w = append(w, name)
		}
		return strings.Join(w, " ")
	}
	for _, c := range []struct {
		text string
		want bool
	}{
		{words(), true},               // 1
		{words(10), true},             // 30 of 34: .88
		{words(0, 10), true},          // 29 of 35: .83
		{words(10, 20), false},        // 28 of 36: .78
		{words(10, 20, 30), false},    // 26 of 38: .68
		{words(5, 10, 20, 27), false}, // 24 of 40: .6
	} {
		e := opened(t, t.TempDir(), Options{NoSync: true}, autoHNSW)
		put(t, e, Document{ID: "a", Text: words()}, Document{ID: "b", Text: c.text}, Document{ID: "c", Text: "another matter altogether"})
		r, err := e.Search(t.Context(), Query{Text: words(), Mode: ModeLexical, Collapse: true})
		if err != nil || len(r.Hits) == 0 || (len(r.Hits) == 1) != c.want || (len(r.Hits[0].Duplicates) == 1) != c.want {
			t.Errorf("%q: %d hits, %v", c.text, len(r.Hits), err)
		}
		closed(t, e)
	}
}

// TestCellsUnderAFilter: how many cells a query looks into goes by the chunks that
// meet its filter, which are estimated from the documents that do; and all chunks that
// meet it can be found.
func TestCellsUnderAFilter(t *testing.T) {
	t.Parallel()
	o := Options{NoSync: true, ChunkTokens: 60}
	e := opened(t, t.TempDir(), o, autoHNSW)
	defer closed(t, e)
	r := rand.New(rand.NewPCG(31, 32))
	var docs []Document
	for i := range 240 {
		d := made(r, 7*i) // long ones
		d.Metadata = map[string]any{"half": i % 2, "tenth": i % 10}
		docs = append(docs, d)
	}
	put(t, e, docs...)
	flushed(t, e)
	ref := e.db.Acquire()
	defer ref.Release()
	s := *ref.Value
	if s.Chunks() < 4*len(docs) {
		t.Fatalf("%d chunks of %d documents", s.Chunks(), len(docs))
	}
	tokens := map[uint64][]int32{}
	for ord := range s.Live.All {
		rows, err := s.View.Rows(t.Context(), ord)
		if err != nil {
			t.Fatal(err)
		}
		for i, row := range rows {
			tokens[chunk.ID(ord, i)] = row.Tokens
		}
	}
	const cells = 200 // more than are always looked into
	var err error
	s.Local, err = local.Build(t.Context(), madeDim, e.fp.VocabSize, local.Source{
		IDs: s.IDs(), Vectors: s.Vector, Tokens: func(id uint64) ([]int32, error) { return tokens[id], nil },
	}, local.Options{Cells: cells, Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		f    Filter
		want int // the 40 cells that are always looked into, by the share of what meets it
	}{{Filter{}, 40}, {filter.Eq("half", 1), 80}, {filter.Eq("tenth", 1), cells}} {
		q := Query{Text: "w3 of x7 and y9", Mode: ModeDense, Variant: VariantLocal, PerChunk: true, K: 5, Filter: c.f}
		run, err := e.begin(t.Context(), &s, q, search.NewTimer())
		if err != nil {
			t.Fatal(err)
		}
		if got := run.Facts.Cells; got < c.want-1 || got > c.want+1 {
			t.Errorf("%d of %d documents meet the filter: %d cells, want %d", run.Facts.Filtered, s.View.Len(), got, c.want)
		}
		q.K = MaxK
		if run, err = e.begin(t.Context(), &s, q, search.NewTimer()); err != nil {
			t.Fatal(err)
		}
		found, err := run.Rank(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		want := 0
		for _, id := range s.IDs() {
			if run.Allows(id) {
				want++
			}
		}
		if len(found) != want || want == 0 {
			t.Errorf("%d of %d chunks that meet the filter are found", len(found), want)
		}
	}
}

// TestDocumentsBesideAFitAreFresh: what is stored while a fit runs is counted as not
// seen by it, at once and after reopening.
func TestDocumentsBesideAFitAreFresh(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	e := opened(t, dir, Options{NoSync: true}, autoHNSW)
	r := rand.New(rand.NewPCG(33, 34))
	put(t, e, madeDocs(r, 0, 120)...)
	added := false
	_, err := e.Fit(t.Context(), FitOptions{QueriesPerPassage: 2, Epochs: 1, Progress: func(p Progress) {
		if p.Stage == "fit" && !added {
			added = true
			put(t, e, madeDocs(r, 118, 123)...) // three new ones, and two replaced
		}
	}})
	if err != nil || !added {
		t.Fatal(added, err)
	}
	check := func(when string, want int) {
		t.Helper()
		s, err := e.Stats(t.Context())
		if err != nil || len(s.Bridges) != 1 || s.Bridges[0].Unfitted != want {
			t.Fatalf("%s: %+v, %v, want %d that the fit has not seen", when, s.Bridges, err, want)
		}
		res, err := e.Search(t.Context(), Query{Text: "w3", Mode: ModeDense, Variant: s.Bridges[0].Variant})
		if err != nil || res.Trace.Unfitted != want {
			t.Fatalf("%s: %+v, %v, want %d", when, res.Trace, err, want)
		}
	}
	check("fitted", 5)
	put(t, e, made(r, 119), made(r, 200))
	check("one replaced again, and a new one", 6)
	removed(t, e, "d121")
	check("a fresh one deleted", 5)
	closed(t, e)
	e = opened(t, dir, Options{NoSync: true}, autoHNSW)
	check("reopened", 5)
	closed(t, e)
}

// TestSequenceAndLimit: commits number states without a gap, and no ordinal is used
// twice however often the database is opened.
func TestSequenceAndLimit(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	r := rand.New(rand.NewPCG(35, 36))
	seen := map[uint64]string{}
	seq := uint64(0)
	for open := range 4 {
		e := opened(t, dir, Options{NoSync: true}, autoHNSW)
		for i := range 5 {
			id := fmt.Sprint("d", open, "-", i)
			d := made(r, 1)
			d.ID = id
			put(t, e, d)
			s := e.db.Acquire()
			v := s.Value
			if seq != 0 && v.Seq != seq+1 {
				t.Fatalf("commit %d behind %d", v.Seq, seq)
			}
			seq = v.Seq
			ord, ok, err := v.View.Lookup(id)
			if err != nil || !ok || !v.Live.Has(ord) || v.Limit != ord+1 {
				t.Fatalf("%s: ordinal %d below the limit %d, live %v: %v", id, ord, v.Limit, v.Live.Has(ord), err)
			}
			if other, twice := seen[ord]; twice {
				t.Fatalf("%s and %s have the ordinal %d", id, other, ord)
			}
			seen[ord] = id
			s.Release()
			if i%2 == 1 { // the highest one goes
				removed(t, e, id)
				seq++
			}
		}
		if open == 1 {
			crashed(t, e)
		} else {
			closed(t, e)
		}
	}
}
