package backendtest

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/lexsem/lexsem/encoder"
	"github.com/lexsem/lexsem/engine"
	"github.com/lexsem/lexsem/engine/filter"
)

// fields: metadata boost, sort and group the hits, in every mode.
func fields(t *testing.T, open func(t *testing.T, enc encoder.Encoder) engine.Database) {
	db := open(t, encoder.NewHash(dim))
	fill(t, db, []engine.Document{
		{ID: "keys", Text: "Rotate the signing keys.", Metadata: map[string]any{"lang": "en", "stars": 1, "time": "2024-01-01", "_file": map[string]any{"time": "2030-01-01T00:00:00Z", "kind": "csv", "path": "a.csv"}}},
		{ID: "more", Text: "Rotate the signing keys with keyctl or by hand.", Metadata: map[string]any{"lang": "en", "stars": []any{1, 900}, "_file": map[string]any{"time": "2023-12-31T23:00:00-02:00", "kind": "csv", "path": "a.csv"}}},
		{ID: "bees", Text: strings.Repeat("Bees fly from flower to flower and rotate. ", 20), Metadata: map[string]any{"lang": "de", "stars": 5, "kind": "essay", "_file": map[string]any{"kind": "csv", "path": "a.csv"}}},
	})
	hits := func(q engine.Query) (ids string) {
		t.Helper()
		q.K = 3
		res, err := db.Search(t.Context(), q)
		if err != nil {
			t.Fatal(err)
		}
		for i, h := range res.Hits {
			if h.Rank != i+1 {
				t.Errorf("hit %d has rank %d", i+1, h.Rank)
			}
			ids += " " + h.ID
		}
		return ids
	}
	for _, mode := range []string{engine.ModeHybrid, engine.ModeDense, engine.ModeLexical} {
		q := func(q engine.Query) engine.Query { q.Text, q.Mode = "rotate signing keys", mode; return q }
		for _, c := range []struct {
			q    engine.Query
			want string
		}{
			{engine.Query{}, " keys more bees"},
			{engine.Query{Boost: "100*field(stars, 500)"}, " more keys bees"},
			{engine.Query{Sort: "time desc"}, " more keys bees"},
			{engine.Query{Sort: "stars"}, " keys more bees"},
			{engine.Query{Sort: "lang"}, " bees keys more"},
			{engine.Query{GroupBy: "lang"}, " keys bees"},
			{engine.Query{GroupBy: "lang", PerGroup: 2}, " keys more bees"},
			{engine.Query{GroupBy: "kind"}, " keys bees"},
			{engine.Query{Filter: filter.Eq("kind", "csv")}, " keys more"},
			{engine.Query{Filter: filter.Gt("time", "2024-01-01T00:30:00Z")}, " more"},
			{engine.Query{Filter: filter.Eq("_file.kind", "csv")}, " keys more bees"},
		} {
			if got := hits(q(c.q)); got != c.want {
				t.Errorf("%+v, %s:%s, want%s", c.q, mode, got, c.want)
			}
		}
		boosted := q(engine.Query{Boost: "2*field(stars, 900) - 0.1*field(stars, 1)"})
		x, err := db.Explain(t.Context(), boosted, "more")
		sum := 0.0
		for _, term := range x.Terms {
			sum += term.Weight * term.Value
		}
		if err != nil || math.Abs(sum-float64(x.Score)) > 1e-4 || !strings.Contains(fmt.Sprint(x.Terms), "{field(stars, 900)") {
			t.Errorf("%s: the terms %+v make %v, %v", mode, x.Terms, x.Score, err)
		}
	}
	if got, err := db.Facets(t.Context(), engine.Filter{}, "kind", 3); err != nil || fmt.Sprint(got) != "[{csv 2} {essay 1}]" {
		t.Errorf("by kind: %v, %v", got, err)
	}
	for _, q := range []engine.Query{{Boost: "field(stars)"}, {Sort: "id"}, {GroupBy: "id"}, {PerGroup: 1}} {
		q.Text = "keys"
		if _, err := db.Search(t.Context(), q); !errors.Is(err, engine.ErrInvalid) {
			t.Errorf("%+v: %v", q, err)
		}
	}
	fill(t, db, []engine.Document{{ID: "named", Text: "We meet on Tuesdays.", Metadata: map[string]any{"tags": []any{"walrus"}, "_file": map[string]any{"path": "Project Phoenix.md", "root": "/r", "words": 1}}}})
	for _, mode := range []string{engine.ModeHybrid, engine.ModeLexical} {
		for _, query := range []string{"project phoenix", "walrus", "title:phoenix"} {
			if got := hits(engine.Query{Text: query, Mode: mode}); !strings.HasPrefix(got, " named") {
				t.Errorf("%s finds%s by the words of a file, %s", query, got, mode)
			}
		}
	}
	long := strings.Repeat("Something else is said here. ", 60) + "The vault is open. " + strings.Repeat("Something else is said here. ", 60)
	fill(t, db, []engine.Document{{ID: "other", Text: long}, {ID: "long", Text: long, Metadata: map[string]any{"_file": map[string]any{"path": "gryphon.txt", "words": 1}}}})
	for _, mode := range []string{engine.ModeHybrid, engine.ModeLexical} {
		r, err := db.Search(t.Context(), engine.Query{Text: "gryphon vault", Mode: mode, PerChunk: true})
		if err != nil || len(r.Hits) == 0 || r.Hits[0].ID != "long" || !strings.Contains(r.Hits[0].Text, "vault") || r.Hits[0].Chunk == 0 {
			t.Errorf("gryphon vault finds %+v by the name of a file, %s, %v", r.Hits, mode, err)
		}
	}
}
