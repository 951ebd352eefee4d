package lexsem_test

import (
	"context"
	"errors"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/firebase/genkit/go/ai"
	"github.com/firebase/genkit/go/genkit"

	"github.com/lexsem/lexsem/encoder"
	"github.com/lexsem/lexsem/engine"
	lexsem "github.com/lexsem/lexsem/engine/adapters/genkit"
	"github.com/lexsem/lexsem/engine/adapters/internal/adapttest"
	"github.com/lexsem/lexsem/engine/filter"
)

// The tests below ask what the tests of Genkit's own retrievers ask (localvec's,
// pinecone's and postgresql's; there is no common suite): documents near a query come
// first, K, indexing that lasts, embedders that fail, options of a wrong type, names.

func define(t *testing.T, cfg lexsem.Config) (*genkit.Genkit, *lexsem.DocStore, ai.Retriever) {
	t.Helper()
	if cfg.DB == nil {
		cfg.DB = adapttest.Open(t, t.TempDir(), encoder.NewHash(64), engine.Options{})
	}
	g := genkit.Init(t.Context())
	ds, r, err := lexsem.DefineRetriever(g, "notes", cfg, nil)
	if err != nil {
		t.Fatal(err)
	}
	return g, ds, r
}

func index(t *testing.T, ds *lexsem.DocStore, docs ...*ai.Document) []string {
	t.Helper()
	ids, err := ds.Index(t.Context(), docs)
	if err != nil {
		t.Fatal(err)
	}
	return ids
}

// retrieve asks the registered action, as a flow does.
func retrieve(t *testing.T, r ai.Retriever, query string, options any) []*ai.Document {
	t.Helper()
	res, err := r.Retrieve(t.Context(), &ai.RetrieverRequest{Query: ai.DocumentFromText(query, nil), Options: options})
	if err != nil {
		t.Fatal(err)
	}
	return res.Documents
}

func notes() []*ai.Document {
	return []*ai.Document{
		ai.DocumentFromText("hello to the first harbour", map[string]any{"lang": "en", "year": 2020}),
		ai.DocumentFromText("hello to the second harbour", map[string]any{"lang": "en", "year": 2024}),
		ai.DocumentFromText("goodbye whale of the sea", map[string]any{"lang": "de", "year": 1999}),
	}
}

func TestRetrieve(t *testing.T) {
	g, ds, r := define(t, lexsem.Config{})
	docs := notes()
	ids := index(t, ds, docs...)
	if again := index(t, ds, docs...); !slices.Equal(ids, again) || len(slices.Compact(slices.Sorted(slices.Values(ids)))) != 3 {
		t.Errorf("ids %q, then %q", ids, again)
	}
	if _, marked := docs[0].Metadata[lexsem.IDKey]; marked || len(docs[0].Metadata) != 2 {
		t.Errorf("the caller's document became %v", docs[0].Metadata)
	}
	found := retrieve(t, r, "hello to the first harbour", &lexsem.RetrieverOptions{K: 2})
	if len(found) != 2 {
		t.Fatalf("%d documents", len(found))
	}
	for _, d := range found {
		if !strings.HasPrefix(d.Content[0].Text, "hello") {
			t.Errorf("found %q", d.Content[0].Text)
		}
	}
	m := maps.Clone(found[0].Metadata)
	score, ok := m[lexsem.ScoreKey].(float64)
	if m[lexsem.IDKey] != ids[0] || !ok || score <= found[1].Metadata[lexsem.ScoreKey].(float64) || m["lang"] != "en" || m["year"] != 2020.0 || len(m) != 4 {
		t.Errorf("metadata %v", m)
	}
	// By the framework's own call, which looks the action up.
	res, err := genkit.Retrieve(t.Context(), g, ai.WithRetrieverName("lexsem/notes"), ai.WithTextDocs("whale"), ai.WithConfig(&lexsem.RetrieverOptions{K: 1}))
	if err != nil || len(res.Documents) != 1 || res.Documents[0].Content[0].Text != docs[2].Content[0].Text {
		t.Errorf("genkit.Retrieve: %v, %v", res, err)
	}
	// What was found can be indexed again as it is.
	found[0].Content[0].Text = "hello, changed"
	if again := index(t, ds, found[0]); again[0] != ids[0] {
		t.Errorf("a document that was found is stored under %q instead of %q", again[0], ids[0])
	}
	if d := retrieve(t, r, "changed", &lexsem.RetrieverOptions{K: 1})[0]; d.Content[0].Text != "hello, changed" || len(d.Metadata) != 4 {
		t.Errorf("found %q, %v", d.Content[0].Text, d.Metadata)
	}
}

// TestPersistent: what one process has indexed the next one finds and adds to.
func TestPersistent(t *testing.T) {
	dir := t.TempDir()
	db, err := engine.Open(t.Context(), dir, encoder.NewHash(64), engine.Options{})
	if err != nil {
		t.Fatal(err)
	}
	_, ds, r := define(t, lexsem.Config{DB: db})
	docs := notes()
	index(t, ds, docs[:2]...)
	if n := len(retrieve(t, r, "hello", &lexsem.RetrieverOptions{K: 100})); n != 2 {
		t.Errorf("%d documents, want 2", n)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	_, ds, r = define(t, lexsem.Config{DB: adapttest.Open(t, dir, encoder.NewHash(64), engine.Options{})})
	index(t, ds, docs[2])
	if n := len(retrieve(t, r, "hello", &lexsem.RetrieverOptions{K: 100})); n != 3 {
		t.Errorf("%d documents, want 3", n)
	}
}

func TestOptions(t *testing.T) {
	_, ds, r := define(t, lexsem.Config{Query: engine.Query{K: 2}})
	index(t, ds, notes()...)
	for _, c := range []struct {
		options any
		want    int
	}{
		{nil, 2},
		{lexsem.RetrieverOptions{K: 3}, 3},
		{map[string]any{"k": 3}, 3},
		{map[string]any{"k": 3.0, "filter": map[string]any{"lang": "en"}}, 2},
		{map[string]any{"filter": "year < 2024 and lang = 'en'", "mode": "dense", "variant": "none"}, 1},
		{&lexsem.RetrieverOptions{K: 3, Filter: filter.Gt("year", 2020)}, 1},
		{&lexsem.RetrieverOptions{K: 3, Filter: map[string]any{"lang": []any{"en", "de"}}}, 3},
		{&lexsem.RetrieverOptions{K: 3, Mode: engine.ModeLexical}, 2},
		{&lexsem.RetrieverOptions{K: 3, MinScore: 100}, 0},
		{&lexsem.RetrieverOptions{K: 3, Namespace: "other"}, 0},
	} {
		if found := retrieve(t, r, "hello", c.options); len(found) != c.want {
			t.Errorf("%v: %d documents, want %d", c.options, len(found), c.want)
		}
	}
	for _, bad := range []any{
		"k=3", &engine.Query{}, map[string]any{"size": 3}, map[string]any{"k": "three"}, &lexsem.RetrieverOptions{K: -1}, &lexsem.RetrieverOptions{Filter: "lang ="},
		&lexsem.RetrieverOptions{Mode: "fast"}, lexsem.RetrieverOptions{MinScore: math.NaN()},
	} {
		if _, err := ds.Retrieve(t.Context(), &ai.RetrieverRequest{Query: ai.DocumentFromText("hello", nil), Options: bad}); !errors.Is(err, engine.ErrInvalid) {
			t.Errorf("%v: %v", bad, err)
		}
	}
	// A nil pointer never gets through the framework's schema, but may come here.
	if res, err := ds.Retrieve(t.Context(), &ai.RetrieverRequest{Query: notes()[0], Options: (*lexsem.RetrieverOptions)(nil)}); err != nil || len(res.Documents) != 2 {
		t.Errorf("no options: %v, %v", res, err)
	}
	// The least score is taken.
	all := retrieve(t, r, "hello harbour", &lexsem.RetrieverOptions{K: 3})
	for i, d := range all {
		if n := len(retrieve(t, r, "hello harbour", &lexsem.RetrieverOptions{K: 3, MinScore: d.Metadata[lexsem.ScoreKey].(float64)})); n < i+1 {
			t.Errorf("with the score of document %d: %d documents", i+1, n)
		}
	}
}

func TestNamespace(t *testing.T) {
	db := adapttest.Open(t, t.TempDir(), encoder.NewHash(64), engine.Options{})
	_, a, ra := define(t, lexsem.Config{DB: db, Namespace: "a"})
	_, b, rb := define(t, lexsem.Config{DB: db, Namespace: "b"})
	_, _, all := define(t, lexsem.Config{DB: db})
	docs := notes()
	ida, idb := index(t, a, docs[:2]...), index(t, b, docs[1:]...)
	if ida[1] == idb[0] {
		t.Error("one document in two namespaces has one id")
	}
	for _, c := range []struct {
		r    ai.Retriever
		o    any
		want int
	}{{ra, nil, 2}, {rb, nil, 2}, {all, nil, 4}, {ra, &lexsem.RetrieverOptions{Namespace: "b", Filter: "lang = 'de'"}, 1}, {ra, &lexsem.RetrieverOptions{Filter: "lang = 'de'"}, 0}} {
		if found := retrieve(t, c.r, "hello", c.o); len(found) != c.want {
			t.Errorf("%v: %d documents, want %d", c.o, len(found), c.want)
		}
	}
}

func TestRefused(t *testing.T) {
	_, ds, _ := define(t, lexsem.Config{})
	for _, bad := range []*ai.Document{
		nil, {}, ai.DocumentFromText(" ", nil), {Content: []*ai.Part{nil}},
		{Content: []*ai.Part{ai.NewTextPart("a picture"), ai.NewMediaPart("image/png", "data:,")}},
		ai.DocumentFromText("x", map[string]any{"_namespace": "n"}), ai.DocumentFromText("x", map[string]any{"f": func() {}}), ai.DocumentFromText("x", map[string]any{lexsem.IDKey: ""}),
	} {
		if _, err := ds.Index(t.Context(), []*ai.Document{notes()[0], bad}); !errors.Is(err, engine.ErrInvalid) {
			t.Errorf("document %v: %v", bad, err)
		}
	}
	for _, bad := range []*ai.RetrieverRequest{nil, {}, {Query: ai.DocumentFromText("", nil)}, {Query: &ai.Document{Content: []*ai.Part{ai.NewMediaPart("image/png", "data:,")}}}} {
		if _, err := ds.Retrieve(t.Context(), bad); !errors.Is(err, engine.ErrInvalid) {
			t.Errorf("request %v: %v", bad, err)
		}
	}
	if ids, err := ds.Index(t.Context(), nil); err != nil || len(ids) != 0 {
		t.Errorf("no documents: %q, %v", ids, err)
	}
	res, err := ds.Retrieve(t.Context(), &ai.RetrieverRequest{Query: ai.DocumentFromText("hello", nil)})
	if err != nil || len(res.Documents) != 0 {
		t.Errorf("stored all the same: %v, %v", res, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := ds.Index(ctx, notes()); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}

func TestDefine(t *testing.T) {
	g, _, r := define(t, lexsem.Config{})
	if r.Name() != "lexsem/notes" || !lexsem.IsDefinedRetriever(g, "notes") || lexsem.IsDefinedRetriever(g, "other") {
		t.Errorf("registered as %q", r.Name())
	}
	if lexsem.Retriever(g, "notes") == nil {
		t.Error("it cannot be looked up")
	}
	for name, cfg := range map[string]lexsem.Config{"": {DB: adapttest.Open(t, t.TempDir(), encoder.NewHash(8), engine.Options{})}, "x": {}} {
		if _, _, err := lexsem.DefineRetriever(g, name, cfg, nil); !errors.Is(err, engine.ErrInvalid) {
			t.Errorf("%q: %v", name, err)
		}
	}
	mine := &ai.RetrieverOptions{Label: "my notes"}
	if _, _, err := lexsem.DefineRetriever(g, "mine", lexsem.Config{DB: adapttest.Open(t, t.TempDir(), encoder.NewHash(8), engine.Options{})}, mine); err != nil || mine.ConfigSchema != nil {
		t.Errorf("the caller's options became %v, %v", mine, err)
	}
}
