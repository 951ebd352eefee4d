package engine_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"reflect"
	"strings"
	"testing"

	"github.com/lexsem/lexsem/engine"
	"github.com/lexsem/lexsem/engine/filter"
	"github.com/lexsem/lexsem/engine/fusion"
	"github.com/lexsem/lexsem/engine/rerank"
)

// TestPages: pages of a search are what one search finds, in its order.
func TestPages(t *testing.T) {
	e := open(t, t.TempDir(), engine.Options{ChunkTokens: 40})
	d := docs(0, 60)
	for i := range 8 { // long ones, and near-duplicates
		d = append(d, engine.Document{ID: fmt.Sprint("long", i), Text: strings.Repeat(text(i)+". ", 6)},
			engine.Document{ID: fmt.Sprint("twin", i), Text: text(i) + " again"})
	}
	add(t, e, d)
	for _, q := range []engine.Query{
		{}, {Mode: engine.ModeDense}, {Mode: engine.ModeLexical}, {PerChunk: true}, {Collapse: true}, {PerChunk: true, Collapse: true},
		{Mode: engine.ModeDense, Collapse: true},
	} {
		q.Text, q.K = "topic3 speaks of matter4 in a long sentence", 100
		whole := search(t, e, q).Hits
		if len(whole) < 50 {
			t.Fatalf("%+v: %d hits", q, len(whole))
		}
		var pages []engine.Hit
		for q.K = 7; ; q.Offset += q.K {
			page := search(t, e, q).Hits
			if len(page) > q.K {
				t.Fatalf("%+v: %d hits", q, len(page))
			}
			pages = append(pages, page...)
			if len(page) == 0 {
				break
			}
		}
		if len(whole) < len(pages) { // more than the 100 that were asked for
			pages = pages[:len(whole)]
		}
		if len(pages) != len(whole) {
			t.Fatalf("%+v: pages have %d hits, a whole search %d", q, len(pages), len(whole))
		}
		for i, h := range pages {
			if h.Rank != i+1 || h.ID != whole[i].ID || h.Chunk != whole[i].Chunk || h.Score != whole[i].Score {
				t.Fatalf("%+v: hit %d of the pages is %+v, of the whole search %+v", q, i+1, h, whole[i])
			}
			if !q.Collapse && !reflect.DeepEqual(h, whole[i]) {
				t.Fatalf("%+v: %+v, %+v", q, h, whole[i])
			}
		}
	}
	for _, q := range []engine.Query{{Offset: -1}, {K: 10, Offset: engine.MaxK - 9}, {Offset: math.MaxInt}} {
		q.Text = "x"
		if _, err := e.Search(t.Context(), q); !errors.Is(err, engine.ErrInvalid) {
			t.Errorf("offset %d: %v", q.Offset, err)
		}
	}
	if r := search(t, e, engine.Query{Text: "x", K: 10, Offset: engine.MaxK - 10}); len(r.Hits) != 0 {
		t.Errorf("%d hits behind the last", len(r.Hits))
	}
}

// TestPagesEnd: pages of a search that fuses a pool of candidates are those of one list, up to where the pool ends;
// then they are refused, not served from another pool.
func TestPagesEnd(t *testing.T) {
	t.Parallel()
	e := open(t, t.TempDir(), engine.Options{ChunkTokens: 16})
	d := docs(0, 600)
	for i := range d {
		if i%3 == 0 {
			d[i].Text = strings.Repeat(d[i].Text+". ", 4)
		}
	}
	add(t, e, d)
	rerankable := engine.WithReranker(e, rerank.Func(func(_ context.Context, _ string, texts []string) ([]float64, error) {
		return make([]float64, len(texts)), nil
	}), 20)
	for name, q := range map[string]engine.Query{
		"calibrated": {}, "rrf": {Fusion: fusion.Options{Kind: fusion.RRF}}, "convex": {Fusion: fusion.Options{Kind: fusion.Convex}}, "chunks": {PerChunk: true}, "collapse": {Collapse: true},
		"dense": {Mode: engine.ModeDense}, "lexical": {Mode: engine.ModeLexical}, "reranked": {}, "filtered": {Filter: filter.Lt("n", 40)},
	} {
		var db engine.Database = e
		if name == "reranked" {
			db = rerankable
		}
		q.Text, q.K = "topic3 speaks of matter4 in a long sentence", 7
		seen := map[string]bool{}
		var refused error
		for ; ; q.Offset += q.K {
			r, err := db.Search(t.Context(), q)
			if err != nil {
				refused = err
				break
			}
			for _, h := range r.Hits {
				at := fmt.Sprint(h.ID, "#", h.Chunk)
				if !q.PerChunk {
					at = h.ID
				}
				if seen[at] {
					t.Errorf("%s: %s is on two pages, the later one at %d", name, at, q.Offset)
				}
				seen[at] = true
			}
			if len(r.Hits) < q.K {
				break
			}
		}
		want := q
		want.Offset, want.K = 0, max(len(seen), 1)
		whole, err := db.Search(t.Context(), want)
		if err != nil {
			t.Fatal(err)
		}
		for _, h := range whole.Hits {
			if !seen[h.ID] && !q.PerChunk {
				t.Errorf("%s: %s is missing on the pages", name, h.ID)
			}
		}
		ends := q.Mode == "" && q.Filter.IsZero()
		if ends != errors.Is(refused, engine.ErrInvalid) || ends && (!strings.Contains(refused.Error(), "a larger k") || len(seen) > 100) || !ends && len(seen) < 40 {
			t.Errorf("%s: %d hits on pages, then %v", name, len(seen), refused)
		}
	}
}

// TestMinScore: what scores less is left out, and nothing else.
func TestMinScore(t *testing.T) {
	e := open(t, t.TempDir(), engine.Options{ChunkTokens: 40})
	d := docs(0, 60)
	for i := range 8 {
		d = append(d, engine.Document{ID: fmt.Sprint("long", i), Text: strings.Repeat(text(i)+". ", 6)},
			engine.Document{ID: fmt.Sprint("twin", i), Text: text(i) + " again"})
	}
	add(t, e, d)
	negative := false
	for _, q := range []engine.Query{
		{}, {Mode: engine.ModeDense, Variant: engine.VariantNone}, {Mode: engine.ModeLexical}, {PerChunk: true}, {Collapse: true},
		{Mode: engine.ModeDense, Collapse: true, PerChunk: true},
	} {
		q.Text, q.K = "topic3 speaks of matter4", 1000
		whole := search(t, e, q).Hits
		for _, at := range []int{0, len(whole) / 3, len(whole) - 1} {
			least := whole[at].Score
			if least == 0 {
				continue
			}
			negative = negative || least < 0
			q.MinScore = least
			var want []string
			for _, h := range whole {
				if h.Score >= least {
					want = append(want, fmt.Sprint(h.ID, "#", h.Chunk, h.Rank))
				}
			}
			var got []string
			for _, h := range search(t, e, q).Hits {
				got = append(got, fmt.Sprint(h.ID, "#", h.Chunk, h.Rank))
			}
			if !reflect.DeepEqual(got, want) {
				t.Fatalf("%+v: %v, want %v", q, got, want)
			}
			if q.Offset = 2; len(want) > 2 {
				if got := search(t, e, q).Hits; len(got) != len(want)-2 || got[0].Rank != 3 {
					t.Fatalf("%+v: %d hits of %d", q, len(got), len(want))
				}
			}
			q.Offset = 0
		}
		q.MinScore = whole[0].Score * 1.01
		if r := search(t, e, q); len(r.Hits) > 0 {
			t.Errorf("%+v: %+v", q, r.Hits[0])
		}
	}
	if !negative {
		t.Error("no negative score was asked for")
	}
	// A duplicate that scores less is not named.
	q := engine.Query{Text: text(3), K: 1, Collapse: true}
	best := search(t, e, q).Hits[0]
	if len(best.Duplicates) == 0 {
		t.Fatal("no duplicate")
	}
	q.MinScore = best.Score
	if h := search(t, e, q).Hits; len(h) != 1 || len(h[0].Duplicates) > 0 {
		t.Errorf("%+v", h)
	}
	for _, bad := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
		if _, err := e.Search(t.Context(), engine.Query{Text: "x", MinScore: float32(bad)}); !errors.Is(err, engine.ErrInvalid) {
			t.Errorf("minimal score %v: %v", bad, err)
		}
	}
}

// TestLines: a hit names the lines of the document's text that its text covers.
func TestLines(t *testing.T) {
	e := open(t, t.TempDir(), engine.Options{ChunkTokens: 40})
	var b strings.Builder
	for i := range 120 {
		fmt.Fprintf(&b, "Line %d has the word only%d.\r\n", i+1, i+1)
		if i%10 == 9 {
			b.WriteString("\n")
		}
	}
	whole := map[string][2]int{"": {1, 1}, "one": {1, 1}, "one\n": {1, 1}, "one\ntwo": {1, 2}, "one\ntwo\n": {1, 2}, "\n\nthree\n\n": {1, 4}}
	d := []engine.Document{{ID: "long", Text: b.String()}}
	for s := range whole {
		d = append(d, engine.Document{ID: "whole" + s, Title: "title", Text: s})
	}
	add(t, e, d)
	chunks := 0
	for _, h := range search(t, e, engine.Query{Text: "line title", K: 1000, PerChunk: true}).Hits {
		if s, ok := strings.CutPrefix(h.ID, "whole"); ok {
			if h.Lines != whole[s] {
				t.Errorf("%q: lines %v, want %v", s, h.Lines, whole[s])
			}
			continue
		}
		chunks++
		lines := strings.Split(b.String(), "\n")[h.Lines[0]-1 : h.Lines[1]]
		if first, last := lines[0], lines[len(lines)-1]; !strings.HasPrefix(h.Text, strings.TrimSpace(first)) || !strings.HasSuffix(h.Text, strings.TrimSpace(last)) {
			t.Errorf("lines %v are %q to %q, the chunk is %q", h.Lines, first, last, h.Text)
		}
		x, err := e.Explain(t.Context(), engine.Query{Text: h.Text}, h.ID)
		if err != nil || x.Start == h.Start && x.Lines != h.Lines {
			t.Errorf("explained as lines %v, %v", x.Lines, err)
		}
	}
	if chunks < 10 {
		t.Fatalf("%d chunks", chunks)
	}
}
