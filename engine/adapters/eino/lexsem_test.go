package lexsem_test

import (
	"context"
	"errors"
	"math"
	"reflect"
	"slices"
	"testing"

	"github.com/cloudwego/eino/callbacks"
	"github.com/cloudwego/eino/components/embedding"
	"github.com/cloudwego/eino/components/indexer"
	"github.com/cloudwego/eino/components/retriever"
	"github.com/cloudwego/eino/compose"
	"github.com/cloudwego/eino/flow/retriever/router"
	"github.com/cloudwego/eino/schema"
	template "github.com/cloudwego/eino/utils/callbacks"

	"github.com/lexsem/lexsem/encoder"
	"github.com/lexsem/lexsem/encoder/encodertest"
	"github.com/lexsem/lexsem/engine"
	lexsem "github.com/lexsem/lexsem/engine/adapters/eino"
	"github.com/lexsem/lexsem/engine/adapters/internal/adapttest"
	"github.com/lexsem/lexsem/engine/filter"
)

// Eino has no suite for its stores. The tests below ask what its options and
// documents promise, and that the components work in its chains and flows.

func open(t *testing.T, enc encoder.Encoder, o engine.Options) *engine.Engine {
	t.Helper()
	return adapttest.Open(t, t.TempDir(), enc, o)
}

func pair(t *testing.T, c lexsem.Config) (*lexsem.Indexer, *lexsem.Retriever) {
	t.Helper()
	if c.DB == nil {
		c.DB = open(t, encoder.NewHash(64), engine.Options{})
	}
	x, err := lexsem.NewIndexer(&c)
	if err != nil {
		t.Fatal(err)
	}
	r, err := lexsem.NewRetriever(&c)
	if err != nil {
		t.Fatal(err)
	}
	return x, r
}

func store(t *testing.T, x *lexsem.Indexer, docs []*schema.Document, opts ...indexer.Option) []string {
	t.Helper()
	ids, err := x.Store(t.Context(), docs, opts...)
	if err != nil {
		t.Fatal(err)
	}
	return ids
}

func retrieve(t *testing.T, r *lexsem.Retriever, query string, opts ...retriever.Option) []*schema.Document {
	t.Helper()
	docs, err := r.Retrieve(t.Context(), query, opts...)
	if err != nil {
		t.Fatal(err)
	}
	return docs
}

func ids(docs []*schema.Document) []string {
	var all []string
	for _, d := range docs {
		all = append(all, d.ID)
	}
	slices.Sort(all)
	return all
}

func notes() []*schema.Document {
	return []*schema.Document{
		{ID: "first", Content: "hello to the first harbour", MetaData: map[string]any{"lang": "en", "year": 2020}},
		{ID: "second", Content: "hello to the second harbour", MetaData: map[string]any{"lang": "en", "year": 2024}},
		{ID: "whale", Content: "goodbye whale of the sea", MetaData: map[string]any{"lang": "de", "year": 1999}},
	}
}

func TestStoreAndRetrieve(t *testing.T) {
	x, r := pair(t, lexsem.Config{})
	docs := notes()
	if got := store(t, x, docs); !slices.Equal(got, []string{"first", "second", "whale"}) {
		t.Errorf("ids %q", got)
	}
	found := retrieve(t, r, "whale of the sea", retriever.WithTopK(2))
	if len(found) != 2 || found[0].ID != "whale" || found[0].Content != docs[2].Content || found[0].Score() <= found[1].Score() {
		t.Fatalf("found %v", found)
	}
	if m := found[0].MetaData; m["lang"] != "de" || m["year"] != 1999.0 || len(m) != 3 {
		t.Errorf("metadata %v", m)
	}
	// What was found can be stored again, and its score is not.
	found[0].Content = "a whale, changed"
	store(t, x, found[:1])
	if again := retrieve(t, r, "changed whale", retriever.WithTopK(1))[0]; again.ID != "whale" || again.Content != "a whale, changed" || len(again.MetaData) != 3 {
		t.Errorf("found %v, %v", again, again.MetaData)
	}
	// Without an id, one is made of what the document is.
	a := store(t, x, []*schema.Document{{Content: "oak"}, {Content: "elm"}})
	if b := store(t, x, []*schema.Document{{Content: "oak"}}); len(a[0]) != 40 || a[0] == a[1] || b[0] != a[0] {
		t.Errorf("ids %q and %q", a, b)
	}
	if all := retrieve(t, r, "oak", retriever.WithTopK(100)); len(all) != 5 {
		t.Errorf("%d documents", len(all))
	}
	if none := store(t, x, nil); len(none) != 0 {
		t.Errorf("no documents: %q", none)
	}
}

func TestOptions(t *testing.T) {
	x, r := pair(t, lexsem.Config{Query: engine.Query{K: 2, Filter: filter.Ge("year", 1999)}})
	store(t, x, append(notes(), &schema.Document{ID: "old", Content: "hello of old", MetaData: map[string]any{"year": 1}}))
	for _, c := range []struct {
		opts []retriever.Option
		want int
	}{
		{nil, 2},
		{[]retriever.Option{retriever.WithTopK(0)}, 2},
		{[]retriever.Option{retriever.WithTopK(10)}, 3},
		{[]retriever.Option{retriever.WithTopK(10), lexsem.WithFilter(`lang = "en"`)}, 2},
		{[]retriever.Option{retriever.WithTopK(10), lexsem.WithFilter(map[string]any{"lang": []string{"en", "de"}})}, 3},
		{[]retriever.Option{retriever.WithTopK(10), lexsem.WithFilter(filter.Gt("year", 2020))}, 1},
		{[]retriever.Option{retriever.WithTopK(10), lexsem.WithMode(engine.ModeLexical)}, 2},
		{[]retriever.Option{retriever.WithTopK(10), lexsem.WithMode(engine.ModeDense), lexsem.WithVariant(engine.VariantNone)}, 3},
		{[]retriever.Option{retriever.WithTopK(10), retriever.WithScoreThreshold(100)}, 0},
		{[]retriever.Option{retriever.WithTopK(10), retriever.WithSubIndex("none")}, 0},
	} {
		if found := retrieve(t, r, "hello", c.opts...); found == nil || len(found) != c.want {
			t.Errorf("%d options: %q, want %d", len(c.opts), ids(found), c.want)
		}
	}
	plain := retrieve(t, r, "hello to the first harbour", lexsem.WithMode(engine.ModeDense), lexsem.WithVariant(engine.VariantNone))
	if math.Abs(plain[0].Score()-1) > 1e-4 {
		t.Errorf("the same text has the cosine %v", plain[0].Score())
	}
	// The score must be greater than the threshold.
	if found := retrieve(t, r, "hello to the first harbour", retriever.WithScoreThreshold(retrieve(t, r, "hello to the first harbour")[0].Score())); len(found) != 0 {
		t.Errorf("above its own score: %v", found)
	}
	for name, bad := range map[string]retriever.Option{
		"k": retriever.WithTopK(-1), "threshold": retriever.WithScoreThreshold(math.NaN()), "filter": lexsem.WithFilter("lang ="), "filter type": lexsem.WithFilter(5),
		"mode": lexsem.WithMode("fast"), "index": retriever.WithIndex("other"), "dsl": retriever.WithDSLInfo(map[string]any{"op": "must"}),
	} {
		if _, err := r.Retrieve(t.Context(), "hello", bad); !errors.Is(err, engine.ErrInvalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
	least := 100.0
	_, strict := pair(t, lexsem.Config{ScoreThreshold: &least})
	if found := retrieve(t, strict, "hello"); len(found) != 0 {
		t.Errorf("above the configured threshold: %v", found)
	}
}

// TestFields: what Eino keeps in metadata comes back as its methods read it.
func TestFields(t *testing.T) {
	x, r := pair(t, lexsem.Config{})
	d := (&schema.Document{ID: "all", Content: "oak", MetaData: map[string]any{"n": 1}}).WithSubIndexes([]string{"trees"}).
		WithExtraInfo("extra").WithDSLInfo(map[string]any{"op": "must"}).WithSparseVector(map[int]float64{3: 0.5, 10: 2}).WithScore(7)
	vector := make([]float64, 64)
	vector[5] = 2
	d.WithDenseVector(vector)
	store(t, x, []*schema.Document{d, (&schema.Document{ID: "elm", Content: "elm"}).WithSubIndexes([]string{"trees", "park"}), {ID: "whale", Content: "whale"}}, indexer.WithSubIndexes([]string{"all"}))
	if !slices.Equal(d.SubIndexes(), []string{"trees"}) || d.Score() != 7 {
		t.Errorf("the caller's document became %v", d.MetaData)
	}
	for sub, want := range map[string][]string{"trees": {"all", "elm"}, "park": {"elm"}, "all": {"all", "elm", "whale"}, "sea": nil} {
		if got := ids(retrieve(t, r, "oak", retriever.WithSubIndex(sub))); !slices.Equal(got, want) {
			t.Errorf("sub-index %s has %q, want %q", sub, got, want)
		}
	}
	got := retrieve(t, r, "oak", lexsem.WithFilter("n = 1"))[0]
	if !slices.Equal(got.SubIndexes(), []string{"trees", "all"}) || got.ExtraInfo() != "extra" || got.DSLInfo()["op"] != "must" ||
		!reflect.DeepEqual(got.SparseVector(), map[int]float64{3: 0.5, 10: 2}) || got.DenseVector() != nil || got.Score() == 7 {
		t.Errorf("it came back as %v", got.MetaData)
	}
	// The document's own vector is the one that is searched.
	db := open(t, nil, engine.Options{Dim: 64})
	x, _ = pair(t, lexsem.Config{DB: db})
	store(t, x, []*schema.Document{d})
	stored, err := db.Get(t.Context(), "all")
	if err != nil || len(stored.Vector) != 64 || stored.Vector[5] != 1 {
		t.Errorf("stored with the vector %v, %v", stored.Vector, err)
	}
	// In two sub-indexes it is two documents, where it has no id of its own.
	a := store(t, x, []*schema.Document{(&schema.Document{Content: "oak"}).WithDenseVector(vector)}, indexer.WithSubIndexes([]string{"a"}))
	b := store(t, x, []*schema.Document{(&schema.Document{Content: "oak"}).WithDenseVector(vector)}, indexer.WithSubIndexes([]string{"b"}))
	if a[0] == b[0] {
		t.Error("one id in two sub-indexes")
	}
}

func TestNamespace(t *testing.T) {
	db := open(t, encoder.NewHash(64), engine.Options{})
	xa, ra := pair(t, lexsem.Config{DB: db, Namespace: "a"})
	xb, rb := pair(t, lexsem.Config{DB: db, Namespace: "b"})
	_, all := pair(t, lexsem.Config{DB: db})
	store(t, xa, notes()[:1])
	store(t, xb, notes()[1:])
	for i, c := range []struct {
		r    *lexsem.Retriever
		want []string
	}{{ra, []string{"first"}}, {rb, []string{"second", "whale"}}, {all, []string{"first", "second", "whale"}}} {
		found := retrieve(t, c.r, "hello")
		if !slices.Equal(ids(found), c.want) || len(found[0].MetaData) != 3 {
			t.Errorf("%d: %q with %v", i, ids(found), found[0].MetaData)
		}
	}
}

func TestRefused(t *testing.T) {
	x, r := pair(t, lexsem.Config{})
	for _, bad := range []*schema.Document{nil, {}, {ID: "x", Content: " "}, {Content: "x", MetaData: map[string]any{"_namespace": "n"}}, {Content: "x", MetaData: map[string]any{"f": func() {}}},
		(&schema.Document{Content: "x"}).WithDenseVector([]float64{1}), (&schema.Document{Content: "x"}).WithDenseVector([]float64{})} {
		if got, err := x.Store(t.Context(), []*schema.Document{notes()[0], bad}); !errors.Is(err, engine.ErrInvalid) || got != nil {
			t.Errorf("%v: %q, %v", bad, got, err)
		}
	}
	if found := retrieve(t, r, "hello"); len(found) != 0 {
		t.Errorf("stored all the same: %q", ids(found))
	}
	for _, c := range []*lexsem.Config{nil, {}} {
		_, errR := lexsem.NewRetriever(c)
		_, errX := lexsem.NewIndexer(c)
		if !errors.Is(errR, engine.ErrInvalid) || !errors.Is(errX, engine.ErrInvalid) {
			t.Errorf("no database: %v, %v", errR, errX)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := x.Store(ctx, notes()); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}

// letters counts letters.
type letters struct {
	calls int
	fail  func([][]float64) ([][]float64, error)
}

func (l *letters) EmbedStrings(_ context.Context, texts []string, _ ...embedding.Option) ([][]float64, error) {
	l.calls++
	out := make([][]float64, len(texts))
	for i, text := range texts {
		out[i] = adapttest.Letters[float64](text)
	}
	if l.fail != nil {
		return l.fail(out)
	}
	return out, nil
}

func TestEmbedding(t *testing.T) {
	l := &letters{}
	x, r := pair(t, lexsem.Config{DB: open(t, nil, engine.Options{Dim: 32}), Embedding: l})
	store(t, x, notes())
	if found := retrieve(t, r, "goodbye whale of the sea", retriever.WithTopK(1)); found[0].ID != "whale" || l.calls != 2 {
		t.Errorf("found %v after %d calls", found, l.calls)
	}
	if found := retrieve(t, r, "whale", lexsem.WithMode(engine.ModeLexical)); len(found) != 1 || l.calls != 2 {
		t.Errorf("a lexical search found %d after %d calls", len(found), l.calls)
	}
	own := make([]float64, 32)
	own[1] = 1
	store(t, x, []*schema.Document{(&schema.Document{ID: "own", Content: "x"}).WithDenseVector(own)})
	if l.calls != 2 {
		t.Error("the embedder was asked for a document with a vector")
	}
	down := errors.New("it is down")
	for name, c := range map[string]struct {
		fail func([][]float64) ([][]float64, error)
		want error
	}{
		"error":     {func([][]float64) ([][]float64, error) { return nil, down }, down},
		"short":     {func(v [][]float64) ([][]float64, error) { return v[1:], nil }, encoder.ErrContract},
		"no vector": {func(v [][]float64) ([][]float64, error) { v[0] = nil; return v, nil }, encoder.ErrContract},
		"dimension": {func(v [][]float64) ([][]float64, error) { v[0] = v[0][1:]; return v, nil }, engine.ErrInvalid},
		"too large": {func(v [][]float64) ([][]float64, error) { v[0][0] = 1e300; return v, nil }, engine.ErrInvalid},
	} {
		bad := &letters{fail: c.fail}
		if _, err := x.Store(t.Context(), notes(), indexer.WithEmbedding(bad)); !errors.Is(err, c.want) {
			t.Errorf("%s: Store: %v", name, err)
		}
		if _, err := r.Retrieve(t.Context(), "hello", retriever.WithEmbedding(bad)); !errors.Is(err, c.want) {
			t.Errorf("%s: Retrieve: %v", name, err)
		}
	}
}

func TestEncoder(t *testing.T) {
	encodertest.Run(t, func(*testing.T) encoder.Encoder { return lexsem.Encoder("letters", 32, encodable{}) })
	if _, err := lexsem.Encoder("letters", 32, nil).Encode(t.Context(), encoder.Query, encoder.Texts("x"), encoder.NeedDense); !errors.Is(err, encoder.ErrContract) {
		t.Errorf("no embedder: %v", err)
	}
}

// encodable is letters for concurrent use.
type encodable struct{}

func (encodable) EmbedStrings(ctx context.Context, texts []string, o ...embedding.Option) ([][]float64, error) {
	return (&letters{}).EmbedStrings(ctx, texts, o...)
}

// TestChain runs the retriever in a chain and below a flow of Eino's, with callbacks.
func TestChain(t *testing.T) {
	x, r := pair(t, lexsem.Config{Query: engine.Query{K: 1}})
	var events []string
	handler := template.NewHandlerHelper().
		Indexer(&template.IndexerCallbackHandler{
			OnStart: func(ctx context.Context, info *callbacks.RunInfo, in *indexer.CallbackInput) context.Context {
				events = append(events, "start "+info.Type+string(info.Component))
				return ctx
			},
			OnEnd: func(ctx context.Context, _ *callbacks.RunInfo, out *indexer.CallbackOutput) context.Context {
				events = append(events, out.IDs...)
				return ctx
			},
		}).
		Retriever(&template.RetrieverCallbackHandler{
			OnStart: func(ctx context.Context, info *callbacks.RunInfo, in *retriever.CallbackInput) context.Context {
				events = append(events, "start "+info.Type+string(info.Component), in.Query, in.Filter)
				return ctx
			},
			OnEnd: func(ctx context.Context, _ *callbacks.RunInfo, out *retriever.CallbackOutput) context.Context {
				events = append(events, ids(out.Docs)...)
				return ctx
			},
			OnError: func(ctx context.Context, _ *callbacks.RunInfo, err error) context.Context {
				events = append(events, "error")
				return ctx
			},
		}).Handler()

	fill, err := compose.NewChain[[]*schema.Document, []string]().AppendIndexer(x).Compile(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := fill.Invoke(t.Context(), notes(), compose.WithCallbacks(handler)); err != nil {
		t.Fatal(err)
	}
	ask, err := compose.NewChain[string, []*schema.Document]().AppendRetriever(r).Compile(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	found, err := ask.Invoke(t.Context(), "hello", compose.WithCallbacks(handler), compose.WithRetrieverOption(lexsem.WithFilter("year > 2020")))
	if err != nil || len(found) != 1 || found[0].ID != "second" {
		t.Errorf("found %q, %v", ids(found), err)
	}
	if _, err := ask.Invoke(t.Context(), "hello", compose.WithCallbacks(handler), compose.WithRetrieverOption(lexsem.WithMode("fast"))); !errors.Is(err, engine.ErrInvalid) {
		t.Errorf("an error of the engine comes out of a chain as %v", err)
	}
	want := []string{"start LexsemIndexer", "first", "second", "whale", "start LexsemRetriever", "hello", "year > 2020", "second", "start LexsemRetriever", "hello", "", "error"}
	if !slices.Equal(events, want) {
		t.Errorf("callbacks %q\nwant      %q", events, want)
	}

	_, empty := pair(t, lexsem.Config{DB: open(t, encoder.NewHash(8), engine.Options{})})
	both, err := router.NewRetriever(t.Context(), &router.Config{
		Retrievers: map[string]retriever.Retriever{"full": r, "empty": empty},
		Router:     func(context.Context, string) ([]string, error) { return []string{"full", "empty"}, nil },
	})
	if err != nil {
		t.Fatal(err)
	}
	if found, err := both.Retrieve(t.Context(), "whale"); err != nil || len(found) != 1 || found[0].ID != "whale" {
		t.Errorf("by a router: %q, %v", ids(found), err)
	}
}
