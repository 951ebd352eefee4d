package engine_test

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/lexsem/lexsem/engine"
	"github.com/lexsem/lexsem/engine/filter"
)

func upsert(t *testing.T, e *engine.Engine, d ...engine.Document) engine.AddResult {
	t.Helper()
	r, err := e.Upsert(t.Context(), d)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// TestUpsertOfWhatIsStored: equal texts are not encoded again, equal documents not
// written.
func TestUpsertOfWhatIsStored(t *testing.T) {
	e, w := watch(t, engine.Options{ChunkTokens: 40})
	long := strings.Repeat(text(1)+". ", 30)
	own := append(make([]float32, dim-1), 3)
	all := []engine.Document{
		{ID: "plain", Text: text(0)},
		{ID: "meta", Title: "Title", Text: text(1), Metadata: map[string]any{"n": 1, "s": "x"}},
		{ID: "long", Title: "Title", Text: long},
		{ID: "own", Text: "of its own", Vector: own},
	}
	first := upsert(t, e, all...)
	if first.Added != 4 || first.Unchanged != 0 {
		t.Fatalf("%+v", first)
	}
	with := func(i int, change func(d *engine.Document)) engine.Document {
		d := all[i]
		change(&d)
		return d
	}
	before := map[string]engine.Document{}
	for d, err := range e.All(t.Context(), engine.Filter{}) {
		if err != nil {
			t.Fatal(err)
		}
		before[d.ID] = d
	}
	for _, c := range []struct {
		name                         string
		docs                         []engine.Document
		added, replaced, same, texts int
	}{
		{"all as they are", all, 0, 0, 4, 0},
		{"one twice", []engine.Document{all[0], all[0]}, 0, 0, 2, 0},
		{"other metadata", []engine.Document{with(1, func(d *engine.Document) { d.Metadata = map[string]any{"n": 2} }), all[2]}, 0, 1, 1, 0},
		{"metadata back", []engine.Document{all[1]}, 0, 1, 0, 0},
		{"no metadata", []engine.Document{with(1, func(d *engine.Document) { d.Metadata = nil })}, 0, 1, 0, 0},
		{"metadata of a long one", []engine.Document{with(2, func(d *engine.Document) { d.Metadata = map[string]any{"l": 1} })}, 0, 1, 0, 0},
		{"back again", []engine.Document{all[1], all[2]}, 0, 2, 0, 0},
		{"the same vector, of another length", []engine.Document{with(3, func(d *engine.Document) { d.Vector = append(make([]float32, dim-1), 7) })}, 0, 0, 1, 0},
		{"another vector", []engine.Document{with(3, func(d *engine.Document) { d.Vector = append([]float32{1}, make([]float32, dim-1)...) })}, 0, 1, 0, 0},
		{"the vector back, with metadata", []engine.Document{with(3, func(d *engine.Document) { d.Metadata = map[string]any{"o": 1} })}, 0, 1, 0, 0},
		{"and without", []engine.Document{all[3]}, 0, 1, 0, 0},
		{"another title", []engine.Document{with(1, func(d *engine.Document) { d.Title = "Other" })}, 0, 1, 0, 1},
		{"the title back", []engine.Document{all[1]}, 0, 1, 0, 1},
		{"another text", []engine.Document{with(0, func(d *engine.Document) { d.Text += "." }), all[1], {ID: "new", Text: "new"}}, 1, 1, 1, 2},
		{"there and back in one call", []engine.Document{all[0], with(0, func(d *engine.Document) { d.Text += "?" }), all[0]}, 0, 3, 0, 2},
		{"stored, changed, and as stored", []engine.Document{all[0], with(0, func(d *engine.Document) { d.Text += "?" }), all[0]}, 0, 2, 1, 1},
		{"a vector in the place of the encoder's", []engine.Document{with(0, func(d *engine.Document) { d.Vector = own })}, 0, 1, 0, 0},
	} {
		texts := w.texts.Load()
		r := upsert(t, e, c.docs...)
		if n := int(w.texts.Load() - texts); r.Added != c.added || r.Replaced != c.replaced || r.Unchanged != c.same || n != c.texts {
			t.Errorf("%s: %+v, %d texts encoded; want %d added, %d replaced, %d unchanged, %d texts", c.name, r, n, c.added, c.replaced, c.same, c.texts)
		}
		if r.Added+r.Replaced == 0 && r.Seq != search(t, e, engine.Query{Text: "x"}).Trace.Seq {
			t.Errorf("%s: commit %d is not the last", c.name, r.Seq)
		}
	}
	texts := w.texts.Load()
	r := upsert(t, e, with(2, func(d *engine.Document) { d.Breaks = []int{strings.Index(long, ". ") + 2} }))
	if n := int(w.texts.Load() - texts); r.Replaced != 1 || n == 0 || n > r.Chunks { // equal chunks are encoded once
		t.Errorf("cut otherwise: %+v, %d texts encoded", r, w.texts.Load()-texts)
	}
	// The encoder's vector again: delete the one with a vector of its own.
	if _, err := e.Delete(t.Context(), []string{"plain", "new"}); err != nil {
		t.Fatal(err)
	}
	upsert(t, e, all...)
	for id, want := range before {
		d, err := e.Get(t.Context(), id)
		if err != nil || !slices.Equal(d.Vector, want.Vector) || jsonOf(t, d.Metadata) != jsonOf(t, want.Metadata) || d.Text != want.Text {
			t.Errorf("%s is %+v, %v, was %+v", id, d, err, want)
		}
	}
	if v, err := e.Verify(t.Context(), nil); err != nil || len(v.Problems) > 0 {
		t.Errorf("%+v, %v", v, err)
	}
}

// TestReuseWithOtherChunks: a database that is opened with other chunks encodes anew
// what is cut otherwise.
func TestReuseWithOtherChunks(t *testing.T) {
	dir := t.TempDir()
	d := []engine.Document{{ID: "long", Text: strings.Repeat(text(1)+". ", 30)}, {ID: "short", Text: "short"}}
	e := open(t, dir, engine.Options{ChunkTokens: 40})
	was := upsert(t, e, d...)
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	e = open(t, dir, engine.Options{ChunkTokens: 80})
	is := upsert(t, e, d...)
	if is.Replaced != 1 || is.Unchanged != 1 || is.Chunks >= was.Chunks || is.Chunks < 2 {
		t.Errorf("%+v, was %+v", is, was)
	}
}

// TestUnchangedBesideAWriter: two writers set the same two documents to their own text, with
// one more each that never changes. Whoever was last, the two texts agree: a call that
// finds one of them stored already does not leave it to the other.
func TestUnchangedBesideAWriter(t *testing.T) {
	e := open(t, t.TempDir(), engine.Options{NoSync: true})
	var wg sync.WaitGroup
	for w := range 2 {
		wg.Go(func() {
			for range 40 {
				s := fmt.Sprint("of writer ", w)
				upsert(t, e, engine.Document{ID: "a", Text: s}, engine.Document{ID: "b", Text: s}, engine.Document{ID: fmt.Sprint(w), Text: "stays"})
			}
		})
	}
	stop := make(chan struct{})
	read := make(chan struct{})
	go func() {
		defer close(read)
		for {
			select {
			case <-stop:
				return
			default:
			}
			rs, err := e.SearchBatch(t.Context(), []engine.Query{{Text: "writer", K: 10}})
			if err != nil {
				t.Error(err)
				return
			}
			texts := map[string]string{}
			for _, h := range rs[0].Hits {
				texts[h.ID] = h.Text
			}
			if texts["a"] != texts["b"] {
				t.Errorf("%v", texts)
				return
			}
		}
	}()
	wg.Wait()
	close(stop)
	<-read
}

// TestReuseWithoutEncoder: documents with vectors of their own are compared as well.
func TestReuseWithoutEncoder(t *testing.T) {
	e, err := engine.Open(t.Context(), t.TempDir(), nil, engine.Options{Dim: 3})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	d := []engine.Document{
		{ID: "a", Text: "some words", Vector: []float32{1, 2, 3}, Metadata: map[string]any{"n": 1}},
		{ID: "b", Vector: []float32{3, 2, 1}},
	}
	upsert(t, e, d...)
	if r := upsert(t, e, d...); r.Unchanged != 2 || r.Replaced != 0 {
		t.Errorf("%+v", r)
	}
	d[0].Metadata = map[string]any{"n": 2}
	if r := upsert(t, e, d...); r.Unchanged != 1 || r.Replaced != 1 {
		t.Errorf("%+v", r)
	}
	if r := search(t, e, engine.Query{Text: "some words", Mode: engine.ModeLexical, Filter: filter.Eq("n", 2)}); len(r.Hits) != 1 || r.Hits[0].ID != "a" {
		t.Errorf("%+v", r.Hits)
	}
	if v, err := e.Verify(t.Context(), nil); err != nil || len(v.Problems) > 0 {
		t.Errorf("%+v, %v", v, err)
	}
}

// TestBreaks: a long text is cut where its breaks are, and those that cannot be are
// refused by name.
func TestBreaks(t *testing.T) {
	e := open(t, t.TempDir(), engine.Options{ChunkTokens: 60})
	var b strings.Builder
	var breaks []int
	for i := range 30 {
		breaks = append(breaks, b.Len())
		fmt.Fprintf(&b, "func f%d() {\n\treturn value%d. And. More. Sentences. Here\n}\n\n", i, i)
	}
	r := add(t, e, []engine.Document{{ID: "code", Text: b.String(), Breaks: breaks}, {ID: "short", Text: "a short text", Breaks: []int{2, 2, 12}}})
	if r.Chunked != 1 || r.Chunks < 3 {
		t.Fatalf("%+v", r)
	}
	for _, h := range search(t, e, engine.Query{Text: "func", K: 100, PerChunk: true}).Hits {
		if h.ID == "code" && (!slices.Contains(breaks, h.Start) || !strings.HasSuffix(h.Text, "}")) {
			t.Errorf("chunk %d: %q", h.Chunk, h.Text)
		}
	}
	for _, bad := range [][]int{{-1}, {1, 10}, {4}, {5, 3}} {
		_, err := e.Add(t.Context(), []engine.Document{{ID: "ok", Text: "fine"}, {ID: "bad", Text: "abcé €", Breaks: bad}})
		var one *engine.DocumentError
		if !errors.Is(err, engine.ErrInvalid) || !errors.As(err, &one) || one.Position != 1 || !strings.Contains(err.Error(), "break") {
			t.Errorf("%v: %v", bad, err)
		}
	}
}

// TestReuseCountsTruncationOnce: tokens that were cut off are counted as they were.
func TestReuseCountsTruncationOnce(t *testing.T) {
	e := open(t, t.TempDir(), engine.Options{ChunkTokens: -1})
	d := []engine.Document{{ID: "a", Text: strings.Repeat("word ", 3000)}, {ID: "own", Text: strings.Repeat("word ", 3000), Vector: append(make([]float32, dim-1), 3)}}
	first := upsert(t, e, d...)
	if first.Truncated != 2 || first.TruncatedTokens < 4000 {
		t.Fatalf("%+v", first)
	}
	for i := range 3 {
		for j := range d {
			d[j].Metadata = map[string]any{"i": i}
		}
		if r := upsert(t, e, d...); r.Replaced != 2 || r.Truncated != 2 || r.TruncatedTokens != first.TruncatedTokens {
			t.Fatalf("%+v, at first %+v", r, first)
		}
	}
}

// TestEditedTextKeepsItsPassages: of a long text that was edited, what an edit leaves is not encoded again, and the
// database is as if all had been, with token states and without.
func TestEditedTextKeepsItsPassages(t *testing.T) {
	t.Parallel()
	const parts = 12
	doc := func(edit func(i int) string) engine.Document {
		d := engine.Document{ID: "long", Title: "Title"}
		for i := range parts {
			d.Breaks = append(d.Breaks, len(d.Text))
			d.Text += edit(i) + strings.Repeat(text(i)+fmt.Sprintf(" %d. ", i), 12)
		}
		d.Breaks = d.Breaks[1:]
		return d
	}
	was := doc(func(int) string { return "" })
	is := doc(func(i int) string { return strings.Repeat("Edited. ", i%6/5) })
	for mode, keeps := range map[string]bool{engine.TokenStatesOn: true, engine.TokenStatesOff: false} {
		e, w := watch(t, engine.Options{ChunkTokens: 60, TokenStates: mode})
		fill := docs(0, 300) // enough tokens for a basis
		add(t, e, fill)
		first := upsert(t, e, was)
		texts := w.texts.Load()
		next := upsert(t, e, is)
		if n := int(w.texts.Load() - texts); next.Replaced != 1 || n < 2 || n > next.Chunks/3 {
			t.Errorf("%s: %d of %d passages encoded for an edit of 2 parts of %d", mode, n, next.Chunks, parts)
		}
		fresh, _ := watch(t, engine.Options{ChunkTokens: 60, TokenStates: mode})
		add(t, fresh, fill)
		if again := upsert(t, fresh, is); again.Chunks != next.Chunks || next.Chunks < first.Chunks {
			t.Errorf("%s: %+v, anew %+v", mode, next, again)
		}
		for _, q := range []engine.Query{{Text: "edited"}, {Text: text(5)}, {Text: text(3), Mode: engine.ModeDense}} {
			got, want := search(t, e, q), search(t, fresh, q)
			if len(got.Hits) != len(want.Hits) {
				t.Fatalf("%s: %d hits, anew %d", mode, len(got.Hits), len(want.Hits))
			}
			for i := range got.Hits {
				if g, w := got.Hits[i], want.Hits[i]; g.ID != w.ID || g.Chunk != w.Chunk || g.Cosine != w.Cosine || g.TokenScore != w.TokenScore || math.Abs(float64(g.Score-w.Score)) > 1e-5 {
					t.Errorf("%s: %q: hit %d is %+v, anew %+v", mode, q.Text, i, g, w)
				}
			}
		}
		s, err := e.Stats(t.Context())
		if err != nil || keeps != (s.TokenStates.Chunks == s.Chunks) || !keeps && s.TokenStates.Chunks > 0 {
			t.Errorf("%s: %d of %d chunks with token states, %v", mode, s.TokenStates.Chunks, s.Chunks, err)
		}
		if v, err := e.Verify(t.Context(), nil); err != nil || len(v.Problems) > 0 {
			t.Errorf("%s: %+v, %v", mode, v, err)
		}
	}
}

// TestEditGetsTokenStates: passages that have no token states are encoded again where these are wanted, and lose theirs
// where they are not.
func TestEditGetsTokenStates(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	d := engine.Document{ID: "long"}
	for i := range 12 {
		d.Text += strings.Repeat(text(i)+". ", 20)
	}
	for _, mode := range []string{engine.TokenStatesOff, engine.TokenStatesOn, engine.TokenStatesOff} {
		e := open(t, dir, engine.Options{ChunkTokens: 60, TokenStates: mode})
		d.Text += text(99) + " " + mode
		r := upsert(t, e, d)
		s, err := e.Stats(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		got := s.TokenStates.Chunks
		if want := map[bool]int{true: r.Chunks}[mode == engine.TokenStatesOn]; got != want || r.Chunks < 9 {
			t.Errorf("%s: %d of %d chunks have token states, want %d", mode, got, r.Chunks, want)
		}
		if err := e.Close(); err != nil {
			t.Fatal(err)
		}
	}
}
