package engine_test

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/lexsem/lexsem/engine"
	"github.com/lexsem/lexsem/engine/filter"
	"github.com/lexsem/lexsem/index"
	"github.com/lexsem/lexsem/internal/value"
)

// dated are documents of which the newest and the most starred ones say least of what is asked: their words and vectors
// are far from those of a query for keys.
func dated(n int, now time.Time) (docs []engine.Document) {
	for i := range n {
		d := engine.Document{ID: fmt.Sprintf("d%03d", i), Title: "Note", Metadata: map[string]any{"lang": []string{"go", "c", "zig"}[i%7%3], "n": i, "stars": []any{i % 5, i * i}}}
		d.Text = strings.Repeat("bees fly from flower to flower ", 1+i%4) + strings.Repeat("keys ", 1+(n-i)/(1+n/20)) + fmt.Sprint("w", i)
		if i%10 != 3 {
			d.Metadata["time"] = now.Add(-time.Duration((i*37)%n) * 24 * time.Hour).Format(time.RFC3339)
		}
		docs = append(docs, d)
	}
	docs[n-1].Text = strings.Repeat("Some words come first, as texts are long and have parts. ", 20) + "The keys come last."
	delete(docs[n-2].Metadata, "lang")
	docs[n-3].Metadata["lang"] = []any{"zig", "ada"}
	return docs
}

var rankedModes = []string{engine.ModeHybrid, engine.ModeDense, engine.ModeLexical}

// TestBoost: whatever the mode, the metric and the token states, the first hits are those that boosted scores of all
// documents put first, on every page, and an explanation adds up to the score.
func TestBoost(t *testing.T) {
	t.Parallel()
	now := time.Now()
	docs := dated(450, now)
	for _, metric := range index.Metrics() {
		for _, states := range []string{engine.TokenStatesOff, engine.TokenStatesOn} {
			if metric != "cosine" && states == engine.TokenStatesOn {
				continue
			}
			t.Run(metric+"/"+states, func(t *testing.T) {
				t.Parallel()
				e := open(t, t.TempDir(), engine.Options{Metric: metric, TokenStates: states, ChunkTokens: 64, NoSync: true})
				add(t, e, docs)
				for _, boost := range []string{"3*recency(time, 20d)", "2*recency(time, 50d) + field(stars, 500)", "0.5*field(n, 100) - 0.3*recency(time, 1y)", "-0.5*field(n, 1)"} {
					bs, err := filter.ParseBoosts(boost)
					if err != nil {
						t.Fatal(err)
					}
					for _, mode := range rankedModes {
						q := engine.Query{Text: "where are keys", Mode: mode, K: len(docs), PerChunk: true, Filter: filter.Lt("n", 440)}
						want := search(t, e, q).Hits
						for i := range want {
							x := 1.0
							for _, b := range bs {
								most := 0.0
								value.Each(want[i].Metadata, b.Path(), func(k value.Kind, text []byte) { most = max(most, b.Of(k, text)) })
								x += b.Weight * most
							}
							if want[i].Score < 0 {
								x = 1 / x
							}
							want[i].Score *= float32(x)
						}
						slices.SortStableFunc(want, func(a, b engine.Hit) int { return cmp.Compare(b.Score, a.Score) })
						q.Boost, q.K = boost, 20
						if metric != "cosine" && mode == engine.ModeHybrid { // whose scores are of ranks among the candidates
							q.K = len(docs)
						}
						got := search(t, e, q).Hits
						for i, h := range got {
							if math.Abs(float64(h.Score-want[i].Score)) > 1e-3*max(1, math.Abs(float64(h.Score))) {
								t.Fatalf("%s, %s: hit %d is %s at %v, want %s at %v", boost, mode, i+1, h.ID, h.Score, want[i].ID, want[i].Score)
							}
						}
						if len(got) < 20 {
							t.Fatalf("%s, %s: %d hits", boost, mode, len(got))
						}
						samePages(t, e, q, got[:20], 7)
						x, err := e.Explain(t.Context(), q, got[1].ID)
						sum, named := 0.0, false
						for _, term := range x.Terms {
							sum += term.Weight * term.Value
							named = named || strings.HasPrefix(term.Name, "recency(time, ") || strings.HasPrefix(term.Name, "field(")
						}
						if err != nil || !named || math.Abs(sum-float64(x.Score)) > 1e-3*max(1, math.Abs(sum)) || q.K == 20 && math.Abs(float64(x.Score-got[1].Score)) > 1e-3*max(1, math.Abs(sum)) {
							t.Errorf("%s, %s: terms %+v of %v, %v; found at %v", boost, mode, x.Terms, x.Score, err, got[1].Score)
						}
					}
				}
			})
		}
	}
}

// samePages checks that the pages of a query together are the hits of one answer.
func samePages(t *testing.T, e *engine.Engine, q engine.Query, want []engine.Hit, size int) {
	t.Helper()
	for at := 0; at < len(want); at += size {
		q.Offset, q.K = at, min(size, len(want)-at)
		for i, h := range search(t, e, q).Hits {
			if w := want[at+i]; h.ID != w.ID || h.Chunk != w.Chunk || h.Rank != at+i+1 {
				t.Fatalf("%+v: hit %d is %s, rank %d, want %s", q, at+i+1, h.ID, h.Rank, w.ID)
			}
		}
	}
}

// TestSort: hits are in the order of a field, those without it last, equal ones by score, and pages go on; of a query that
// tells which documents match, all are sorted, else the 100 best.
func TestSort(t *testing.T) {
	t.Parallel()
	docs := dated(300, time.Now())
	e := open(t, t.TempDir(), engine.Options{NoSync: true})
	add(t, e, docs)
	for _, expr := range []string{"time desc", "time", "lang", "stars desc"} {
		by, err := filter.ParseSort(expr)
		if err != nil {
			t.Fatal(err)
		}
		key := func(h engine.Hit) (first string) {
			value.Each(h.Metadata, by.Path, func(k value.Kind, text []byte) {
				if x := k.Order(text); by.Compare(x, first) < 0 {
					first = x
				}
			})
			return first
		}
		for _, q := range []engine.Query{
			{Text: "where are keys", K: 100}, {Text: "where are keys", Mode: engine.ModeDense, K: 100}, {Text: "keys", Mode: engine.ModeLexical, K: 300},
			{Text: "where are keys", MinScore: 0.3, K: 300}, {Text: "-w77", K: 300}, {Text: "w9 w20 w30", Mode: engine.ModeLexical, K: 10}, {Text: "where are keys", GroupBy: "n", K: 100},
		} {
			want := search(t, e, q).Hits
			slices.SortStableFunc(want, func(a, b engine.Hit) int { return by.Compare(key(a), key(b)) })
			q.Sort = expr
			got := search(t, e, q).Hits
			if len(got) != len(want) || len(got) < 3 {
				t.Fatalf("%s of %+v: %d hits, want %d", expr, q, len(got), len(want))
			}
			for i, h := range got {
				if h.ID != want[i].ID || h.Rank != i+1 {
					t.Fatalf("%s of %+v: hit %d is %s, want %s", expr, q, i+1, h.ID, want[i].ID)
				}
			}
			samePages(t, e, q, got, 33)
			q.K = 5
			if few := search(t, e, q).Hits; len(few) != min(5, len(got)) || few[0].ID != got[0].ID {
				t.Errorf("%s of %+v: the first are %d hits from %s", expr, q, len(few), few[0].ID)
			}
		}
	}
	if _, err := e.Search(t.Context(), engine.Query{Text: "keys", Sort: "time", K: 10, Offset: 95}); !errors.Is(err, engine.ErrInvalid) {
		t.Errorf("a page behind what is sorted: %v", err)
	}
}

// TestGroupBy: a value of the field gets no more than its hits, which are the best, in every mode and on every page;
// documents without the field are one group, and those of several values count for the least.
func TestGroupBy(t *testing.T) {
	t.Parallel()
	docs := dated(300, time.Now())
	docs = append(docs, engine.Document{ID: "copy", Text: docs[0].Text, Metadata: map[string]any{"lang": "ada"}})
	e := open(t, t.TempDir(), engine.Options{ChunkTokens: 64, NoSync: true})
	add(t, e, docs)
	group := func(h engine.Hit) string {
		switch v := h.Metadata["lang"].(type) {
		case []any:
			return "ada"
		case string:
			return v
		}
		return ""
	}
	for _, mode := range rankedModes {
		for _, q := range []engine.Query{
			{K: 10, PerGroup: 0}, {K: 10, PerGroup: 1}, {K: 7, PerGroup: 3}, {K: 300, PerGroup: 20, PerChunk: true}, {K: 10, PerGroup: 2, Collapse: true}, {K: 10, PerGroup: 2, Boost: "field(n, 20)"},
			{K: 10, PerGroup: 2, Filter: filter.In("lang", "go", "ada")}, {K: 10, PerGroup: 2, MinScore: 0.2},
		} {
			q.Text, q.Mode = "where are keys", mode
			all := q
			all.K, all.PerGroup = 2*len(docs), 0
			q.GroupBy = "lang"
			n, want := map[string]int{}, []engine.Hit(nil)
			for _, h := range search(t, e, all).Hits {
				if n[group(h)]++; n[group(h)] <= max(1, q.PerGroup) && len(want) < q.K {
					want = append(want, h)
				}
			}
			got := search(t, e, q).Hits
			if len(got) != len(want) {
				t.Errorf("%+v: %d hits, want %d", q, len(got), len(want))
				continue
			}
			for i, h := range got {
				if h.ID != want[i].ID && math.Abs(float64(h.Score-want[i].Score)) > 1e-5 || h.Rank != i+1 {
					t.Errorf("%+v: hit %d is %s at %v, want %s at %v", q, i+1, h.ID, h.Score, want[i].ID, want[i].Score)
				}
			}
			if q.K <= 10 && q.PerGroup == 3 {
				samePages(t, e, q, got, 3)
			}
		}
	}
}

// TestFieldErrors: bad expressions are refused in every call that has them, and name the place.
func TestFieldErrors(t *testing.T) {
	t.Parallel()
	e := open(t, t.TempDir(), engine.Options{NoSync: true})
	add(t, e, dated(30, time.Now()))
	for _, q := range []engine.Query{
		{Boost: "recency(time)"}, {Boost: "stars"}, {Sort: "time up"}, {Sort: "id"}, {GroupBy: "id"}, {PerGroup: 2}, {GroupBy: "lang", PerGroup: -1}, {GroupBy: "lang", PerGroup: engine.MaxK + 1},
	} {
		q.Text = "keys"
		_, err := e.Search(t.Context(), q)
		var at *filter.Error
		if !errors.Is(err, engine.ErrInvalid) || (q.Boost+q.Sort != "") != errors.As(err, &at) {
			t.Errorf("%+v: %v", q, err)
		}
		if _, err := e.Explain(t.Context(), q, "d001"); !errors.Is(err, engine.ErrInvalid) {
			t.Errorf("explained: %+v: %v", q, err)
		}
		if _, err := e.SearchBatch(t.Context(), []engine.Query{q}); !errors.Is(err, engine.ErrInvalid) {
			t.Errorf("in a batch: %+v: %v", q, err)
		}
	}
	for _, q := range []engine.Query{{GroupBy: "metadata.id"}, {Boost: "field(nope, 1)"}, {Sort: "nope desc"}, {Boost: `field("a b", 1)`}} {
		q.Text = "keys"
		want := 10
		if q.GroupBy != "" {
			want = 1 // no document has the field: one group
		}
		if hits := search(t, e, q).Hits; len(hits) != want {
			t.Errorf("%+v: %d hits", q, len(hits))
		}
	}
}
