package lexsem_test

import (
	"context"
	"errors"
	"math"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/tmc/langchaingo/schema"
	"github.com/tmc/langchaingo/vectorstores"

	"github.com/lexsem/lexsem/encoder"
	"github.com/lexsem/lexsem/engine"
	"github.com/lexsem/lexsem/engine/adapters/internal/adapttest"
	lexsem "github.com/lexsem/lexsem/engine/adapters/langchaingo"
	"github.com/lexsem/lexsem/engine/filter"
)

// The tests below ask what the tests of LangChainGo's own stores ask (pgvector's and
// chroma's; there is no common suite): searches by meaning, thresholds and their bounds,
// scores, dimensions, namespaces, filters that select, that exclude and that are
// wrong, deduplication, all options at once, and a chain over a retriever.

func open(t *testing.T, enc encoder.Encoder, o engine.Options) *engine.Engine {
	t.Helper()
	return adapttest.Open(t, t.TempDir(), enc, o)
}

func hashed(t *testing.T) *engine.Engine { return open(t, encoder.NewHash(64), engine.Options{}) }

func add(t *testing.T, s *lexsem.Store, docs []schema.Document, opts ...vectorstores.Option) []string {
	t.Helper()
	ids, err := s.AddDocuments(t.Context(), docs, opts...)
	if err != nil {
		t.Fatal(err)
	}
	return ids
}

func search(t *testing.T, s *lexsem.Store, query string, k int, opts ...vectorstores.Option) []schema.Document {
	t.Helper()
	docs, err := s.SimilaritySearch(t.Context(), query, k, opts...)
	if err != nil {
		t.Fatal(err)
	}
	return docs
}

func contents(docs []schema.Document) []string {
	var all []string
	for _, d := range docs {
		all = append(all, d.PageContent)
	}
	slices.Sort(all)
	return all
}

var desks = []schema.Document{
	{PageContent: "The color of the lamp beside the desk is black.", Metadata: map[string]any{"location": "kitchen", "square_feet": 100}},
	{PageContent: "The color of the lamp beside the desk is blue.", Metadata: map[string]any{"location": "bedroom", "square_feet": 300}},
	{PageContent: "The color of the lamp beside the desk is orange.", Metadata: map[string]any{"location": "sitting room", "square_feet": 400}},
	{PageContent: "A whale is a mammal of the sea.", Metadata: map[string]any{"location": "sea", "square_feet": 1e9}},
}

func TestSearch(t *testing.T) {
	s := lexsem.New(hashed(t))
	ids := add(t, s, desks)
	if len(ids) != len(desks) || ids[0] == ids[1] {
		t.Fatalf("ids %q", ids)
	}
	docs := search(t, s, "which mammal lives in the sea", 1)
	if len(docs) != 1 || docs[0].PageContent != desks[3].PageContent || docs[0].Metadata["location"] != "sea" || docs[0].Metadata["square_feet"] != 1e9 {
		t.Errorf("found %v", docs)
	}
	if len(docs[0].Metadata) != 2 {
		t.Errorf("metadata came back as %v", docs[0].Metadata)
	}
	docs = search(t, s, "lamp", 3)
	if len(docs) != 3 || !slices.IsSortedFunc(docs, func(a, b schema.Document) int { return int(math.Copysign(1, float64(b.Score-a.Score))) }) {
		t.Errorf("%d documents, or not best first: %v", len(docs), docs)
	}
	if docs[0].Score <= docs[2].Score-1e-6 || docs[0].Score <= 0 {
		t.Errorf("scores %v and %v", docs[0].Score, docs[2].Score)
	}
	// What is added again takes its own place.
	if again := add(t, s, desks); !slices.Equal(again, ids) {
		t.Errorf("the same documents have the ids %q and %q", ids, again)
	}
	if docs := search(t, s, "lamp", 10); len(docs) != len(desks) {
		t.Errorf("%d documents after adding %d twice", len(docs), len(desks))
	}
	if _, err := s.SimilaritySearch(t.Context(), " ", 1); !errors.Is(err, engine.ErrInvalid) {
		t.Errorf("an empty query: %v", err)
	}
	if _, err := s.SimilaritySearch(t.Context(), "lamp", -1); !errors.Is(err, engine.ErrInvalid) {
		t.Errorf("-1 documents: %v", err)
	}
}

func TestThreshold(t *testing.T) {
	db := hashed(t)
	s := lexsem.New(db)
	add(t, s, desks)
	all := search(t, s, "whale of the sea", 10)
	least := (all[0].Score + all[1].Score) / 2
	if docs := search(t, s, "whale of the sea", 10, vectorstores.WithScoreThreshold(least)); len(docs) != 1 || docs[0].PageContent != desks[3].PageContent {
		t.Errorf("of scores %v and %v with a threshold of %v: %v", all[0].Score, all[1].Score, least, docs)
	}
	if docs := search(t, s, "whale of the sea", 10, vectorstores.WithScoreThreshold(all[1].Score)); len(docs) != 2 {
		t.Errorf("a document with the score of the threshold is left out: %v", docs)
	}
	if docs := search(t, s, "whale", 10, vectorstores.WithScoreThreshold(100)); docs == nil || len(docs) != 0 {
		t.Errorf("nothing has a score of 100: %v", docs)
	}
	for _, bad := range []float32{float32(math.NaN()), float32(math.Inf(1))} {
		if _, err := s.SimilaritySearch(t.Context(), "whale", 1, vectorstores.WithScoreThreshold(bad)); !errors.Is(err, engine.ErrInvalid) {
			t.Errorf("threshold %v: %v", bad, err)
		}
	}
	// In dense mode a score is a cosine, and the same text has one of 1.
	dense := lexsem.New(db, lexsem.WithQuery(engine.Query{Mode: engine.ModeDense, Variant: engine.VariantNone}))
	docs := search(t, dense, desks[0].PageContent, 10)
	if math.Abs(float64(docs[0].Score)-1) > 1e-4 || docs[len(docs)-1].Score > 0.9 {
		t.Errorf("cosines from %v to %v", docs[0].Score, docs[len(docs)-1].Score)
	}
}

func TestFilters(t *testing.T) {
	s := lexsem.New(hashed(t))
	add(t, s, desks)
	for _, c := range []struct {
		filter any
		want   []int
	}{
		{map[string]any{"location": "sea"}, []int{3}},
		{map[string]any{"location": []string{"kitchen", "sea"}}, []int{0, 3}},
		{map[string]any{"location": "kitchen", "square_feet": 300}, nil},
		{map[string]any{"location": "cellar"}, nil},
		{`square_feet >= 300 and location != "sea"`, []int{1, 2}},
		{filter.Range("square_feet", 100, 300), []int{0, 1}},
	} {
		var want []schema.Document
		for _, i := range c.want {
			want = append(want, desks[i])
		}
		if got := contents(search(t, s, "lamp", 10, vectorstores.WithFilters(c.filter))); !slices.Equal(got, contents(want)) {
			t.Errorf("%v: %q", c.filter, got)
		}
	}
	for _, bad := range []any{"square_feet >", 7, map[string]any{"$or": []any{}}} {
		if _, err := s.SimilaritySearch(t.Context(), "lamp", 1, vectorstores.WithFilters(bad)); !errors.Is(err, engine.ErrInvalid) {
			t.Errorf("filter %v: %v", bad, err)
		}
	}
	small := lexsem.New(hashed(t), lexsem.WithQuery(engine.Query{Filter: filter.Le("square_feet", 300), K: 1}))
	add(t, small, desks)
	if docs := search(t, small, "lamp", 5, vectorstores.WithFilters(map[string]any{"location": "sea"})); len(docs) != 0 {
		t.Errorf("the store's own filter is gone: %v", docs)
	}
	if docs := search(t, small, "lamp", 0); len(docs) != 1 {
		t.Errorf("%d documents where the store's own K is 1", len(docs))
	}
}

func TestNamespaces(t *testing.T) {
	db := hashed(t)
	s := lexsem.New(db)
	a := add(t, s, desks[:2], vectorstores.WithNameSpace("a"))
	b := add(t, s, desks[1:], vectorstores.WithNameSpace("b"))
	if a[1] == b[0] {
		t.Error("one document in two namespaces has one id")
	}
	for ns, want := range map[string][]schema.Document{"a": desks[:2], "b": desks[1:], "c": nil} {
		docs := search(t, s, "lamp", 10, vectorstores.WithNameSpace(ns))
		if !slices.Equal(contents(docs), contents(want)) {
			t.Errorf("namespace %s has %q", ns, contents(docs))
		}
		for _, d := range docs {
			if len(d.Metadata) != 2 {
				t.Errorf("metadata came back as %v", d.Metadata)
			}
		}
	}
	if docs := search(t, s, "lamp", 10); len(docs) != 5 {
		t.Errorf("%d documents in all namespaces", len(docs))
	}
	mine := lexsem.New(db, lexsem.WithDefaults(vectorstores.WithNameSpace("a")))
	if docs := search(t, mine, "lamp", 10); len(docs) != 2 {
		t.Errorf("%d documents in the store's own namespace", len(docs))
	}
	if docs := search(t, mine, "lamp", 10, vectorstores.WithNameSpace("b")); len(docs) != 3 {
		t.Errorf("%d documents in the call's namespace", len(docs))
	}
	if _, err := s.AddDocuments(t.Context(), []schema.Document{{PageContent: "x", Metadata: map[string]any{"_namespace": "b"}}}); !errors.Is(err, engine.ErrInvalid) {
		t.Errorf("a document that names its own namespace: %v", err)
	}
}

func TestIDs(t *testing.T) {
	db := hashed(t)
	s := lexsem.New(db, lexsem.WithIDKey("id"))
	docs := []schema.Document{{PageContent: "an oak", Metadata: map[string]any{"id": "oak"}}, {PageContent: "an elm"}}
	ids := add(t, s, docs)
	if ids[0] != "oak" || len(ids[1]) != 40 {
		t.Fatalf("ids %q", ids)
	}
	for _, d := range search(t, s, "an oak or an elm", 2) {
		if !slices.Contains(ids, d.Metadata["id"].(string)) {
			t.Errorf("%q came back with the id %v", d.PageContent, d.Metadata["id"])
		}
	}
	add(t, s, []schema.Document{{PageContent: "a beech", Metadata: map[string]any{"id": "oak"}}})
	if d, err := db.Get(t.Context(), "oak"); err != nil || d.Text != "a beech" {
		t.Errorf("the document of the id is %v, %v", d, err)
	}
}

// TestAtomic: one document that cannot be stored leaves out all.
func TestAtomic(t *testing.T) {
	s := lexsem.New(hashed(t))
	for _, bad := range []schema.Document{{}, {PageContent: "x", Metadata: map[string]any{"f": func() {}}}} {
		if ids, err := s.AddDocuments(t.Context(), []schema.Document{desks[0], bad}); !errors.Is(err, engine.ErrInvalid) || ids != nil {
			t.Errorf("%v: %q, %v", bad, ids, err)
		}
	}
	if docs := search(t, s, "lamp", 5); len(docs) != 0 {
		t.Errorf("stored all the same: %v", docs)
	}
	if ids, err := s.AddDocuments(t.Context(), nil); err != nil || ids == nil || len(ids) != 0 {
		t.Errorf("no documents: %v, %v", ids, err)
	}
}

func TestDeduplicater(t *testing.T) {
	s := lexsem.New(hashed(t))
	skip := vectorstores.WithDeduplicater(func(_ context.Context, d schema.Document) bool { return strings.Contains(d.PageContent, "black") })
	if ids := add(t, s, desks, skip); len(ids) != 3 {
		t.Errorf("%d ids", len(ids))
	}
	if docs := search(t, s, "black", 10); len(docs) != 3 {
		t.Errorf("%d documents", len(docs))
	}
	if ids := add(t, s, desks[:1], skip); len(ids) != 0 {
		t.Errorf("%d ids of what is left out", len(ids))
	}
}

// letters is an embedder of LangChainGo that counts letters. It remembers who asked.
type letters struct {
	mu                 sync.Mutex
	documents, queries int
	err                error
	short, none        bool
}

func (l *letters) EmbedDocuments(_ context.Context, texts []string) ([][]float32, error) {
	l.mu.Lock()
	l.documents += len(texts)
	l.mu.Unlock()
	out := make([][]float32, len(texts))
	for i, text := range texts {
		out[i] = adapttest.Letters[float32](text)
	}
	if l.none {
		out[0] = nil
	}
	if l.short {
		out = out[1:]
	}
	return out, l.err
}

func (l *letters) EmbedQuery(ctx context.Context, text string) ([]float32, error) {
	out, err := l.EmbedDocuments(ctx, []string{text})
	l.mu.Lock()
	l.documents--
	l.queries++
	l.mu.Unlock()
	return out[0], err
}

// TestEmbedder: a database of vectors alone is filled and searched by the embedder
// of the call, and refuses to be without.
func TestEmbedder(t *testing.T) {
	db := open(t, nil, engine.Options{Dim: 32})
	e := &letters{}
	s := lexsem.New(db, lexsem.WithDefaults(vectorstores.WithEmbedder(e)))
	add(t, s, desks)
	if docs := search(t, s, desks[3].PageContent, 1); docs[0].PageContent != desks[3].PageContent {
		t.Errorf("found %v", docs)
	}
	if e.documents != 4 || e.queries != 1 {
		t.Errorf("the embedder was asked for %d documents and %d queries", e.documents, e.queries)
	}
	lexical := lexsem.New(db, lexsem.WithQuery(engine.Query{Mode: engine.ModeLexical}), lexsem.WithDefaults(vectorstores.WithEmbedder(e)))
	if docs := search(t, lexical, "whale", 1); len(docs) != 1 || e.queries != 1 {
		t.Errorf("a lexical search: %v, after %d queries", docs, e.queries)
	}
	plain := lexsem.New(db)
	if _, err := plain.AddDocuments(t.Context(), desks); !errors.Is(err, engine.ErrInvalid) {
		t.Errorf("documents without vectors: %v", err)
	}
	if _, err := plain.SimilaritySearch(t.Context(), "lamp", 1); !errors.Is(err, engine.ErrInvalid) {
		t.Errorf("a query without a vector: %v", err)
	}
	down := errors.New("it is down")
	for bad, want := range map[*letters]error{{err: down}: down, {short: true}: encoder.ErrContract, {none: true}: encoder.ErrContract} {
		if _, err := s.AddDocuments(t.Context(), desks, vectorstores.WithEmbedder(bad)); !errors.Is(err, want) {
			t.Errorf("an embedder that fails: %v, want %v", err, want)
		}
	}
	if _, err := s.SimilaritySearch(t.Context(), "lamp", 1, vectorstores.WithEmbedder(&letters{none: true})); !errors.Is(err, encoder.ErrContract) {
		t.Errorf("an embedder without a vector: %v", err)
	}
	if _, err := s.SimilaritySearch(t.Context(), "lamp", 1, vectorstores.WithEmbedder(&letters{err: down})); !errors.Is(err, down) {
		t.Errorf("an embedder that fails: %v", err)
	}
	// One of other dimensions is refused by the database.
	other := open(t, nil, engine.Options{Dim: 31})
	if _, err := lexsem.New(other).AddDocuments(t.Context(), desks, vectorstores.WithEmbedder(e)); !errors.Is(err, engine.ErrInvalid) {
		t.Errorf("vectors of another dimension: %v", err)
	}
}

// TestAllOptions uses every option at once.
func TestAllOptions(t *testing.T) {
	s := lexsem.New(open(t, nil, engine.Options{Dim: 32}), lexsem.WithIDKey("id"), lexsem.WithQuery(engine.Query{Mode: engine.ModeHybrid}))
	never := func(context.Context, schema.Document) bool { return false }
	all := []vectorstores.Option{
		vectorstores.WithNameSpace("n"), vectorstores.WithEmbedder(&letters{}), vectorstores.WithDeduplicater(never),
		vectorstores.WithFilters(map[string]any{"location": []any{"sea", "kitchen"}}), vectorstores.WithScoreThreshold(0.01),
	}
	add(t, s, desks, all...)
	if docs := search(t, s, "whale", 1, all...); len(docs) != 1 || docs[0].Metadata["location"] != "sea" {
		t.Errorf("found %v", docs)
	}
}

func TestCancelled(t *testing.T) {
	s := lexsem.New(hashed(t))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := s.AddDocuments(ctx, desks); !errors.Is(err, context.Canceled) {
		t.Errorf("Add: %v", err)
	}
	if _, err := s.SimilaritySearch(ctx, "lamp", 1); !errors.Is(err, context.Canceled) {
		t.Errorf("search: %v", err)
	}
}
