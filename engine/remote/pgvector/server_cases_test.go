package pgvector_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/lexsem/lexsem/engine"
	"github.com/lexsem/lexsem/engine/filter"
	"github.com/lexsem/lexsem/engine/remote"
	"github.com/lexsem/lexsem/engine/remote/backendtest"
	"github.com/lexsem/lexsem/engine/remote/pgvector"
	"github.com/lexsem/lexsem/internal/testkit/servers"
)

func info(dim int) remote.Info {
	return remote.Info{Dim: dim, Language: "en", Analysis: "a test"}
}

// unit is a random vector of unit length.
func unit(r *rand.Rand, dim int) []float32 {
	v := make([]float32, dim)
	sum := 0.0
	for i := range v {
		v[i] = float32(r.NormFloat64())
		sum += float64(v[i]) * float64(v[i])
	}
	for i := range v {
		v[i] /= float32(math.Sqrt(sum))
	}
	return v
}

func cosine(a, b []float32) float64 {
	var ab, aa, bb float64
	for i := range a {
		x, y := float64(a[i]), float64(b[i])
		ab, aa, bb = ab+x*y, aa+x*x, bb+y*y
	}
	return ab / math.Sqrt(aa*bb)
}

// document is one of a single passage.
func document(t *testing.T, id, terms, metadata string, v []float32) []remote.Passage {
	t.Helper()
	facts, err := filter.Facts([]byte(metadata))
	if err != nil {
		t.Fatal(err)
	}
	return []remote.Passage{{PassageID: remote.PassageID{ID: id}, Chunks: 1, Text: terms, Line: 1, Terms: terms, Length: len(strings.Fields(terms)), Metadata: metadata, Facts: facts, Vector: v}}
}

// TestForeign: a schema of somebody else's is refused, and nothing in it changes.
func TestForeign(t *testing.T) {
	s := shared(t)
	ctx := t.Context()
	for what, c := range map[string]struct{ table, want string }{
		"other tables":        {"notes (a int)", "did not make"},
		"another table":       {"lexsem (a int)", "did not make"},
		"no row":              {"lexsem (layout int, info text)", "0 rows"},
		"a newer layout":      {"lexsem (layout, info) AS SELECT 2, '{}'", "newer"},
		"what is not JSON":    {"lexsem (layout, info) AS SELECT 1, 'x'", "made for"},
		"a view of that name": {"notes (a int); CREATE VIEW %s.lexsem AS SELECT 1 AS layout", "did not make"},
	} {
		o := pgvector.Options{URL: s.URL, Schema: schema(t)}
		quoted := pgx.Identifier{o.Schema}.Sanitize()
		s.exec(t, "CREATE SCHEMA "+quoted)
		b := open(t, o)
		if _, err := b.Info(ctx); !errors.Is(err, engine.ErrNoDatabase) {
			t.Errorf("an empty schema: %v", err)
		}
		s.exec(t, "CREATE TABLE "+quoted+"."+strings.ReplaceAll(c.table, "%s", quoted))
		for call, err := range map[string]error{"create": b.Create(ctx, info(4)), "drop": b.Drop(ctx), "put": b.Put(ctx, [][]remote.Passage{document(t, "a", "x", "", []float32{1, 0, 0, 0})}, true)} {
			if !errors.Is(err, engine.ErrForeign) && !errors.Is(err, engine.ErrCorrupt) || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%s: %s: %v, want %s", what, call, err, c.want)
			}
		}
		s.exec(t, "DROP SCHEMA "+quoted+" CASCADE")
	}
}

// TestDrop: what was made goes, what others have made stays.
func TestDrop(t *testing.T) {
	s := shared(t)
	ctx := t.Context()
	o := pgvector.Options{URL: s.URL, Schema: schema(t)}
	quoted := pgx.Identifier{o.Schema}.Sanitize()
	b := open(t, o)
	if err := b.Drop(ctx); err != nil {
		t.Errorf("what is not there: %v", err)
	}
	for _, c := range []struct{ before, after string }{
		{"", "CREATE SCHEMA " + quoted},                                                  // the schema is gone
		{"", "DROP SCHEMA " + quoted},                                                    // it was there before, and is empty
		{"", "CREATE SCHEMA " + quoted + "; DROP SCHEMA " + quoted},                      // gone again
		{"CREATE TABLE " + quoted + ".notes (a int)", "DROP TABLE " + quoted + ".notes"}, // it stays for the table
	} {
		if err := b.Create(ctx, info(4)); err != nil {
			t.Fatal(err)
		}
		if c.before != "" {
			s.exec(t, c.before)
		}
		if err := b.Drop(ctx); err != nil {
			t.Fatal(err)
		}
		s.exec(t, c.after)
		if _, err := b.Info(ctx); !errors.Is(err, engine.ErrNoDatabase) {
			t.Errorf("after a drop: %v", err)
		}
	}
}

// TestDimensions: vectors of all lengths have exact cosines, and an index where there can be one.
func TestDimensions(t *testing.T) {
	s := shared(t)
	ctx := t.Context()
	r := rand.New(rand.NewPCG(5, 6))
	for dim, index := range map[int]string{1: "vector_cosine_ops", 2000: "vector_cosine_ops", 2001: "halfvec_cosine_ops", 4000: "halfvec_cosine_ops", 4001: ""} {
		o := pgvector.Options{URL: s.URL, Schema: schema(t)}
		b := open(t, o)
		if err := b.Create(ctx, info(dim)); err != nil {
			t.Fatal(err)
		}
		var docs [][]remote.Passage
		for i := range 40 {
			docs = append(docs, document(t, fmt.Sprint(i), "x", "", unit(r, dim)))
		}
		if err := b.Put(ctx, docs, true); err != nil {
			t.Fatal(err)
		}
		q := unit(r, dim)
		near, err := b.Nearest(ctx, q, 10, engine.Filter{})
		if err != nil || len(near) != 10 {
			t.Fatalf("%d dimensions: %v, %v", dim, near, err)
		}
		var all []float64
		for _, d := range docs {
			all = append(all, cosine(q, d[0].Vector))
		}
		slices.Sort(all)
		for i, c := range near {
			if want := all[len(all)-1-i]; math.Abs(c.Cosine-want) > 1e-6 {
				t.Errorf("%d dimensions: place %d: %v, want %v", dim, i, c.Cosine, want)
			}
		}
		back, err := b.Documents(ctx, []string{"7"})
		if err != nil || !reflect.DeepEqual(back[0], docs[7]) {
			t.Errorf("%d dimensions: %v came back as another", dim, err)
		}
		if got := s.ask(t, "SELECT coalesce(max(indexdef), '') FROM pg_indexes WHERE schemaname = $1 AND indexname = 'passages_near'", o.Schema); index == "" && got != "" || !strings.Contains(got, index) {
			t.Errorf("%d dimensions: index %q, want %s", dim, got, index)
		}
	}
	if err := s.fresh(t).Create(ctx, info(16_001)); !errors.Is(err, engine.ErrInvalid) {
		t.Errorf("16,001 dimensions: %v", err)
	}
}

// TestOdd: every id, text, term and metadata comes back bit for bit, and is found.
func TestOdd(t *testing.T) {
	s := shared(t)
	ctx := t.Context()
	b := s.fresh(t)
	if err := b.Create(ctx, info(2)); err != nil {
		t.Fatal(err)
	}
	long := strings.Repeat("long", 1000)
	odd := []string{"a\x00b", "a\x00c", "a\uFFFDb", "\xff\xfe", "\xff\xfd", long + "1", long + "2", " ", "é\u2028", `'"\`}
	var docs [][]remote.Passage
	for i, o := range odd {
		term := strings.ReplaceAll(o, " ", "_")
		p := document(t, o, term+" "+term+" all", fmt.Sprintf(`{"n": %d, "%s": "%s"}`, i, strings.Repeat("p", 100*i), strings.Repeat("v", 300*i)), []float32{1, 0})[0]
		p.Title, p.Whole, p.Truncated, p.Tokens, p.Start, p.Line = "title "+o, "whole "+o, i, []int32{1, -1, 1 << 30}, i, i
		other := p
		p.Chunks, other.Chunks, other.Chunk, other.Whole, other.Text = 2, 2, 1, "", "another "+o
		docs = append(docs, []remote.Passage{p, other})
	}
	if err := b.Put(ctx, docs, true); err != nil {
		t.Fatal(err)
	}
	back, err := b.Documents(ctx, odd)
	if err != nil {
		t.Fatal(err)
	}
	for i := range docs {
		if !reflect.DeepEqual(back[i], docs[i]) {
			t.Errorf("%.80q came back as %.300v", odd[i], back[i])
		}
		term := strings.Fields(docs[i][0].Terms)[0]
		if n, err := b.Having(ctx, []string{term, "all"}); err != nil || n[0] != 2 || n[1] != 2*len(docs) {
			t.Errorf("%.80q: %d, %v", term, n, err)
		}
		found, err := b.Matching(ctx, []remote.WeightedTerm{{Term: term, Weight: 1}}, 5, engine.Filter{})
		if err != nil || len(found) != 2 || found[0].ID != odd[i] || found[0].Terms != docs[i][0].Terms {
			t.Errorf("%.80q: %.200v, %v", term, found, err)
		}
		if i == 0 {
			continue // its path is empty
		}
		f := filter.Eq(strings.Repeat("p", 100*i), strings.Repeat("v", 300*i))
		if n, err := b.Count(ctx, f); err != nil || n != 1 {
			t.Errorf("%d by its metadata: %d, %v", i, n, err)
		}
		found, err = b.Nearest(ctx, []float32{1, 0}, 50, f)
		if err != nil || len(found) != 2 || found[0].ID != odd[i] {
			t.Errorf("%d by its metadata: %.200v, %v", i, found, err)
		}
	}
	scanned := map[string]int{}
	for p, err := range b.Scan(ctx, engine.Filter{}, remote.ScanOptions{}) {
		if err != nil {
			t.Fatal(err)
		}
		scanned[p.ID]++
	}
	for _, o := range odd {
		if scanned[o] != 2 {
			t.Errorf("%.80q was scanned %d times", o, scanned[o])
		}
	}
	if n, err := b.Delete(ctx, append(odd, odd...)); err != nil || n != len(odd) {
		t.Errorf("deleted %d, %v", n, err)
	}
	for _, table := range []string{"documents", "passages", "postings", "facts"} {
		if got := s.ask(t, "SELECT count(*)::text FROM "+pgx.Identifier{strings.SplitN(b.Name(), "/", 3)[2], table}.Sanitize()); got != "0" {
			t.Errorf("%s rows of %s are left", got, table)
		}
	}
}

// TestAllOrNothing: a call whose last document is refused stores none.
func TestAllOrNothing(t *testing.T) {
	b := shared(t).fresh(t)
	ctx := t.Context()
	if err := b.Create(ctx, info(2)); err != nil {
		t.Fatal(err)
	}
	one := func(id string, v ...float32) []remote.Passage { return document(t, id, "x", "", v) }
	if err := b.Put(ctx, [][]remote.Passage{one("there", 1, 0)}, true); err != nil {
		t.Fatal(err)
	}
	before, err := b.Status(ctx)
	if err != nil {
		t.Fatal(err)
	}
	for what, c := range map[string]struct {
		docs  [][]remote.Passage
		fresh bool
		want  error
	}{
		"one that is there":     {[][]remote.Passage{one("a", 1, 0), one("there", 0, 1)}, true, engine.ErrExists},
		"a vector of another":   {[][]remote.Passage{one("a", 1, 0), one("there", 0, 1, 0)}, false, engine.ErrBackend},
		"one twice in the call": {[][]remote.Passage{one("a", 1, 0), one("a", 0, 1)}, false, engine.ErrInvalid},
	} {
		if err := b.Put(ctx, c.docs, c.fresh); !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", what, err, c.want)
		}
		after, err := b.Status(ctx)
		docs, derr := b.Documents(ctx, []string{"a", "there"})
		if err != nil || derr != nil || after != before || len(docs[0]) != 0 || docs[1][0].Vector[0] != 1 {
			t.Errorf("%s: %+v, %v, %v, %v; want %+v", what, after, err, docs, derr, before)
		}
	}
}

// TestCandidates: both legs name what a comparison with everything names, with filters that many, few and
// none meet.
func TestCandidates(t *testing.T) {
	const n, dim, k = 3000, 16, 50
	ctx := t.Context()
	b := shared(t).fresh(t)
	all := new(backendtest.Memory)
	r := rand.New(rand.NewPCG(7, 8))
	var docs [][]remote.Passage
	for i := range n {
		var words []string
		for range 3 + r.IntN(20) {
			words = append(words, fmt.Sprint("w", int(math.Exp(r.Float64()*6))))
		}
		docs = append(docs, document(t, fmt.Sprint(i), strings.Join(words, " "), fmt.Sprintf(`{"n": %d}`, i), unit(r, dim)))
	}
	for _, to := range []remote.Backend{b, all} {
		if err := errors.Join(to.Create(ctx, info(dim)), to.Put(ctx, docs, true)); err != nil {
			t.Fatal(err)
		}
	}
	same, asked := 0, 0
	for _, f := range []engine.Filter{{}, filter.Ge("n", 1500), filter.Lt("n", 20), filter.Range("n", 100, 104), filter.Eq("n", 7), filter.Eq("n", -1), filter.Not(filter.Gt("n", 9)), filter.Or(filter.Eq("n", 3), filter.Gt("n", n-3))} {
		for range 5 {
			q := unit(r, dim)
			got, err := b.Nearest(ctx, q, k, f)
			want, werr := all.Nearest(ctx, q, k, f)
			if err != nil || werr != nil || len(got) != len(want) {
				t.Fatalf("%v: %d, want %d near, %v, %v", f, len(got), len(want), err, werr)
			}
			asked += len(want)
			for i, c := range got {
				if i > 0 && c.Cosine > got[i-1].Cosine {
					t.Errorf("%v: place %d is nearer than the one before it", f, i)
				}
				if slices.ContainsFunc(want, func(w remote.Candidate) bool {
					return w.PassageID == c.PassageID && math.Abs(w.Cosine-c.Cosine) < 1e-6 && w.Terms == c.Terms
				}) {
					same++
				}
			}
			terms := []remote.WeightedTerm{{Term: "w1", Weight: .3}, {Term: "w20", Weight: 1}, {Term: "w300", Weight: 2}, {Term: "nobody", Weight: 1}}
			got, err = b.Matching(ctx, terms, k, f)
			want, werr = all.Matching(ctx, terms, k, f)
			if err != nil || werr != nil || len(got) != len(want) {
				t.Fatalf("%v: %d, want %d matching, %v, %v", f, len(got), len(want), err, werr)
			}
			score := func(c remote.Candidate) float64 { // of the reference, by which ties are known
				i := slices.IndexFunc(want, func(w remote.Candidate) bool { return w.PassageID == c.PassageID })
				if i < 0 {
					return want[len(want)-1].Cosine
				}
				return want[i].Cosine
			}
			for i := range got {
				if math.Abs(score(got[i])-want[i].Cosine) > 1e-9 {
					t.Errorf("%v: place %d: %v, want %v", f, i, got[i], want[i])
				}
			}
		}
	}
	t.Logf("the graph named %d of %d", same, asked)
	if same < asked*95/100 {
		t.Errorf("the graph named %d of %d", same, asked)
	}
}

// TestWriters: calls beside each other on the same documents leave what one of them has stored, counted right.
func TestWriters(t *testing.T) {
	b := shared(t).fresh(t)
	ctx := t.Context()
	if err := b.Create(ctx, info(2)); err != nil {
		t.Fatal(err)
	}
	var running sync.WaitGroup
	for w := range 4 {
		running.Go(func() {
			r := rand.New(rand.NewPCG(9, uint64(w)))
			for range 25 {
				var docs [][]remote.Passage
				for _, i := range r.Perm(8)[:1+r.IntN(6)] {
					docs = append(docs, document(t, fmt.Sprint(i), fmt.Sprintf("x w%d", w), `{"a": 1}`, []float32{1, 0}))
				}
				if err := b.Put(ctx, docs, false); err != nil {
					t.Errorf("put: %v", err)
				}
				if r.IntN(3) == 0 {
					if _, err := b.Delete(ctx, []string{fmt.Sprint(r.IntN(8))}); err != nil {
						t.Errorf("delete: %v", err)
					}
				}
			}
		})
	}
	running.Wait()
	s, err := b.Status(ctx)
	n, nerr := b.Count(ctx, filter.Exists("a"))
	has, herr := b.Having(ctx, []string{"x", "w0", "w1", "w2", "w3"})
	if err != nil || nerr != nil || herr != nil || s.Documents != n || s.Passages != n || s.Terms != int64(2*n) || has[0] != n || has[1]+has[2]+has[3]+has[4] != n {
		t.Errorf("%+v, %d counted, %d have the terms; %v, %v, %v", s, n, has, err, nerr, herr)
	}
}

// TestCancelled: a call that waits ends with its context, and its statement with it.
func TestCancelled(t *testing.T) {
	s := shared(t)
	o := pgvector.Options{URL: s.URL, Schema: schema(t)}
	b := open(t, o)
	if err := b.Create(t.Context(), info(2)); err != nil {
		t.Fatal(err)
	}
	c, err := pgx.Connect(t.Context(), s.URL)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close(context.Background())
	if _, err := c.Exec(t.Context(), "BEGIN; LOCK TABLE "+pgx.Identifier{o.Schema, "documents"}.Sanitize()); err != nil {
		t.Fatal(err)
	}
	waiting := func() string {
		return s.ask(t, "SELECT count(*)::text FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND application_name = 'lexsem'")
	}
	for what, call := range map[string]func(context.Context) error{
		"put": func(ctx context.Context) error {
			return b.Put(ctx, [][]remote.Passage{document(t, "a", "x", "", []float32{1, 0})}, true)
		},
		"fetch": func(ctx context.Context) error {
			_, err := b.Fetch(ctx, []remote.PassageID{{ID: "a"}}, true)
			return err
		},
	} {
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- call(ctx) }()
		for end := time.Now().Add(10 * time.Second); waiting() != "1" && time.Now().Before(end); {
			time.Sleep(5 * time.Millisecond)
		}
		cancel()
		select {
		case err := <-ended:
			if !errors.Is(err, context.Canceled) {
				t.Errorf("%s: %v", what, err)
			}
		case <-time.After(10 * time.Second):
			t.Fatalf("%s goes on", what)
		}
		for end := time.Now().Add(10 * time.Second); waiting() != "0"; time.Sleep(5 * time.Millisecond) {
			if time.Now().After(end) {
				t.Fatalf("%s: the server goes on", what)
			}
		}
	}
}

// TestHosts: where the first host of a URL is away the second is asked.
func TestHosts(t *testing.T) {
	s := shared(t)
	away, err := servers.FreePorts(1)
	if err != nil {
		t.Fatal(err)
	}
	b := open(t, pgvector.Options{URL: fmt.Sprintf("postgres://lexsem@127.0.0.1:%d,%s/postgres?sslmode=disable", away, s.host()), Schema: schema(t)})
	if err := b.Create(t.Context(), info(2)); err != nil {
		t.Fatal(err)
	}
	alone := open(t, pgvector.Options{URL: fmt.Sprintf("postgres://lexsem@127.0.0.1:%d/postgres?sslmode=disable", away), Schema: "x", Patience: time.Millisecond})
	if _, err := alone.Info(t.Context()); !errors.Is(err, engine.ErrBackend) || !strings.Contains(err.Error(), "gave up") {
		t.Errorf("a server that is away: %v", err)
	}
}

// TestFewLeft: where the graph is searched and ends before it has named what a filter leaves, all of that is compared.
func TestFewLeft(t *testing.T) {
	const n, dim = 1500, 8
	s := shared(t)
	ctx := t.Context()
	o := pgvector.Options{URL: s.URL + "&enable_sort=off&hnsw.max_scan_tuples=1", Schema: schema(t)}
	b := open(t, o)
	if err := b.Create(ctx, info(dim)); err != nil {
		t.Fatal(err)
	}
	r := rand.New(rand.NewPCG(11, 12))
	q := unit(r, dim)
	var docs [][]remote.Passage
	for i := range n {
		docs = append(docs, document(t, fmt.Sprint(i), "x", "", unit(r, dim)))
	}
	slices.SortFunc(docs, func(a, b []remote.Passage) int { // the nearest first
		return int(math.Copysign(1, cosine(q, b[0].Vector)-cosine(q, a[0].Vector)))
	})
	for i := range docs {
		docs[i][0].Metadata = fmt.Sprintf(`{"far": %d}`, i)
		var err error
		if docs[i][0].Facts, err = filter.Facts([]byte(docs[i][0].Metadata)); err != nil {
			t.Fatal(err)
		}
	}
	if err := b.Put(ctx, docs, true); err != nil {
		t.Fatal(err)
	}
	near, err := b.Nearest(ctx, q, 20, filter.Ge("far", n-7))
	if err != nil || len(near) != 7 || near[0].ID != docs[n-7][0].ID || near[6].ID != docs[n-1][0].ID {
		t.Errorf("%d of the 7 that are farthest: %v, %v", len(near), near, err)
	}
}

// TestWrites: each passage that is written or deleted is counted, those that a document has no more among them.
func TestWrites(t *testing.T) {
	b := shared(t).fresh(t)
	ctx := t.Context()
	if err := b.Create(ctx, info(2)); err != nil {
		t.Fatal(err)
	}
	chunks := func(n int) []remote.Passage {
		p := document(t, "a", "x y", `{"a": 1}`, []float32{1, 0})[0]
		var ps []remote.Passage
		for i := range n {
			p.Chunk, p.Chunks = i, n
			ps = append(ps, p)
		}
		return ps
	}
	for i, c := range []struct{ chunks, writes int }{{3, 3}, {1, 6}, {2, 8}, {2, 10}, {0, 12}} {
		var err error
		if c.chunks > 0 {
			err = b.Put(ctx, [][]remote.Passage{chunks(c.chunks)}, false)
		} else {
			_, err = b.Delete(ctx, []string{"a"})
		}
		want := remote.Status{Documents: min(c.chunks, 1), Passages: c.chunks, Terms: int64(2 * c.chunks), Writes: uint64(c.writes)}
		if s, serr := b.Status(ctx); err != nil || serr != nil || s != want {
			t.Errorf("%d: %+v, %v, %v; want %+v", i, s, err, serr, want)
		}
	}
}
