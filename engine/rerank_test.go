package engine_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"math"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/lexsem/lexsem/engine"
	"github.com/lexsem/lexsem/engine/filter"
)

// stage is a reranker of the tests: its scores follow from the texts, a fifth of them
// ties, and have nothing to do with the engine's.
type stage struct {
	mu    sync.Mutex
	read  [][]string
	fails func(ctx context.Context, texts []string) ([]float64, error)
}

func (s *stage) Name() string { return "test-stage" }

func (s *stage) Rerank(ctx context.Context, query string, texts []string) ([]float64, error) {
	s.mu.Lock()
	s.read = append(s.read, slices.Clone(texts))
	s.mu.Unlock()
	if s.fails != nil {
		return s.fails(ctx, texts)
	}
	return stageScores(query, texts), nil
}

func (s *stage) calls() [][]string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.read)
}

func stageScores(query string, texts []string) []float64 {
	out := make([]float64, len(texts))
	for i, t := range texts {
		h := fnv.New32a()
		fmt.Fprint(h, query, t)
		out[i] = float64(h.Sum32()%10) - 5
		if out[i] < -3 {
			out[i] = -3
		}
	}
	return out
}

// shown is the text that a hit shows, its title before it.
func shown(h engine.Hit) string { return strings.TrimSpace(h.Title + " " + h.Text) }

// reranked is what a second stage over n hits must make of a search without one.
func reranked(query string, hits []engine.Hit, n, offset, k int) []engine.Hit {
	hits = slices.Clone(hits)
	first := hits[:min(n, len(hits))]
	texts := make([]string, len(first))
	for i, h := range first {
		texts[i] = shown(h)
	}
	for i, s := range stageScores(query, texts) {
		first[i].Rerank, first[i].Reranked = s, true
	}
	slices.SortStableFunc(first, func(a, b engine.Hit) int { return cmp.Compare(b.Rerank, a.Rerank) })
	for i := range hits {
		hits[i].Rank = i + 1
	}
	hits = hits[min(offset, len(hits)):]
	return hits[:min(k, len(hits))]
}

// stepsOf are the names of the steps of a search.
func stepsOf(r engine.Result) []string {
	var out []string
	for _, s := range r.Trace.Steps {
		out = append(out, s.Name)
	}
	return out
}

// The reranker reads the first hits, as they are shown, and these stand in its order;
// whatever else the query asks for keeps its meaning.
func TestRerank(t *testing.T) {
	s := &stage{}
	e := open(t, t.TempDir(), engine.Options{Reranker: s, RerankDepth: 30, ChunkTokens: 40})
	d := docs(0, 150)
	for i := range d {
		d[i].Title = fmt.Sprint("title", i%3)
		if i%6 == 0 { // in chunks
			d[i].Text += ". " + text(i+1000) + ". " + text(i+2000) + ". " + text(i+3000) + "."
		}
		if i%10 == 9 { // a duplicate
			d[i].Title, d[i].Text = d[i-1].Title, d[i-1].Text
		}
	}
	add(t, e, d)
	base := engine.Query{Text: text(42)}
	for name, c := range map[string]struct {
		change func(*engine.Query)
		n      int // hits that are read
	}{
		"default":         {func(q *engine.Query) {}, 30},
		"dense":           {func(q *engine.Query) { q.Mode = engine.ModeDense }, 30},
		"lexical":         {func(q *engine.Query) { q.Mode = engine.ModeLexical }, 30},
		"hybrid by rank":  {func(q *engine.Query) { q.Fusion.Kind = "rrf" }, 30},
		"as the query":    {func(q *engine.Query) { q.Rerank = 7 }, 7},
		"more than hits":  {func(q *engine.Query) { q.Rerank = 1000 }, 1000},
		"k beyond":        {func(q *engine.Query) { q.K, q.Rerank = 50, 20 }, 20},
		"one":             {func(q *engine.Query) { q.K = 1 }, 30},
		"second page":     {func(q *engine.Query) { q.Offset = 10 }, 30},
		"across the seam": {func(q *engine.Query) { q.Offset = 25 }, 30},
		"last of them":    {func(q *engine.Query) { q.Offset = 29 }, 30},
		"behind them":     {func(q *engine.Query) { q.Offset = 30 }, 0},
		"no reranking":    {func(q *engine.Query) { q.Rerank = -1 }, 0},
		"filter":          {func(q *engine.Query) { q.Filter = filter.Lt("n", 25) }, 30},
		"least score":     {func(q *engine.Query) { q.MinScore = .45 }, 30},
		"chunks":          {func(q *engine.Query) { q.PerChunk = true }, 30},
		"collapse":        {func(q *engine.Query) { q.Collapse = true }, 30},
		"vector and text": {func(q *engine.Query) { q.Vector = make([]float32, dim); q.Vector[3] = 1 }, 30},
		"vector alone": {func(q *engine.Query) {
			q.Text, q.Vector = "", make([]float32, dim)
			q.Vector[3] = 1
		}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			q := base
			c.change(&q)
			s.mu.Lock()
			s.read = nil
			s.mu.Unlock()
			got := search(t, e, q)
			plain := q
			plain.K, plain.Offset, plain.Rerank = max(cmp.Or(q.K, 10)+q.Offset, c.n), 0, -1
			read := s.calls()
			all := search(t, e, plain)
			want := reranked(q.Text, all.Hits, c.n, q.Offset, cmp.Or(q.K, 10))
			if !reflect.DeepEqual(got.Hits, want) {
				t.Fatalf("hits\n%+v\nwant\n%+v", got.Hits, want)
			}
			if len(want) == 0 {
				t.Fatal("the case has no hits")
			}
			n := min(c.n, len(all.Hits))
			if got.Trace.Reranked != n || slices.Contains(stepsOf(got), "rerank") != (n > 0) {
				t.Errorf("%d hits read in the trace, want %d; steps %v", got.Trace.Reranked, n, stepsOf(got))
			}
			if n == 0 {
				if len(read) > 0 {
					t.Errorf("the reranker was asked: %d calls", len(read))
				}
				return
			}
			var texts []string
			for _, h := range all.Hits[:n] {
				texts = append(texts, shown(h))
			}
			if len(read) != 1 || !slices.Equal(read[0], texts) {
				t.Errorf("it read %q, want %q", read, texts)
			}
		})
	}
	if st, err := e.Stats(t.Context()); err != nil || st.Reranker != "test-stage" {
		t.Errorf("stats name the reranker %q, %v", st.Reranker, err)
	}
}

// Pages join without a seam, and a batch gives what single searches give.
func TestRerankPagesAndBatches(t *testing.T) {
	s := &stage{}
	e := open(t, t.TempDir(), engine.Options{Reranker: s})
	add(t, e, docs(0, 120))
	q := engine.Query{Text: text(7), K: 100}
	whole := search(t, e, q).Hits
	if len(whole) != 100 || whole[engine.DefaultRerank-1].Reranked != true || whole[engine.DefaultRerank].Reranked {
		t.Fatalf("%d hits, or other than %d of them reranked", len(whole), engine.DefaultRerank)
	}
	var pages []engine.Hit
	var qs []engine.Query
	for at := 0; at < 100; at += 13 {
		q.Offset, q.K = at, min(13, 100-at)
		qs = append(qs, q)
		pages = append(pages, search(t, e, q).Hits...)
	}
	if !reflect.DeepEqual(pages, whole) {
		t.Error("pages are not the whole")
	}
	for i := range 40 {
		qs = append(qs, engine.Query{Text: text(i), Rerank: i%4*10 - 1})
	}
	results, err := e.SearchBatch(t.Context(), qs)
	if err != nil {
		t.Fatal(err)
	}
	for i, r := range results {
		if one := search(t, e, qs[i]); !reflect.DeepEqual(untimed(r), untimed(one)) {
			t.Errorf("query %d in a batch: %+v, alone %+v", i, r, one)
		}
	}
}

// An explanation tells the reranker's score of a document that it reads, and the place
// that it gives it.
func TestRerankExplain(t *testing.T) {
	e := open(t, t.TempDir(), engine.Options{Reranker: &stage{}, RerankDepth: 12})
	add(t, e, docs(0, 60))
	for _, mode := range []string{engine.ModeHybrid, engine.ModeDense, engine.ModeLexical} {
		q := engine.Query{Text: text(5), Mode: mode, K: 20}
		res := search(t, e, q)
		for i, h := range res.Hits {
			if i%3 != 0 && i != 12 && i != 11 {
				continue
			}
			q.Offset = i % 2 * 15 // a page decides about no place
			x, err := e.Explain(t.Context(), q, h.ID)
			if err != nil {
				t.Fatal(err)
			}
			if x.Rank != h.Rank || x.Rerank != h.Rerank || x.Reranked != h.Reranked || x.Score != h.Score || x.Trace.Reranked != 12 {
				t.Errorf("%s: %s explained with rank %d, reranker %v %v, score %v; found with %d, %v %v, %v",
					mode, h.ID, x.Rank, x.Rerank, x.Reranked, x.Score, h.Rank, h.Rerank, h.Reranked, h.Score)
			}
			if h.Reranked != (i < 12) {
				t.Errorf("hit %d reranked: %v", i+1, h.Reranked)
			}
		}
	}
	x, err := e.Explain(t.Context(), engine.Query{Text: text(5), Rerank: -1}, "d5")
	if err != nil || x.Reranked || x.Trace.Reranked != 0 {
		t.Errorf("without reranking: %+v, %v", x, err)
	}
}

// What goes wrong with the reranker is the search's error, and named.
func TestRerankFails(t *testing.T) {
	s := &stage{}
	e := open(t, t.TempDir(), engine.Options{Reranker: s})
	add(t, e, docs(0, 20))
	broken := errors.New("broken")
	for name, c := range map[string]struct {
		fails func(ctx context.Context, texts []string) ([]float64, error)
		is    error
		says  string
	}{
		"error":     {func(context.Context, []string) ([]float64, error) { return nil, broken }, broken, "test-stage: reranking 20 texts: broken"},
		"too few":   {func(_ context.Context, ts []string) ([]float64, error) { return make([]float64, len(ts)-1), nil }, nil, "19 scores"},
		"too many":  {func(_ context.Context, ts []string) ([]float64, error) { return make([]float64, len(ts)+1), nil }, nil, "21 scores"},
		"none":      {func(context.Context, []string) ([]float64, error) { return nil, nil }, nil, "0 scores"},
		"no number": {func(_ context.Context, ts []string) ([]float64, error) { return spoilt(ts, math.NaN()), nil }, nil, "text 3 the score NaN"},
		"infinite":  {func(_ context.Context, ts []string) ([]float64, error) { return spoilt(ts, math.Inf(-1)), nil }, nil, "text 3 the score -Inf"},
		"panic":     {func(context.Context, []string) ([]float64, error) { panic("bang") }, nil, "panic at rerank_test.go:"},
		"its own deadline": {func(ctx context.Context, ts []string) ([]float64, error) {
			ctx, cancel := context.WithTimeout(ctx, time.Millisecond)
			defer cancel()
			<-ctx.Done()
			return nil, ctx.Err()
		}, context.DeadlineExceeded, "deadline"},
	} {
		t.Run(name, func(t *testing.T) {
			s.fails = c.fails
			_, err := e.Search(t.Context(), engine.Query{Text: text(1)})
			_, explained := e.Explain(t.Context(), engine.Query{Text: text(1)}, "d1")
			_, batch := e.SearchBatch(t.Context(), []engine.Query{{Text: text(1), Rerank: -1}, {Text: text(2)}})
			for _, err := range []error{err, explained, batch} {
				if !errors.Is(err, engine.ErrReranker) || c.is != nil && !errors.Is(err, c.is) || !strings.Contains(err.Error(), c.says) {
					t.Errorf("%v, want an ErrReranker that says %q", err, c.says)
				}
			}
			var one *engine.QueryError
			if !errors.As(batch, &one) || one.Position != 1 {
				t.Errorf("the batch does not name its query: %v", batch)
			}
			if _, err := e.Search(t.Context(), engine.Query{Text: text(1), Rerank: -1}); err != nil {
				t.Errorf("a search without it: %v", err)
			}
		})
	}
}

func spoilt(ts []string, x float64) []float64 {
	out := make([]float64, len(ts))
	out[3] = x
	return out
}

// A reranker that does not heed its context keeps nobody: not the search, not Close,
// and no write.
func TestRerankHangs(t *testing.T) {
	release, began := make(chan struct{}), make(chan struct{}, 10)
	defer close(release)
	s := &stage{fails: func(context.Context, []string) ([]float64, error) {
		began <- struct{}{}
		<-release
		return nil, nil
	}}
	e, err := engine.Open(t.Context(), t.TempDir(), hash(t), engine.Options{Reranker: s})
	if err != nil {
		t.Fatal(err)
	}
	add(t, e, docs(0, 20))
	q := engine.Query{Text: text(1)}
	for within := 50 * time.Millisecond; len(began) == 0; within *= 2 { // a busy machine may take longer until it asks for scores
		ctx, cancel := context.WithTimeout(t.Context(), within)
		start := time.Now()
		_, err := e.Search(ctx, q)
		cancel()
		if late := time.Since(start) - within; !errors.Is(err, context.DeadlineExceeded) || len(began) > 0 && !errors.Is(err, engine.ErrReranker) || late > 5*time.Second {
			t.Fatalf("%s late: %v", late, err)
		}
	}
	<-began
	failed := make(chan error, 1)
	go func() {
		_, err := e.Search(t.Context(), q)
		failed <- err
	}()
	<-began
	add(t, e, docs(20, 40))
	if err := e.Flush(t.Context()); err != nil {
		t.Error(err)
	}
	if err := e.Close(); err != nil {
		t.Error(err)
	}
	if err := <-failed; !errors.Is(err, engine.ErrClosed) {
		t.Errorf("the search that Close met: %v", err)
	}
}

// What cannot be reranked is refused before any work.
func TestRerankRefuses(t *testing.T) {
	e := open(t, t.TempDir(), engine.Options{})
	add(t, e, docs(0, 5))
	if _, err := e.Search(t.Context(), engine.Query{Text: "x", Rerank: 5}); !errors.Is(err, engine.ErrNoReranker) {
		t.Errorf("without a reranker: %v", err)
	}
	if r := search(t, e, engine.Query{Text: text(1), Rerank: -1}); len(r.Hits) != 5 || r.Hits[0].Reranked {
		t.Errorf("%+v", r)
	}
	with := open(t, t.TempDir(), engine.Options{Reranker: &stage{}})
	add(t, with, docs(0, 5))
	vector := make([]float32, dim)
	vector[0] = 1
	for _, q := range []engine.Query{{Text: "x", Rerank: engine.MaxRerank + 1}, {Vector: vector, Rerank: 1}, {Text: " \t", Vector: vector, Rerank: 1}} {
		if _, err := with.Search(t.Context(), q); !errors.Is(err, engine.ErrInvalid) {
			t.Errorf("%+v: %v", q, err)
		}
	}
	for _, o := range []engine.Options{{RerankDepth: 3}, {Reranker: &stage{}, RerankDepth: -1}, {Reranker: &stage{}, RerankDepth: engine.MaxRerank + 1}} {
		if err := o.Validate(); !errors.Is(err, engine.ErrInvalid) {
			t.Errorf("%+v: %v", o, err)
		}
	}
}

// A second stage around a database is the one of its options.
func TestWithReranker(t *testing.T) {
	ctx := t.Context()
	own := open(t, t.TempDir(), engine.Options{Reranker: &stage{}, RerankDepth: 20})
	add(t, own, docs(0, 60))
	plain := open(t, t.TempDir(), engine.Options{})
	add(t, plain, docs(0, 60))
	other := open(t, t.TempDir(), engine.Options{Reranker: &stage{fails: func(context.Context, []string) ([]float64, error) { return nil, errors.New("not this one") }}})
	add(t, other, docs(0, 60))
	var qs []engine.Query
	for i := range 12 {
		qs = append(qs, engine.Query{Text: text(i), Offset: i * 2, Rerank: []int{0, -1, 5}[i%3], PerChunk: i%4 == 0})
	}
	for name, inner := range map[string]engine.Database{"none": plain, "another": other} {
		db := engine.WithReranker(inner, &stage{}, 20)
		want, err1 := own.SearchBatch(ctx, qs)
		got, err2 := db.SearchBatch(ctx, qs)
		if err := errors.Join(err1, err2); err != nil {
			t.Fatal(err)
		}
		for i, q := range qs {
			one, err := db.Search(ctx, q)
			if err != nil {
				t.Fatal(err)
			}
			if !reflect.DeepEqual(untimed(got[i]), untimed(want[i])) || !reflect.DeepEqual(untimed(one), untimed(want[i])) {
				t.Errorf("around %s, %+v: %+v and %+v, want %+v", name, q, got[i], one, want[i])
			}
			x, err1 := db.Explain(ctx, q, "d7")
			y, err2 := own.Explain(ctx, q, "d7")
			x.Trace.Steps, y.Trace.Steps = nil, nil
			if err := errors.Join(err1, err2); err != nil || !reflect.DeepEqual(x, y) {
				t.Errorf("around %s: explained %+v, want %+v; %v", name, x, y, err)
			}
		}
		if st, err := db.Stats(ctx); err != nil || st.Reranker != "test-stage" {
			t.Errorf("around %s, stats name %q, %v", name, st.Reranker, err)
		}
		if _, err := db.Search(ctx, engine.Query{Text: "x", K: engine.MaxK, Offset: 1}); !errors.Is(err, engine.ErrInvalid) || !strings.Contains(err.Error(), "offset 1") {
			t.Errorf("around %s, too deep: %v", name, err)
		}
	}
	if engine.WithReranker(plain, nil, 0) != engine.Database(plain) {
		t.Error("without a reranker it is another database")
	}
}
