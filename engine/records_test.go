package engine_test

import (
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/lexsem/lexsem/encoder"
	"github.com/lexsem/lexsem/engine"
	"github.com/lexsem/lexsem/store"
)

// records are those of a database that are stored behind an ordinal.
func records(t *testing.T, e *engine.Engine, after uint64) (all []engine.Record) {
	t.Helper()
	for r, err := range e.Records(t.Context(), after) {
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, r)
	}
	return all
}

// TestRecordsAreWhole: what Records yields, PutRecords stores as it was in another database,
// chunks, vectors and tokens included, and a walk goes on behind any ordinal.
func TestRecordsAreWhole(t *testing.T) {
	t.Parallel()
	for name, enc := range map[string]encoder.Encoder{"tokens": encoder.NewHash(16), "no tokens": (&source{}).encoder("mine")} {
		o := sparing(engine.Options{NoSync: true, ChunkTokens: 24})
		here, err := engine.Open(t.Context(), t.TempDir(), enc, o)
		if err != nil {
			t.Fatal(err)
		}
		defer here.Close()
		if _, err := here.Add(t.Context(), []engine.Document{
			{ID: "a", Title: "One", Text: "a short text", Metadata: map[string]any{"n": 1}},
			{ID: "b", Text: strings.Repeat("A sentence of a long text. ", 20)},
			{ID: "c", Text: "the last one"},
		}); err != nil {
			t.Fatal(err)
		}
		want := records(t, here, 0)
		if len(want) != 3 || len(want[1].Rows) < 2 || len(want[0].Rows[0].Vector) == 0 || (name == "tokens") != (len(want[0].Rows[0].Tokens) > 0) {
			t.Fatalf("%s: %+v", name, want)
		}
		if rest := records(t, here, want[1].Ordinal); len(rest) != 1 || rest[0].ID != "c" {
			t.Errorf("%s: behind b: %+v", name, rest)
		}
		there, err := engine.Open(t.Context(), t.TempDir(), enc, o)
		if err != nil {
			t.Fatal(err)
		}
		defer there.Close()
		var docs []store.Document
		for _, r := range want {
			docs = append(docs, r.Document)
		}
		if res, err := there.PutRecords(t.Context(), docs); err != nil || res.Added != 3 {
			t.Fatalf("%s: %+v, %v", name, res, err)
		}
		got := records(t, there, 0)
		if !slices.EqualFunc(got, want, func(a, b engine.Record) bool { return reflect.DeepEqual(a.Document, b.Document) }) {
			t.Errorf("%s: got %+v, want %+v", name, got, want)
		}
		if err := errors.Join(here.Flush(t.Context()), there.Flush(t.Context())); err != nil { // rows that one of them had not yet would change last bits
			t.Fatal(err)
		}
		q := engine.Query{Text: "sentence of a text", K: 3}
		a, aerr := here.Search(t.Context(), q)
		b, berr := there.Search(t.Context(), q)
		for i := range a.Hits { // it has not encoded yet, so nobody has measured its encoder
			if fitted := name != "no tokens"; fitted != (a.Hits[i].Probability != 0) {
				t.Errorf("%s: %+v", name, a.Hits[i])
			}
			a.Hits[i].Probability = 0
		}
		if aerr != nil || berr != nil || !reflect.DeepEqual(a.Hits, b.Hits) {
			t.Errorf("%s: %+v, %v there; %+v, %v here", name, b.Hits, berr, a.Hits, aerr)
		}
	}
}

// TestRecordsThatCannotBe: a record that a database could not have written is refused, with all of
// its call.
func TestRecordsThatCannotBe(t *testing.T) {
	t.Parallel()
	e, err := engine.Open(t.Context(), t.TempDir(), encoder.NewHash(4), sparing(engine.Options{NoSync: true}))
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	good := func() store.Document {
		return store.Document{ID: "x", Text: "text", Rows: []store.Row{{End: 4, Vector: []float32{1, 0, 0, 0}, Tokens: []int32{1, 2}}}}
	}
	for what, spoil := range map[string]func(*store.Document){
		"no id":                      func(d *store.Document) { d.ID = "" },
		"no vector":                  func(d *store.Document) { d.Rows = nil },
		"a vector of another length": func(d *store.Document) { d.Rows[0].Vector = []float32{1} },
		"a vector of zeros":          func(d *store.Document) { d.Rows[0].Vector = make([]float32, 4) },
		"a chunk beyond the text":    func(d *store.Document) { d.Rows[0].End = 5 },
		"an unknown token":           func(d *store.Document) { d.Rows[0].Tokens = []int32{1 << 30} },
		"a token twice":              func(d *store.Document) { d.Rows[0].Tokens = []int32{1, 1} },
		"token states":               func(d *store.Document) { d.Rows[0].Codes = []byte{1} },
	} {
		bad := good()
		bad.ID = "bad"
		spoil(&bad)
		_, err := e.PutRecords(t.Context(), []store.Document{good(), bad})
		var one *engine.DocumentError
		if !errors.Is(err, engine.ErrInvalid) || !errors.As(err, &one) || one.Position != 1 {
			t.Errorf("%s: %v", what, err)
		}
	}
	if n, err := e.Count(t.Context(), engine.Filter{}); err != nil || n != 0 {
		t.Errorf("%d documents, %v", n, err)
	}
	if res, err := e.PutRecords(t.Context(), []store.Document{good()}); err != nil || res.Added != 1 {
		t.Errorf("%+v, %v", res, err)
	}
}
