package adapt

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"reflect"
	"testing"

	"github.com/lexsem/lexsem/encoder"
	"github.com/lexsem/lexsem/engine"
	"github.com/lexsem/lexsem/engine/filter"
)

func TestID(t *testing.T) {
	id := func(namespace, text string, m map[string]any) string {
		t.Helper()
		s, err := ID(namespace, text, m)
		if err != nil || len(s) != 40 {
			t.Fatalf("id %q, %v", s, err)
		}
		return s
	}
	a := id("", "oak", map[string]any{"year": 1, "kind": "tree"})
	if b := id("", "oak", map[string]any{"kind": "tree", "year": 1.0}); a != b {
		t.Error("the same document has two ids")
	}
	if id("", "oak", nil) != id("", "oak", map[string]any{}) {
		t.Error("no metadata and empty metadata are two documents")
	}
	seen := map[string]bool{a: true}
	for _, other := range []string{id("n", "oak", map[string]any{"year": 1, "kind": "tree"}), id("", "oaks", nil), id("", "oak", nil), id("o", "ak", nil)} {
		if seen[other] {
			t.Errorf("two documents have the id %s", other)
		}
		seen[other] = true
	}
	if _, err := ID("", "oak", map[string]any{"f": func() {}}); !errors.Is(err, engine.ErrInvalid) {
		t.Errorf("metadata with a function: %v", err)
	}
}

func TestFilter(t *testing.T) {
	doc := map[string]any{"lang": "go", "year": 2024, "tags": []string{"a", "b"}, "deep": map[string]any{"x": nil}, "id": 7}
	for _, c := range []struct {
		in   any
		want bool
	}{
		{nil, true},
		{engine.Filter{}, true},
		{filter.Gt("year", 2020), true},
		{filter.Gt("year", 2030), false},
		{`lang = "go" and year > 2020`, true},
		{`lang = "c"`, false},
		{map[string]any{}, true},
		{map[string]any{"lang": "go", "year": 2024}, true},
		{map[string]any{"lang": "go", "year": 2025}, false},
		{map[string]any{"lang": []string{"c", "go"}}, true},
		{map[string]any{"year": []any{1, "2024"}}, false},
		{map[string]any{"lang": []string{}}, false},
		{map[string]any{"tags": "b", "deep.x": nil}, true},
		{map[string]any{"deep.x": 1}, false},
		{map[string]any{"id": 7}, true}, // a map is of metadata, a text may name the document's id
		{map[string]any{"id": []any{8, "d7"}}, false},
		{`id = "d7"`, true},
	} {
		f, err := Filter(c.in)
		if err != nil {
			t.Fatalf("%v: %v", c.in, err)
		}
		if got, err := f.MatchDocument("d7", doc); err != nil || got != c.want {
			t.Errorf("%v: %v, %v; want %v", c.in, got, err, c.want)
		}
	}
	for _, bad := range []any{
		"", "lang =", 5, []string{"lang"}, map[string]string{"lang": "go"},
		map[string]any{"$and": []any{}}, map[string]any{"year": map[string]any{"$gt": 1}}, map[string]any{"year": []any{[]any{1}}}, map[string]any{"year": math.NaN()},
		filter.Eq("f", func() {}),
	} {
		if _, err := Filter(bad); !errors.Is(err, engine.ErrInvalid) {
			t.Errorf("%v: error %v, want ErrInvalid", bad, err)
		}
	}
}

func TestNamespace(t *testing.T) {
	own := map[string]any{"year": 1}
	marked, err := Mark(own, "a")
	if err != nil || len(own) != 1 {
		t.Fatalf("%v; the caller's own metadata are %v", err, own)
	}
	for _, c := range []struct {
		base engine.Filter
		call any
		ns   string
		want bool
	}{
		{engine.Filter{}, nil, "", true}, {engine.Filter{}, nil, "a", true}, {engine.Filter{}, nil, "b", false},
		{filter.Eq("year", 1), nil, "a", true}, {filter.Eq("year", 2), nil, "a", false}, {engine.Filter{}, "year = 2 or year = 1", "b", false},
		{filter.Eq("year", 1), "year < 5", "", true}, {filter.Eq("year", 1), "year > 5", "", false}, {filter.Eq("year", 2), "year < 5", "", false},
	} {
		f, err := Narrow(c.base, c.call, c.ns)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := f.Match(marked); err != nil || got != c.want {
			t.Errorf("%v and %v in %q: %v, %v", c.base, c.call, c.ns, got, err)
		}
	}
	if f, err := Narrow(engine.Filter{}, nil, ""); err != nil || !f.IsZero() {
		t.Errorf("no condition at all is %v, %v", f, err)
	}
	if m, err := Mark(nil, ""); m != nil || err != nil {
		t.Errorf("no metadata and no namespace: %v, %v", m, err)
	}
	if _, err := Mark(map[string]any{NamespaceKey: "b"}, "a"); !errors.Is(err, engine.ErrInvalid) {
		t.Errorf("a document that names its own namespace: %v", err)
	}
}

func TestMetadata(t *testing.T) {
	kept := json.Number("9007199254740993")
	got := Metadata(engine.Hit{Title: "Trees", Metadata: map[string]any{
		"a": json.Number("5"), "b": json.Number("-0.25"), "c": kept, "d": json.Number("1e400"), "e": json.Number("0.00"), "f": json.Number("1.50E+2"), "g": json.Number("0.30000000000000004"),
		"list": []any{json.Number("1"), map[string]any{"x": json.Number("2")}}, "s": "text", NamespaceKey: "n",
	}})
	want := map[string]any{"a": 5.0, "b": -0.25, "c": kept, "d": json.Number("1e400"), "e": 0.0, "f": 150.0, "g": 0.30000000000000004,
		"list": []any{1.0, map[string]any{"x": 2.0}}, "s": "text", "title": "Trees"}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %v\nwant %v", got, want)
	}
	if got := Metadata(engine.Hit{Title: "Trees", Metadata: map[string]any{"title": "mine"}}); got["title"] != "mine" {
		t.Errorf("the title of the metadata became %v", got["title"])
	}
	spanned := Metadata(engine.Hit{Start: 3, End: 90, Span: [2]int{5, 9}, SpanLines: [2]int{2, 3}, Metadata: map[string]any{"a": "b"}})
	if want := map[string]any{"start": 5.0, "end": 9.0, "first_line": 2.0, "last_line": 3.0}; !reflect.DeepEqual(spanned[SpanKey], want) {
		t.Errorf("span %v, want %v", spanned[SpanKey], want)
	}
	bare, err := ID("n", "text", map[string]any{"a": "b"})
	if id, err2 := ID("n", "text", spanned); err != nil || err2 != nil || id != bare {
		t.Errorf("ids %s and %s, %v, %v", id, bare, err, err2)
	}
	if m, err := Mark(spanned, "n"); err != nil || len(m) != 2 || spanned[SpanKey] == nil {
		t.Errorf("stored again as %v, %v", m, err)
	}
	if Metadata(engine.Hit{}) == nil {
		t.Error("nil where programs write")
	}
}

func TestNumbers(t *testing.T) {
	for _, bad := range []float64{math.NaN(), math.Inf(1)} {
		if _, err := Query(engine.Query{}, Call{Threshold: bad}); !errors.Is(err, engine.ErrInvalid) {
			t.Errorf("threshold %v is taken", bad)
		}
	}
	if _, err := Query(engine.Query{}, Call{Threshold: 1.3}); err != nil {
		t.Error(err)
	}
	if _, err := Query(engine.Query{K: 5}, Call{K: -1}); !errors.Is(err, engine.ErrInvalid) {
		t.Errorf("-1 documents: %v", err)
	}
	for _, c := range [][3]int{{0, 5, 5}, {3, 5, 3}, {0, 0, 0}} {
		if q, err := Query(engine.Query{K: c[1]}, Call{K: c[0]}); q.K != c[2] || err != nil {
			t.Errorf("of %d and %d documents %d are wanted, %v", c[0], c[1], q.K, err)
		}
	}
}

// TestQuery: what a call says goes before what is configured, and the rest stays.
func TestQuery(t *testing.T) {
	base := engine.Query{Text: "old", Vector: []float32{1}, K: 7, Mode: engine.ModeDense, Variant: engine.VariantNone, PerChunk: true, Filter: filter.Eq("year", 1)}
	q, err := Query(base, Call{Text: "oak"})
	if err != nil || q.Text != "oak" || q.Vector != nil || q.K != 7 || q.Mode != engine.ModeDense || q.Variant != engine.VariantNone || !q.PerChunk {
		t.Errorf("%+v, %v", q, err)
	}
	q, err = Query(base, Call{Text: "oak", K: 2, Mode: engine.ModeHybrid, Variant: "rlr", Filter: "kind = 'tree'", Namespace: "n"})
	if err != nil || q.K != 2 || q.Mode != engine.ModeHybrid || q.Variant != "rlr" || !q.PerChunk {
		t.Errorf("%+v, %v", q, err)
	}
	for _, c := range []struct {
		doc  map[string]any
		want bool
	}{
		{map[string]any{"year": 1, "kind": "tree", NamespaceKey: "n"}, true}, {map[string]any{"year": 2, "kind": "tree", NamespaceKey: "n"}, false},
		{map[string]any{"year": 1, "kind": "bird", NamespaceKey: "n"}, false}, {map[string]any{"year": 1, "kind": "tree"}, false},
	} {
		if got, err := q.Filter.Match(c.doc); err != nil || got != c.want {
			t.Errorf("%v: %v, %v", c.doc, got, err)
		}
	}
	if _, err := Query(base, Call{Filter: "kind ="}); !errors.Is(err, engine.ErrInvalid) {
		t.Errorf("a filter that cannot be read: %v", err)
	}
}

func TestByRole(t *testing.T) {
	fixed := func(at int) encoder.Encoder {
		return encoder.Func("roles", 4, func(_ context.Context, texts []string) ([][]float32, error) {
			out := make([][]float32, len(texts))
			for i := range out {
				out[i] = make([]float32, 4)
				out[i][at] = 1
			}
			return out, nil
		})
	}
	query := fixed(1)
	e := ByRole(fixed(0), query)
	for role, at := range map[encoder.Role]int{encoder.Passage: 0, encoder.Query: 1} {
		out, err := e.Encode(t.Context(), role, encoder.Texts("x"), encoder.NeedDense)
		if err != nil || out[0].Dense[at] != 1 {
			t.Errorf("%v: %v, %v", role, out, err)
		}
	}
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := query.Encode(t.Context(), encoder.Query, encoder.Texts("x"), encoder.NeedDense); !errors.Is(err, encoder.ErrClosed) {
		t.Errorf("Close left the encoder of queries open: %v", err)
	}
}
