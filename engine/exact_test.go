package engine_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/lexsem/lexsem/engine"
	"github.com/lexsem/lexsem/engine/filter"
	"github.com/lexsem/lexsem/internal/testkit/trial"
)

// spellings are names that share their words or stems, so that only bytes tell them apart.
func spellings(a, b string) []string {
	up := func(s string) string { return strings.ToUpper(s[:1]) + s[1:] }
	return []string{a + up(b), up(a) + up(b), a + b, a + "_" + b, strings.ToUpper(a + "_" + b), a + up(b) + "s", a + up(b) + "2", "_" + a + b, a + "_" + b + "_" + a, up(a), a + "s"}
}

// generated makes files of source code, and names that stand in them. A name is rare in a long test, and its relatives are
// frequent elsewhere.
func generated(rng *rand.Rand, files int) (docs []engine.Document, names []string) {
	words := strings.Fields("parse config render token")
	pick := func() string { return words[rng.IntN(len(words))] }
	for i := range files {
		var b strings.Builder
		a, c := pick(), pick()
		all := spellings(a, c)
		one := all[3+rng.IntN(len(all)-3)]
		lang, path := "go", fmt.Sprintf("pkg%d/%s_%d.go", i%7, a, i)
		if i%3 == 0 {
			path = fmt.Sprintf("pkg%d/%s_%d_test.go", i%7, a, i)
		}
		for line := range 4 + rng.IntN(60) {
			x := spellings(pick(), pick())
			if fmt.Fprintf(&b, "func %s(%s, %s) // %s %s\n", x[rng.IntN(2)], a, x[rng.IntN(4)], all[rng.IntN(3)], all[rng.IntN(3)]); line == 3 {
				fmt.Fprintf(&b, "\tb'%s', r.%s->%s::x(%q);%s²\n", x[0], one, one, one, one)
			}
		}
		names = append(names, one)
		docs = append(docs, engine.Document{ID: path, Title: path, Text: b.String(), Metadata: map[string]any{"kind": "code", "language": lang, "path": path, "n": i}})
	}
	slices.Sort(names)
	return docs, slices.Compact(names)
}

// places is what grep finds: the lines of each document with a string as a whole word.
func places(docs []engine.Document, s string) map[string][]int {
	is := regexp.MustCompile(`(?:^|[^\pL\pN\pM_])` + regexp.QuoteMeta(s) + `(?:$|[^\pL\pN\pM_])`)
	found := map[string][]int{}
	for _, d := range docs {
		for i, line := range strings.Split(d.Text, "\n") {
			if is.MatchString(line) {
				found[d.ID] = append(found[d.ID], i+1)
			}
		}
	}
	return found
}

func exactQuery(t *testing.T, db engine.Database, q engine.Query) engine.Result {
	t.Helper()
	r, err := db.Search(t.Context(), q)
	if err != nil {
		t.Fatalf("%q: %v", q.Text, err)
	}
	return r
}

// TestExact: in generated repositories, a search for a name that stands in a file, bare or in quotes, in words or fused, has
// such a file on its first page, scores descend, pages neither repeat nor miss, and explanations add up. A query for places
// finds all, in the order of ids.
func TestExact(t *testing.T) {
	t.Parallel()
	for seed := range uint64(2) {
		rng := rand.New(rand.NewPCG(seed, 50))
		docs, names := generated(rng, 120)
		dir := t.TempDir()
		e := open(t, dir, engine.Options{Kind: engine.KindCode, ChunkTokens: 48, NoSync: true})
		add(t, e, docs)
		if err := e.Flush(t.Context()); err != nil { // what is made in the background would change last bits between two calls
			t.Fatal(err)
		}
		lifted := 0
		rng.Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
		for _, name := range names[:min(len(names), trial.Rounds(t, 10, 30))] {
			stands := places(docs, name)
			for _, text := range []string{name, `"` + name + `"`, "+" + name, "where is " + name} {
				for _, mode := range []string{engine.ModeHybrid, engine.ModeLexical} {
					if strings.HasPrefix(text, "where") && !regexp.MustCompile(`_|[a-z][A-Z]|\d`).MatchString(name) {
						continue // which is not written as a name
					}
					q := engine.Query{Text: text, Mode: mode, Exact: true}
					r := exactQuery(t, e, q)
					if !slices.ContainsFunc(r.Hits, func(h engine.Hit) bool { return stands[h.ID] != nil }) {
						t.Errorf("seed %d, %s in mode %s: none of %d hits has it, and %d files do", seed, text, mode, len(r.Hits), len(stands))
						continue
					}
					if !slices.IsSortedFunc(r.Hits, func(a, b engine.Hit) int { return cmp.Compare(b.Score, a.Score) }) {
						t.Errorf("%s: scores do not descend", text)
					}
					for _, h := range r.Hits {
						if stands[h.ID] == nil {
							continue
						}
						x, err := e.Explain(t.Context(), q, h.ID)
						if err != nil {
							t.Fatal(err)
						}
						sum, exact := 0.0, false
						for _, term := range x.Terms {
							sum += term.Weight * term.Value
							exact = exact || term.Name == "exact"
						}
						if exact {
							lifted++
						}
						if exact && (x.Rank != h.Rank || math.Abs(sum-float64(h.Score)) > 1e-5 || x.Score != h.Score) {
							t.Errorf("%s: hit %d with score %v, explained as %d with %v, summands %v", text, h.Rank, h.Score, x.Rank, x.Score, sum)
						}
					}
					rest := exactQuery(t, e, engine.Query{Text: text, Mode: mode, Exact: true, K: 30})
					for at, n := 0, 0; at < len(rest.Hits); at += n {
						page, err := e.Search(t.Context(), engine.Query{Text: text, Mode: mode, Exact: true, K: 7, Offset: at})
						if at > 0 && errors.Is(err, engine.ErrInvalid) { // pages of a fused search end
							break
						}
						if err != nil {
							t.Fatal(err)
						}
						if n = len(page.Hits); n == 0 || page.Hits[0].ID != rest.Hits[at].ID {
							t.Fatalf("%s: page from %d does not begin with hit %d of all", text, at, at+1)
						}
					}
				}
			}
			samePlaces(t, e, name, stands)
			samePlaces(t, e, `"`+name+`"`, stands)
		}
		if lifted == 0 {
			t.Errorf("seed %d: no name needed a place", seed)
		}
	}
}

// samePlaces compares a query for places with what grep finds.
func samePlaces(t *testing.T, db engine.Database, text string, want map[string][]int) {
	t.Helper()
	r := exactQuery(t, db, engine.Query{Text: text, Places: true, K: engine.MaxK})
	if len(r.Hits) != len(want) || r.Trace.Filtered != len(want) {
		t.Errorf("places of %s: %d hits and %d documents, want %d", text, len(r.Hits), r.Trace.Filtered, len(want))
	}
	if !slices.IsSortedFunc(r.Hits, func(a, b engine.Hit) int { return strings.Compare(a.ID, b.ID) }) {
		t.Errorf("places of %s are not in the order of ids", text)
	}
	for _, h := range r.Hits {
		var lines []int
		for _, p := range h.Places {
			if lines = append(lines, p.Line); !strings.Contains(p.Text, strings.Trim(text, `"`)) {
				t.Errorf("%s: line %d is shown as %q", text, p.Line, p.Text)
			}
		}
		if !slices.Equal(lines, want[h.ID]) {
			t.Errorf("places of %s in %s: lines %v, want %v", text, h.ID, lines, want[h.ID])
		}
		if !strings.Contains(h.Text, strings.Trim(text, `"`)) {
			t.Errorf("%s: the hit of %s shows a chunk without it", text, h.ID)
		}
	}
}

// TestPlaces: strings with signs, blanks and other scripts, several of them, filters and other operators, pages, and what is
// refused.
func TestPlaces(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 500) + " needle(1, 2) " + strings.Repeat("é", 500)
	docs := []engine.Document{
		{ID: "c", Text: "one needle(1, 2)\r\nneedle(1,2)\nneedle(1, 2) needle(1, 2)\n", Metadata: map[string]any{"n": 1}},
		{ID: "a", Text: long, Metadata: map[string]any{"n": 2}},
		{ID: "b", Title: "needle(1, 2)", Text: "needles, aneedle, needle_1, néedle, needlé", Metadata: map[string]any{"n": 3}},
		{ID: "d", Text: "第三章 needle 索引\na.b.c == \"x\"\nb'abc'", Metadata: map[string]any{"n": 4}},
	}
	e := open(t, t.TempDir(), engine.Options{NoSync: true})
	add(t, e, docs)
	type found map[string][]int
	for _, c := range []struct {
		q    engine.Query
		want found
	}{
		{engine.Query{Text: "needle(1, 2)"}, found{"c": {1, 3}, "a": {1}}},
		{engine.Query{Text: `"needle(1, 2)"`}, found{"c": {1, 3}, "a": {1}}},
		{engine.Query{Text: `"needle"`}, found{"c": {1, 2, 3}, "a": {1}, "d": {1}}},
		{engine.Query{Text: `"needle" "b.c"`}, found{"d": {1, 2}}},
		{engine.Query{Text: `"needle" -one`}, found{"a": {1}, "d": {1}}},
		{engine.Query{Text: `"needle"`, Plain: true}, nil},
		{engine.Query{Text: "needle", Filter: filter.Eq("n", 4)}, found{"d": {1}}},
		{engine.Query{Text: "索引"}, found{"d": {1}}},
		{engine.Query{Text: "abc", Mode: engine.ModeHybrid}, found{"d": {3}}},
		{engine.Query{Text: `== "x"`, Plain: true}, found{"d": {2}}},
		{engine.Query{Text: "needle", K: 1, Offset: 1}, found{"c": {1, 2, 3}}},
		{engine.Query{Text: "needle", K: 1, Sort: "n desc"}, found{"d": {1}}},
		{engine.Query{Text: "Needle"}, nil},
		{engine.Query{Text: "1, 2)"}, found{"c": {1, 3}, "a": {1}}},
	} {
		c.q.Places = true
		got := found{}
		for _, h := range exactQuery(t, e, c.q).Hits {
			if got[h.ID] = nil; h.Score != 0 {
				t.Errorf("%+v: score %v", c.q, h.Score)
			}
			for _, p := range h.Places {
				if got[h.ID] = append(got[h.ID], p.Line); len(p.Text) > 240 || strings.HasSuffix(p.Text, "\r") || !strings.Contains(long+docs[0].Text+docs[3].Text, p.Text) {
					t.Errorf("%+v: line %d is shown as %q", c.q, p.Line, p.Text)
				}
			}
		}
		if fmt.Sprint(got) != fmt.Sprint(c.want) && len(got)+len(c.want) > 0 {
			t.Errorf("%+v: %v, want %v", c.q, got, c.want)
		}
	}
	for _, q := range []engine.Query{{Text: " "}, {Text: "-one"}, {Like: []string{"a"}}, {Text: "x", Vector: make([]float32, dim)}} {
		q.Places = true
		if _, err := e.Search(t.Context(), q); !errors.Is(err, engine.ErrInvalid) {
			t.Errorf("%+v: %v", q, err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := e.Search(ctx, engine.Query{Text: "needle", Places: true}); !errors.Is(err, context.Canceled) {
		t.Errorf("a cancelled search: %v", err)
	}
}
