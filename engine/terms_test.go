package engine_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/lexsem/lexsem/encoder"
	"github.com/lexsem/lexsem/engine"
	"github.com/lexsem/lexsem/internal/vec"
	"github.com/lexsem/lexsem/store"
)

// worded is document i, with a vector of the caller's that leans towards the
// directions of its words, of which some are its own.
func worded(seed uint64, i int) engine.Document {
	r := rand.New(rand.NewPCG(seed, uint64(i)))
	v := make([]float32, dim)
	for j := range v {
		v[j] = float32(r.NormFloat64())
	}
	words := []string{fmt.Sprint("only", i)}
	for range 6 {
		n := r.IntN(60)
		words = append(words, fmt.Sprint("topic", n))
		lean := rand.New(rand.NewPCG(3, uint64(n)))
		for j := range v {
			v[j] += 2 * float32(lean.NormFloat64())
		}
	}
	return engine.Document{ID: fmt.Sprint("d", i), Title: words[0], Text: strings.Join(words[1:], " "), Vector: v}
}

// modulates checks that queries are turned by their words as in a database that was
// made at once of the documents given, in another order.
func modulates(t *testing.T, what string, e *engine.Engine, all map[string]engine.Document) {
	t.Helper()
	var d []engine.Document
	for _, doc := range all {
		d = append(d, doc)
	}
	slices.SortFunc(d, func(a, b engine.Document) int { return strings.Compare(b.Text, a.Text) })
	fresh := openWith(t, t.TempDir(), nil, engine.Options{Dim: dim})
	defer closeIt(t, fresh)
	add(t, fresh, d)
	for _, x := range []*engine.Engine{e, fresh} {
		if err := x.Flush(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if s, err := e.Stats(t.Context()); err != nil || s.Documents != len(all) {
		t.Fatalf("%s: %d documents, want %d, %v", what, s.Documents, len(all), err)
	}
	turned := 0
	for i := range 12 {
		q := engine.Query{Vector: worded(77, i).Vector, Text: fmt.Sprintf("Topic%d and topic%d or %s", i, i*5, d[i*len(d)/12].Title)}
		got, trace, err := e.Vector(t.Context(), q)
		if err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		want, _, err := fresh.Vector(t.Context(), q)
		if err != nil {
			t.Fatal(err)
		}
		if c := vec.Dot(got, want); c < .99999 {
			t.Fatalf("%s: the query %q is turned otherwise than by a fresh database: cosine %v", what, q.Text, c)
		}
		if trace.Variant != "rlr" || trace.Tokens < 1 {
			t.Fatalf("%s: %+v", what, trace)
		}
		if trace.Turned < .999 {
			turned++
		}
	}
	if turned < 8 {
		t.Fatalf("%s: only %d of 12 queries are turned", what, turned)
	}
}

// TestTermsModulate: without an encoder the words of texts are what RLR knows of
// them, and whatever came and went, by whatever way the database was opened, it
// knows it as a fresh one does.
func TestTermsModulate(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	e := openWith(t, dir, nil, engine.Options{Dim: dim})
	r := rand.New(rand.NewPCG(5, 5))
	all := map[string]engine.Document{}
	change := func(n int) {
		for range n {
			var d []engine.Document
			at := r.IntN(400)
			for i := at; i < at+1+r.IntN(30); i++ {
				x := worded(r.Uint64N(3), i)
				d = append(d, x)
				all[x.ID] = x
			}
			if _, err := e.Upsert(t.Context(), d); err != nil {
				t.Fatal(err)
			}
			// What is refused leaves no term behind that could be taken for another.
			bad := []engine.Document{{ID: "bad", Text: fmt.Sprint("refused", n, r.Uint64()), Vector: d[0].Vector}, {ID: d[0].ID, Vector: d[0].Vector}}
			if _, err := e.Add(t.Context(), bad); err == nil {
				t.Fatal("a document was added twice")
			}
			for id := range all {
				if r.IntN(20) == 0 {
					delete(all, id)
					if _, err := e.Delete(t.Context(), []string{id}); err != nil {
						t.Fatal(err)
					}
				}
			}
		}
	}
	change(25)
	modulates(t, "as filled", e, all)
	if err := e.Compact(t.Context()); err != nil {
		t.Fatal(err)
	}
	change(3)
	modulates(t, "compacted", e, all)

	killed := t.TempDir()
	if err := os.CopyFS(killed, os.DirFS(dir)); err != nil {
		t.Fatal(err)
	}
	k := openWith(t, killed, nil, engine.Options{})
	modulates(t, "copied while open", k, all)
	closeIt(t, k)

	closeIt(t, e)
	e = openWith(t, dir, nil, engine.Options{})
	change(3)
	modulates(t, "reopened", e, all)
	closeIt(t, e)
	if err := os.RemoveAll(dir + "/derived"); err != nil {
		t.Fatal(err)
	}
	e = openWith(t, dir, nil, engine.Options{})
	modulates(t, "rebuilt", e, all)
	change(2)
	if rep, err := e.Verify(t.Context(), nil); err != nil || len(rep.Problems) > 0 {
		t.Errorf("%v, %v", rep.Problems, err)
	}
	d := all[slices.Sorted(maps.Keys(all))[0]]
	q := engine.Query{Vector: d.Vector, Text: d.Title, Mode: engine.ModeDense, Variant: engine.VariantLocal}
	search(t, e, q) // asks for local bridges
	if err := e.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if res := search(t, e, q); res.Trace.Variant != engine.VariantLocal || res.Trace.Tokens != 1 || res.Hits[0].ID != d.ID {
			t.Errorf("local bridges: %+v find %v, want %s", res.Trace, ids(res), d.ID)
		}
		x, err := e.Explain(t.Context(), engine.Query{Vector: d.Vector, Text: "the " + d.Title}, d.ID)
		if err != nil || len(x.Tokens) != 1 || x.Tokens[0].Token != d.Title || x.Tokens[0].Start != 4 {
			t.Errorf("explained as %+v, %v", x.Tokens, err)
		}
		closeIt(t, e)
		e = openWith(t, dir, nil, engine.Options{})
	}
	closeIt(t, e)
}

// A source without a tokenizer gets the same, and its long texts in chunks where
// they are asked for.
func TestTermsOfASource(t *testing.T) {
	s := &source{}
	e := openWith(t, t.TempDir(), s.encoder("mine"), engine.Options{ChunkTokens: 32})
	defer closeIt(t, e)
	add(t, e, docs(0, 300))
	long := engine.Document{ID: "long", Text: strings.Repeat("Some sentence without much in it. ", 30) + "The flamingo stands here. " + strings.Repeat("More of the same follows. ", 30)}
	if r := add(t, e, []engine.Document{long}); r.Chunked != 1 || r.Chunks < 10 {
		t.Errorf("%+v", r)
	}
	if err := e.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	plain := search(t, e, engine.Query{Text: "item900 topic3", Mode: engine.ModeDense, Variant: engine.VariantNone})
	moved := search(t, e, engine.Query{Text: "item900 topic3", Mode: engine.ModeDense})
	if plain.Trace.Turned != 1 || moved.Trace.Variant != "rlr" || !(moved.Trace.Turned < .999) || moved.Trace.Lexical < 1 {
		t.Errorf("plain %+v, by rlr %+v", plain.Trace, moved.Trace)
	}
	if r := search(t, e, engine.Query{Text: "flamingo"}); r.Hits[0].ID != "long" || !strings.Contains(r.Hits[0].Text, "flamingo") {
		t.Errorf("finds %v", ids(r))
	}
	if _, err := e.Search(t.Context(), engine.Query{Text: "words", Variant: "llr-full"}); err == nil {
		t.Error("a variant of the states of tokens was served")
	}
}

// A database whose vocabulary does not have its documents' terms is damaged: their
// numbers would be given anew.
func TestTermsWithoutVocabulary(t *testing.T) {
	dir := t.TempDir()
	s, err := store.Open(dir, store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.SetManifest(t.Context(), func(m *store.Manifest) (err error) {
		m.Dim, m.Metric = 2, "cosine"
		m.Encoder, err = json.Marshal(encoder.Fingerprint{Dim: 2})
		return err
	}); err != nil {
		t.Fatal(err)
	}
	b, err := s.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	_, err = b.Put(t.Context(), &store.Document{ID: "a", Text: "x", Rows: []store.Row{{End: 1, Vector: []float32{1, 0}, Tokens: []int32{4}}}})
	if err == nil {
		err = b.AddTerms(t.Context(), 0, []string{"one", "two", "three", "four"})
	}
	if err == nil {
		_, err = b.Commit(t.Context())
	}
	if err = errors.Join(err, s.Close()); err != nil {
		t.Fatal(err)
	}
	if e, err := engine.Open(t.Context(), dir, nil, engine.Options{}); !errors.Is(err, engine.ErrCorrupt) || !strings.Contains(err.Error(), "number 4") {
		t.Errorf("opened with %v", err)
		if e != nil {
			closeIt(t, e)
		}
	}
}

// killTerms makes the writer that TestKillTerms kills.
const killTerms = "LEXSEM_TEST_KILL_TERMS"

// writeTerms upserts documents with vectors of their own for ever.
func writeTerms(dir string) error {
	ctx := context.Background()
	e, err := engine.Open(ctx, dir, nil, engine.Options{Dim: dim})
	if err != nil {
		return err
	}
	s, err := e.Stats(ctx)
	if err != nil {
		return err
	}
	fmt.Println("open", s.Documents)
	for at := s.Documents; ; at += 7 {
		var d []engine.Document
		for i := at; i < at+7; i++ {
			d = append(d, worded(1, i))
		}
		if _, err := e.Add(ctx, d); err != nil {
			return err
		}
		fmt.Println("ack", at, at+7)
		if at > 2000 {
			time.Sleep(time.Hour) // until the kill
		}
	}
}

// TestKillTerms kills a writer of a database without an encoder: the vocabulary is
// that of the batches that are there.
func TestKillTerms(t *testing.T) {
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv(killTerms, "1")
	dir, live := t.TempDir(), map[int]bool{}
	for round, after := range []int{10, 25, 0} {
		killOne(t, exe, dir, after, 5*time.Millisecond, live)
		e := openWith(t, dir, nil, engine.Options{})
		s, err := e.Stats(t.Context())
		if err != nil || s.Documents%7 != 0 || s.Documents < len(live) || s.Documents > len(live)+7 {
			t.Fatalf("%d documents where %d were acknowledged, %v", s.Documents, len(live), err)
		}
		all := map[string]engine.Document{}
		for i := range s.Documents {
			live[i] = true
			d := worded(1, i)
			all[d.ID] = d
		}
		if len(all) > 100 {
			modulates(t, fmt.Sprint("round ", round), e, all)
		}
		if r, err := e.Verify(t.Context(), nil); err != nil || len(r.Problems) > 0 {
			t.Errorf("%v, %v", r.Problems, err)
		}
		closeIt(t, e)
	}
}
