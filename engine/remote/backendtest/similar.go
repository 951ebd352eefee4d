package backendtest

import (
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"

	"github.com/lexsem/lexsem/encoder"
	"github.com/lexsem/lexsem/engine"
	"github.com/lexsem/lexsem/engine/filter"
)

// facets: values are counted among the documents that match a filter, each document once, however many chunks it
// has.
func facets(t *testing.T, open func(t *testing.T, enc encoder.Encoder) engine.Database) {
	db := open(t, encoder.NewHash(dim))
	long := strings.Repeat("Bees fly from flower to flower, and it is a long way. ", 12)
	fill(t, db, []engine.Document{
		{ID: "a", Text: long, Metadata: map[string]any{"lang": "en", "tags": []any{"x", "y", "x"}, "n": json.Number("1.0"), "of": map[string]any{"who": "me"}}},
		{ID: "b", Text: "Keys.", Metadata: map[string]any{"lang": "en", "tags": []any{"y"}, "n": 1}},
		{ID: "c", Text: "Keys.", Metadata: map[string]any{"lang": "de", "n": "1", "of": map[string]any{"who": nil}}},
		{ID: "d", Text: "Keys.", Metadata: map[string]any{"lang": true, "tags": []any{}, "n": 2}},
	})
	for _, c := range []struct {
		field string
		f     engine.Filter
		k     int
		want  []filter.Facet
	}{
		{"lang", engine.Filter{}, 0, []filter.Facet{{Value: "en", Count: 2}, {Value: true, Count: 1}, {Value: "de", Count: 1}}},
		{"lang", engine.Filter{}, 1, []filter.Facet{{Value: "en", Count: 2}}},
		{"lang", filter.Eq("n", 1), 9, []filter.Facet{{Value: "en", Count: 2}}},
		{"tags", engine.Filter{}, 9, []filter.Facet{{Value: "y", Count: 2}, {Value: "x", Count: 1}}},
		{"of.who", engine.Filter{}, 9, []filter.Facet{{Count: 1}, {Value: "me", Count: 1}}},
		{"of", engine.Filter{}, 9, []filter.Facet{}},
		{"nope", engine.Filter{}, 9, []filter.Facet{}},
		{"lang", filter.Eq("id", "c"), 9, []filter.Facet{{Value: "de", Count: 1}}},
	} {
		got, err := db.Facets(t.Context(), c.f, c.field, c.k)
		if err != nil || !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s, %d with %v: %v, %v, want %v", c.field, c.k, c.f, got, err, c.want)
		}
	}
	got, err := db.Facets(t.Context(), engine.Filter{}, "n", 9) // 1 and 1.0 are one value, written in either way
	if err != nil || len(got) != 3 || got[0].Count != 2 || got[1].Value != json.Number("2") || got[2].Value != "1" {
		t.Errorf("numbers: %v, %v", got, err)
	}
	for _, bad := range []struct {
		field string
		k     int
		f     engine.Filter
	}{{"", 1, engine.Filter{}}, {"id", 1, engine.Filter{}}, {"lang", -1, engine.Filter{}}, {"lang", filter.MaxFacets + 1, engine.Filter{}}, {"lang", 1, filter.Eq("a", struct{}{})}} {
		if _, err := db.Facets(t.Context(), bad.f, bad.field, bad.k); !errors.Is(err, engine.ErrInvalid) {
			t.Errorf("%q, %d: %v", bad.field, bad.k, err)
		}
	}
}

// similar: examples, named by id or by line, lead to similar documents and are not hits themselves.
func similar(t *testing.T, open func(t *testing.T, enc encoder.Encoder) engine.Database) {
	db := open(t, encoder.NewHash(dim))
	fill(t, db, []engine.Document{
		{ID: "keys", Text: "Rotate the signing keys with keyctl."},
		{ID: "more", Text: "Rotate the signing keys with keyctl or by hand."},
		{ID: "bees", Text: "Bees fly from flower to flower."},
		{ID: "both", Text: "Bees fly from flower to flower, and it is a long way that they fly from one garden to the next one.\n" +
			"Rotate the signing keys with keyctl."},
	})
	for name, want := range map[string]string{"keys": "more", "more": "keys", "both:2": "keys", "both:1": "bees"} {
		q := engine.Query{Like: []string{name}, K: 4}
		res, err := db.Search(t.Context(), q)
		if err != nil {
			t.Fatal(err)
		}
		if len(res.Hits) != 3 || res.Hits[0].ID != want || res.Trace.Filtered != 3 {
			t.Errorf("like %s: %d hits among %d documents, first %q, want %q", name, len(res.Hits), res.Trace.Filtered, res.Hits[0].ID, want)
		}
		if _, err := db.Explain(t.Context(), q, want); err != nil {
			t.Error(err)
		}
		if v, _, err := db.Vector(t.Context(), q); err != nil || len(v) != dim {
			t.Errorf("vector of %d numbers, %v", len(v), err)
		}
	}
	res, err := db.Search(t.Context(), engine.Query{Like: []string{"both"}, Unlike: []string{"keys"}, K: 4})
	if err != nil || len(res.Hits) != 2 || res.Hits[0].ID != "bees" {
		t.Errorf("%+v, %v", res.Hits, err)
	}
	if _, err := db.Explain(t.Context(), engine.Query{Like: []string{"keys"}}, "keys"); !errors.Is(err, engine.ErrNotFound) {
		t.Errorf("an example is explained: %v", err)
	}
	if _, err := db.Search(t.Context(), engine.Query{Like: []string{"nope"}}); !errors.Is(err, engine.ErrNotFound) {
		t.Error(err)
	}
	if _, err := db.SearchBatch(t.Context(), []engine.Query{{Like: []string{"keys"}}, {Unlike: []string{"keys"}}}); !errors.Is(err, engine.ErrInvalid) {
		t.Error(err)
	}
}
