package engine

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/lexsem/lexsem/encoder"
	"github.com/lexsem/lexsem/engine/filter"
	"github.com/lexsem/lexsem/engine/internal/search"
	"github.com/lexsem/lexsem/engine/internal/state"
	"github.com/lexsem/lexsem/internal/chunk"
)

// What tests of states, their damage and their upkeep have in common: databases of
// made documents, searches over one given state, and the comparison of a database
// with one that was made at once of the same documents.

const madeDim = 32

// opened opens a database that the test closes.
func opened(t *testing.T, dir string, o Options, graphAbove int) *Engine {
	t.Helper()
	if o.MemoryMiB == 0 && o.MaxMemoryMiB == 0 {
		o.MemoryMiB = leastStoreMiB // what it takes to open goes with it
	}
	e, err := open(t.Context(), dir, encoder.NewHash(madeDim), o, graphAbove)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func closed(t *testing.T, e *Engine) {
	t.Helper()
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
}

func flushed(t *testing.T, e *Engine) {
	t.Helper()
	if err := e.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// made is document i: one of seven is long and stored in chunks.
func made(r *rand.Rand, i int) Document {
	sentence := func() string {
		return fmt.Sprintf("Unit w%d speaks of x%d and y%d on z%d. ", r.IntN(40), r.IntN(300), r.IntN(2000), r.IntN(9))
	}
	n := 1
	if i%7 == 0 {
		n = 20
	}
	var b strings.Builder
	for range n {
		b.WriteString(sentence())
	}
	return Document{ID: fmt.Sprint("d", i), Text: b.String(), Metadata: map[string]any{"n": i, "third": i % 3}}
}

func madeDocs(r *rand.Rand, lo, hi int) []Document {
	var docs []Document
	for i := lo; i < hi; i++ {
		docs = append(docs, made(r, i))
	}
	return docs
}

func put(t *testing.T, e *Engine, docs ...Document) {
	t.Helper()
	if _, err := e.Upsert(t.Context(), docs); err != nil {
		t.Fatal(err)
	}
}

func removed(t *testing.T, e *Engine, ids ...string) {
	t.Helper()
	if n, err := e.Delete(t.Context(), ids); err != nil || n != len(ids) {
		t.Fatalf("%d of %d deleted: %v", n, len(ids), err)
	}
}

// probing are queries of every kind; what they find depends on every part of a state.
var probing = func() (qs []Query) {
	for _, text := range []string{"unit w3 speaks of x7", "y1200 on z4 of x33 and w12", "x100 x200"} {
		for _, q := range []Query{
			{Mode: ModeDense, Variant: VariantNone}, {Mode: ModeDense, Variant: "rlr"}, {Mode: ModeLexical}, {},
			{Filter: filter.Eq("third", 1)}, {PerChunk: true}, {Collapse: true}, {Mode: ModeDense, Variant: VariantLocal},
		} {
			q.Text, q.K, q.Ef = text, 5000, 5000
			qs = append(qs, q)
		}
	}
	return qs
}()

// foundIn is what a query finds in one given state.
func foundIn(t *testing.T, e *Engine, s *state.State, q Query) []search.Found {
	t.Helper()
	r, err := e.begin(t.Context(), s, q, search.NewTimer())
	if err != nil {
		t.Fatalf("%+v: %v", q, err)
	}
	found, err := r.Rank(t.Context())
	if err != nil {
		t.Fatalf("%+v: %v", q, err)
	}
	return found
}

// whole fails the test if the database is not consistent.
func whole(t *testing.T, e *Engine, when string) {
	t.Helper()
	v, err := e.Verify(t.Context(), nil)
	least := 1.0
	if e.db.Present().Vectors.Kind == "hnsw-int8" { // an approximate one
		least = 0.99
	}
	if err != nil || len(v.Problems) > 0 || v.SelfRecall < least {
		t.Fatalf("%s: %+v, %v", when, v, err)
	}
}

// score is one chunk's place in an answer.
type score struct {
	id    string
	chunk int
	score float32
}

// answers are those to all queries, by number, of the present state; local bridges, whose
// cells depend on the past, apart from the others only where they are not asked for. Of
// documents only the ids are read, once for all queries.
func answers(t *testing.T, e *Engine, qs []Query) [][]score {
	t.Helper()
	ref := e.db.Acquire()
	defer ref.Release()
	ids := map[uint64]string{} // by ordinal
	out := make([][]score, len(qs))
	for i, q := range qs {
		for _, f := range foundIn(t, e, ref.Value, q) {
			ord := chunk.Ord(f.Ord)
			if _, ok := ids[ord]; !ok {
				d, err := ref.Value.View.Text(t.Context(), ord)
				if err != nil {
					t.Fatalf("%+v: %v", q, err)
				}
				ids[ord] = d.ID
			}
			out[i] = append(out[i], score{ids[ord], chunk.Number(f.Ord), float32(f.Score)})
		}
	}
	return out
}

// sameAnswers fails the test where an answer has other documents, or scores that
// differ by more than rounding.
func sameAnswers(t *testing.T, when string, got, want [][]score, qs []Query) {
	t.Helper()
	for i := range want {
		scores := map[string]float32{}
		for _, s := range want[i] {
			scores[fmt.Sprint(s.id, "#", s.chunk)] = s.score
		}
		if len(got[i]) != len(want[i]) {
			t.Fatalf("%s: %+v: %d hits, want %d", when, qs[i], len(got[i]), len(want[i]))
		}
		for _, s := range got[i] {
			w, ok := scores[fmt.Sprint(s.id, "#", s.chunk)]
			if d := s.score - w; !ok || d > 1e-4 || d < -1e-4 {
				t.Fatalf("%s: %+v: %s, chunk %d, scores %v, want %v (%v)", when, qs[i], s.id, s.chunk, s.score, w, ok)
			}
		}
	}
}

// closedForms are the queries whose answers depend on the documents alone: not on
// cells that an earlier corpus was cut into, and not on the order of ordinals, by
// which near-duplicates are folded.
func closedForms() (qs []Query) {
	for _, q := range probing {
		if q.Variant != VariantLocal && !q.Collapse {
			qs = append(qs, q)
		}
	}
	return qs
}

// likeFresh compares a database with one that was made at once of docs.
func likeFresh(t *testing.T, when string, e *Engine, o Options, docs map[string]Document) {
	t.Helper()
	fresh := opened(t, t.TempDir(), o, autoHNSW)
	defer closed(t, fresh)
	var all []Document
	for _, d := range docs {
		all = append(all, d)
	}
	put(t, fresh, all...)
	flushed(t, fresh)
	flushed(t, e)
	qs := closedForms()
	sameAnswers(t, when, answers(t, e, qs), answers(t, fresh, qs), qs)
	whole(t, e, when)
}

// lookedAt is a context that is cancelled once it was asked n times.
func lookedAt(ctx context.Context, n int) context.Context {
	c := &looks{Context: ctx, done: make(chan struct{})}
	c.left.Store(int64(n))
	return c
}

type looks struct {
	context.Context
	left atomic.Int64
	done chan struct{}
	once sync.Once
}

func (c *looks) Done() <-chan struct{} { return c.done }

func (c *looks) Err() error {
	if c.left.Add(-1) >= 0 {
		return nil
	}
	c.once.Do(func() { close(c.done) })
	return context.Canceled
}
