package engine_test

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/lexsem/lexsem/engine"
	"github.com/lexsem/lexsem/engine/filter"
)

// long makes a text of n sentences; the words of sentence i are its own.
func long(name string, n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "Sentence %s%d speaks of matter%d and of %sthing%d here. ", name, i, i%17, name, i)
	}
	return strings.TrimSpace(b.String())
}

var small = engine.Options{ChunkTokens: 60}

func chunked(t *testing.T, dir string) *engine.Engine {
	t.Helper()
	e := open(t, dir, small)
	r := add(t, e, []engine.Document{
		{ID: "a", Title: "Alpha", Text: long("alpha", 80), Metadata: map[string]any{"n": 1}},
		{ID: "b", Text: long("beta", 50), Metadata: map[string]any{"n": 2}},
		{ID: "c", Text: "A short text of its own.", Metadata: map[string]any{"n": 3}},
	})
	if r.Added != 3 || r.Chunked != 2 || r.Chunks < 20 || r.Truncated != 0 {
		t.Fatalf("%+v", r)
	}
	return e
}

// holds checks what must be true of the three documents however the derived
// state came to be.
func holds(t *testing.T, e *engine.Engine) {
	t.Helper()
	for name, n := range map[string]int{"alpha": 80, "beta": 50} {
		for _, i := range []int{0, 7, n / 2, n - 1} {
			r := search(t, e, engine.Query{Text: fmt.Sprintf("%s%d %sthing%d", name, i, name, i), K: 3})
			h := r.Hits[0]
			if h.ID != name[:1] || !strings.Contains(h.Text, fmt.Sprintf("%sthing%d ", name, i)) || h.Chunks < 2 || h.Chunk >= h.Chunks {
				t.Fatalf("%s %d: hit %s, chunk %d of %d: %.60q", name, i, h.ID, h.Chunk, h.Chunks, h.Text)
			}
			d, err := e.Get(t.Context(), h.ID)
			if err != nil || d.Text[h.Start:h.End] != h.Text || d.Vector != nil || d.Text != long(name, n) {
				t.Fatalf("%s: get: %v", h.ID, err)
			}
			got := ids(r)
			slices.Sort(got)
			if !slices.Equal(got, []string{"a", "b", "c"}) || r.Trace.Documents != 3 {
				t.Fatalf("%v is not grouped by document", got)
			}
		}
	}
	h := search(t, e, engine.Query{Text: "a short text of its own", K: 1}).Hits[0]
	if h.ID != "c" || h.Chunks != 1 || h.Chunk != 0 || h.Start != 0 || h.End != len(h.Text) {
		t.Fatalf("%+v", h)
	}
	s, err := e.Stats(t.Context())
	if err != nil || s.Documents != 3 || s.Chunks < 20 || s.Truncated != 0 {
		t.Fatalf("%+v, %v", s, err)
	}
	v, err := e.Verify(t.Context(), nil)
	if err != nil || len(v.Problems) > 0 || v.SelfRecall != 1 {
		t.Fatalf("%+v, %v", v, err)
	}
}

func TestLongDocumentsAreChunked(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"flat-int8", "hnsw-int8"} {
		t.Run(kind, func(t *testing.T) {
			dir := t.TempDir()
			small := small
			small.Index = kind
			e := chunked(t, dir)
			holds(t, e)
			for i := range 2 { // from the snapshots; then, without them, from the store
				if err := e.Close(); err != nil {
					t.Fatal(err)
				}
				files, err := filepath.Glob(filepath.Join(dir, "derived", "*.snap"))
				if err != nil || len(files) == 0 {
					t.Fatal(files, err)
				}
				for _, f := range files {
					if i == 1 {
						err = errors.Join(err, os.Remove(f))
					}
				}
				if err != nil {
					t.Fatal(err)
				}
				e = open(t, dir, small)
				holds(t, e)
			}
		})
	}
}

func TestEveryChunkIsAHitWhenAsked(t *testing.T) {
	t.Parallel()
	e := chunked(t, t.TempDir())
	s, err := e.Stats(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, mode := range []string{engine.ModeDense, engine.ModeHybrid} {
		r := search(t, e, engine.Query{Text: "speaks of matter3", Mode: mode, K: 100, PerChunk: true})
		seen := map[string]bool{}
		for _, h := range r.Hits {
			seen[fmt.Sprint(h.ID, h.Chunk)] = true
		}
		if len(r.Hits) != s.Chunks || len(seen) != s.Chunks {
			t.Fatalf("%s: %d hits, %d different ones, of %d chunks", mode, len(r.Hits), len(seen), s.Chunks)
		}
	}
	// A filter speaks of documents, and min(k, documents that meet it) come.
	for _, mode := range []string{engine.ModeDense, engine.ModeHybrid, engine.ModeLexical} {
		r := search(t, e, engine.Query{Text: "speaks of matter3", Mode: mode, K: 5, Filter: filter.Le("n", 2)})
		got := ids(r)
		slices.Sort(got)
		if !slices.Equal(got, []string{"a", "b"}) || r.Trace.Filtered != 2 {
			t.Fatalf("%s: %v, %d filtered", mode, got, r.Trace.Filtered)
		}
	}
}

// TestGroupingLooksDeeper: one document has far more good chunks than a leg
// names candidates; the others are found all the same.
func TestGroupingLooksDeeper(t *testing.T) {
	t.Parallel()
	e := open(t, t.TempDir(), engine.Options{ChunkTokens: 20, NoSync: true})
	d := []engine.Document{{ID: "big", Text: strings.Repeat("The common words of all texts stand here again. ", 2000)}}
	for i := range 30 {
		d = append(d, engine.Document{ID: fmt.Sprint("s", i), Text: fmt.Sprintf("Some common words and other%d ones", i)})
	}
	add(t, e, d)
	for _, mode := range []string{engine.ModeDense, engine.ModeLexical, engine.ModeHybrid} {
		r := search(t, e, engine.Query{Text: "the common words of all texts", Mode: mode, K: 31})
		got := ids(r)
		slices.Sort(got)
		if len(slices.Compact(got)) != 31 {
			t.Fatalf("%s: %d documents", mode, len(got))
		}
	}
}

func TestChunksGoTogether(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	e := chunked(t, dir)
	r, err := e.Upsert(t.Context(), []engine.Document{{ID: "a", Text: "Nothing but this is left."}, {ID: "b", Text: long("gamma", 70)}})
	if err != nil || r.Replaced != 2 || r.Chunked != 1 {
		t.Fatalf("%+v, %v", r, err)
	}
	check := func() {
		t.Helper()
		for _, h := range search(t, e, engine.Query{Text: "alphathing7 betathing9", Mode: engine.ModeLexical, K: 10}).Hits {
			t.Errorf("%s %.60q is found after it was replaced", h.ID, h.Text)
		}
		if h := search(t, e, engine.Query{Text: "gammathing44", K: 1}).Hits[0]; h.ID != "b" || !strings.Contains(h.Text, "gammathing44") {
			t.Errorf("%s %q", h.ID, h.Text)
		}
	}
	check()
	if n, err := e.Delete(t.Context(), []string{"b"}); n != 1 || err != nil {
		t.Fatal(n, err)
	}
	s, err := e.Stats(t.Context())
	if err != nil || s.Documents != 2 || s.Chunks != 2 {
		t.Fatalf("%+v, %v", s, err)
	}
	if _, err := e.Get(t.Context(), "b"); !errors.Is(err, engine.ErrNotFound) {
		t.Fatal(err)
	}
	if r := search(t, e, engine.Query{Text: "gammathing44", Mode: engine.ModeLexical}); len(r.Hits) > 0 {
		t.Fatalf("%v after the delete", ids(r))
	}
}

// TestChunkedLegsFollowTheCorpus: after random adds, updates and deletes of
// short and long documents, with the database opened again in between, all legs
// answer as those of a database made afresh of what is left.
func TestChunkedLegsFollowTheCorpus(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(8, 8))
	dir := t.TempDir()
	e, err := engine.Open(t.Context(), dir, hash(t), small)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { e.Close() }()
	left := map[string]string{}
	for round := range 25 {
		var batch []engine.Document
		for range 1 + rng.IntN(5) {
			id, body := fmt.Sprint("x", rng.IntN(25)), text(rng.IntN(300))
			if rng.IntN(2) == 0 {
				body = long(fmt.Sprint("w", rng.IntN(9)), 1+rng.IntN(60))
			}
			batch = append(batch, engine.Document{ID: id, Text: body})
			left[id] = body
		}
		if _, err := e.Upsert(t.Context(), batch); err != nil {
			t.Fatal(err)
		}
		id := fmt.Sprint("x", rng.IntN(25))
		if _, err := e.Delete(t.Context(), []string{id}); err != nil {
			t.Fatal(err)
		}
		delete(left, id)
		if round%6 == 5 {
			if err := e.Close(); err != nil {
				t.Fatal(err)
			}
			if e, err = engine.Open(t.Context(), dir, hash(t), small); err != nil {
				t.Fatal(err)
			}
		}
	}
	fresh := open(t, t.TempDir(), small)
	var all []engine.Document
	for id, body := range left {
		all = append(all, engine.Document{ID: id, Text: body})
	}
	add(t, fresh, all)
	chunks := func(r engine.Result) map[string]float32 {
		m := map[string]float32{}
		for _, h := range r.Hits {
			m[fmt.Sprint(h.ID, " ", h.Chunk, " ", h.Text)] = h.Score
		}
		return m
	}
	for i := range 12 {
		for _, mode := range []string{engine.ModeDense, engine.ModeLexical, engine.ModeHybrid} {
			q := engine.Query{Text: fmt.Sprintf("w%d%d speaks of matter%d", i%9, i, i), Mode: mode, K: 2000, PerChunk: true}
			a, b := chunks(search(t, e, q)), chunks(search(t, fresh, q))
			if len(a) != len(b) || len(a) < 10 {
				t.Fatalf("%s: %d hits, %d in a fresh database", mode, len(a), len(b))
			}
			// Vectors of local bridges are longer than one, and their rounding with them.
			scale := 1.0
			for _, s := range a {
				scale = max(scale, math.Abs(float64(s)))
			}
			for key, s := range a {
				if d := math.Abs(float64(s - b[key])); d > 2e-5*scale {
					t.Fatalf("%s, %.80s: score %v, %v in a fresh database", mode, key, s, b[key])
				}
			}
		}
	}
}

func TestCollapse(t *testing.T) {
	t.Parallel()
	e := open(t, t.TempDir(), engine.Options{})
	base := "The quick brown fox jumps over the lazy dog while seven wizards quietly mix several strange potions in old copper kettles beside the frozen northern river"
	add(t, e, append(docs(0, 20),
		engine.Document{ID: "one", Text: base},
		engine.Document{ID: "same", Text: base + "."},
		engine.Document{ID: "near", Text: strings.Replace(base, "frozen", "muddy", 1)},
		engine.Document{ID: "far", Text: "A fox and a dog met wizards by the river"},
	))
	plain := search(t, e, engine.Query{Text: base, K: 4})
	if len(plain.Hits) != 4 || plain.Hits[3].ID != "far" {
		t.Fatalf("%v", ids(plain))
	}
	r := search(t, e, engine.Query{Text: base, K: 4, Collapse: true})
	if len(r.Hits) != 4 || r.Hits[1].ID != "far" {
		t.Fatalf("%v", ids(r))
	}
	got := append([]string{r.Hits[0].ID}, r.Hits[0].Duplicates...)
	slices.Sort(got)
	if !slices.Equal(got, []string{"near", "one", "same"}) || len(r.Hits[1].Duplicates) > 0 {
		t.Fatalf("%v", got)
	}
}

func TestFitOnChunks(t *testing.T) {
	t.Parallel()
	e := chunked(t, t.TempDir())
	s, err := e.Stats(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	r, err := e.Fit(t.Context(), engine.FitOptions{QueriesPerPassage: 4, Epochs: 1})
	if err != nil || r.Passages != s.Chunks {
		t.Fatalf("%+v, %v: %d chunks", r, err, s.Chunks)
	}
	holds(t, e)
	if s, err = e.Stats(t.Context()); err != nil || s.Bridges[0].Unfitted != 0 {
		t.Fatalf("%+v, %v", s.Bridges, err)
	}
	if _, err := e.Upsert(t.Context(), []engine.Document{{ID: "b", Text: long("delta", 60)}}); err != nil {
		t.Fatal(err)
	}
	if s, err = e.Stats(t.Context()); err != nil || s.Bridges[0].Unfitted != 1 {
		t.Fatalf("%+v, %v", s.Bridges, err)
	}
}

// TestLongTitle: a title longer than what the encoder reads leaves every chunk
// room for its own part of the text, and what of it no vector stands for is
// counted once.
func TestLongTitle(t *testing.T) {
	e := open(t, t.TempDir(), engine.Options{})
	var text strings.Builder
	for _, word := range []string{"apple", "river", "quartz", "violin", "hammer", "winter"} {
		text.WriteString(strings.Repeat("One more "+word+". ", 60))
	}
	r, err := e.Add(t.Context(), []engine.Document{{ID: "long", Title: strings.Repeat("heading ", 2000), Text: text.String()}})
	if err != nil || r.Chunked != 1 || r.Truncated != 1 || r.TruncatedTokens < 1500 || r.TruncatedTokens > 2000 {
		t.Fatalf("%+v, %v", r, err)
	}
	chunks := search(t, e, engine.Query{Text: "more", PerChunk: true}).Hits
	if len(chunks) != r.Chunks || r.Chunks < 3 {
		t.Fatalf("%d of %d chunks found", len(chunks), r.Chunks)
	}
	for _, c := range chunks {
		h := search(t, e, engine.Query{Text: c.Text, K: 1, Mode: engine.ModeDense, Variant: "none", PerChunk: true}).Hits[0]
		if h.Chunk != c.Chunk {
			t.Errorf("the words of chunk %d found chunk %d", c.Chunk, h.Chunk)
		}
	}
}

// TestCollapseOfSeveral: near-duplicates of several texts are folded each into its
// own, and texts that share less than four fifths of their pairs into none.
func TestCollapseOfSeveral(t *testing.T) {
	t.Parallel()
	e := open(t, t.TempDir(), engine.Options{})
	var d, copied, far []engine.Document // in this order, so that each fold is looked for among many
	for g := range 12 {
		words := make([]string, 50)
		for i := range words {
			words[i] = fmt.Sprintf("g%dw%d", g, i)
		}
		words[0] = "common"
		d = append(d, engine.Document{ID: fmt.Sprint(g), Text: strings.Join(words, " ")})
		for copies := range 3 {
			w := slices.Clone(words)
			w[10+copies] = "zother" // 46 of 52 pairs in common, .88
			copied = append(copied, engine.Document{ID: fmt.Sprint(g, "-", copies), Text: strings.Join(w, " ")})
		}
		for kind, n := range map[string]int{"far": 6, "below": 3} { // 37 of 61 pairs, .61; 43 of 55, .78
			w := slices.Clone(words)
			for i := range n {
				w[5+7*i] = "z" + kind
			}
			far = append(far, engine.Document{ID: fmt.Sprint(g, "-", kind), Text: strings.Join(w, " ")})
		}
	}
	add(t, e, slices.Concat(d, copied, far))
	r := search(t, e, engine.Query{Text: "common", K: 100, Collapse: true, Mode: engine.ModeLexical})
	folded := 0
	for _, h := range r.Hits {
		group, kind, _ := strings.Cut(h.ID, "-")
		if kind == "far" || kind == "below" {
			if len(h.Duplicates) > 0 {
				t.Errorf("%s has duplicates %v", h.ID, h.Duplicates)
			}
			continue
		}
		for _, id := range h.Duplicates {
			if other, far, _ := strings.Cut(id, "-"); other != group || far == "far" || far == "below" {
				t.Errorf("%s is folded into %s", id, h.ID)
			}
		}
		folded += len(h.Duplicates)
	}
	if len(r.Hits) != 36 || folded != 36 {
		t.Errorf("%d hits with %d duplicates, want 36 with 36", len(r.Hits), folded)
	}
}

// Of documents with equal chunks the one is found first whose next chunk has the rest of the query, and the hit is the
// chunk that has most of it.
func TestWordsOfNeighbours(t *testing.T) {
	t.Parallel()
	e := open(t, t.TempDir(), engine.Options{ChunkTokens: 40})
	fill := strings.Repeat("Nothing of this is asked for by anybody here. ", 2)
	add(t, e, []engine.Document{
		{ID: "some", Text: "Crimson lanterns and gables. " + fill + fill + fill},
		{ID: "far", Text: "Crimson lanterns and gables. " + strings.Repeat(fill, 4) + "Copper walrus."},
		{ID: "spread", Text: "Crimson lanterns and gables. " + fill + "Copper walrus. " + fill},
	})
	for _, perChunk := range []bool{false, true} {
		r := search(t, e, engine.Query{Text: "crimson lanterns gables copper walrus", Variant: "none", K: 20, PerChunk: perChunk})
		if h := r.Hits[0]; h.ID != "spread" || !strings.Contains(h.Text, "Crimson") {
			t.Errorf("first %s: %q", h.ID, h.Text)
		}
		x, err := e.Explain(t.Context(), engine.Query{Text: "crimson lanterns gables copper walrus", Variant: "none"}, "spread")
		if err != nil || x.Score != r.Hits[0].Score || x.Presence > 0.7 {
			t.Errorf("explained: %v %v, found: %v, %v", x.Score, x.Presence, r.Hits[0].Score, err)
		}
	}
}
