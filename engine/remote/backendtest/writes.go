package backendtest

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/lexsem/lexsem/encoder"
	"github.com/lexsem/lexsem/engine"
	"github.com/lexsem/lexsem/engine/filter"
)

func writes(t *testing.T, open func(t *testing.T, enc encoder.Encoder) engine.Database) {
	db := open(t, encoder.NewHash(dim))
	ctx := t.Context()
	docs := documents(12)
	fill(t, db, docs)
	get := func(id string) engine.Document {
		t.Helper()
		d, err := db.Get(ctx, id)
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	for _, d := range docs {
		if g := get(d.ID); g.Title != d.Title || g.Text != d.Text || fmt.Sprint(g.Metadata) != fmt.Sprint(d.Metadata) || (len(g.Vector) == dim) == (len(d.Text) > 200) {
			t.Errorf("%+v comes back as %+v", d, g)
		}
	}
	if _, err := db.Add(ctx, docs[:1]); !errors.Is(err, engine.ErrExists) {
		t.Errorf("adding what is there: %v", err)
	}
	var one *engine.DocumentError
	if _, err := db.Add(ctx, []engine.Document{{ID: "x", Text: "a"}, {ID: "x", Text: "b"}}); !errors.Is(err, engine.ErrExists) || !errors.As(err, &one) || one.Position != 1 {
		t.Errorf("an id twice: %v", err)
	}
	if res, err := db.Upsert(ctx, docs); err != nil || res.Unchanged != len(docs) || res.Replaced+res.Added != 0 {
		t.Errorf("the same again: %+v, %v", res, err)
	}
	// Another text has another vector.
	other := docs[7]
	other.Text = "an altogether different subject: volcanoes"
	if res, err := db.Upsert(ctx, []engine.Document{other}); err != nil || res.Replaced != 1 {
		t.Fatalf("%+v, %v", res, err)
	}
	if res, err := db.Search(ctx, engine.Query{Text: other.Title + " " + other.Text, Mode: engine.ModeDense, Variant: "none", K: 1}); err != nil || res.Hits[0].ID != other.ID || res.Hits[0].Cosine < .99 {
		t.Errorf("by the text that a document has now: %+v, %v", res.Hits, err)
	}
	earlier := other // in the same call
	earlier.Text = "a subject for a moment: glaciers"
	other.Text += " and lava"
	if res, err := db.Upsert(ctx, []engine.Document{earlier, other}); err != nil || res.Replaced != 2 || get(other.ID).Text != other.Text {
		t.Errorf("an id twice: %+v, %v, %q", res, err, get(other.ID).Text)
	}
	// A document in chunks becomes one without, and back.
	long, short := docs[5], docs[5]
	short.Text = "short now"
	for _, d := range []engine.Document{short, long, short} {
		if res, err := db.Upsert(ctx, []engine.Document{d}); err != nil || res.Replaced != 1 {
			t.Fatalf("%+v, %v", res, err)
		}
		if g := get(d.ID); g.Text != d.Text {
			t.Errorf("%q, want %q", g.Text, d.Text)
		}
		s, err := db.Stats(ctx)
		want := 12 + 4*2
		if d.Text == short.Text {
			want -= 4
		}
		if err != nil || s.Documents != 12 || s.Chunks < 12 || d.Text == long.Text && s.Chunks <= 12+4 {
			t.Errorf("%d documents, %d chunks (about %d), %v", s.Documents, s.Chunks, want, err)
		}
	}
	if res, err := db.Search(ctx, engine.Query{Text: "part3 of unit5 goes on", Mode: engine.ModeLexical, Variant: "none"}); err != nil || slices.ContainsFunc(res.Hits, func(h engine.Hit) bool { return h.ID == long.ID }) {
		t.Errorf("a chunk of a replaced version is found: %v, %v", ids(res.Hits), err)
	}
	if n, err := db.Patch(ctx, []engine.Patch{{ID: docs[3].ID, Metadata: map[string]any{"n": nil, "new": "x"}}, {ID: docs[10].ID, Metadata: map[string]any{"new": "x"}}}); n != 2 || err != nil {
		t.Errorf("patched %d, %v", n, err)
	}
	if g := get(docs[3].ID); g.Metadata["n"] != nil || g.Metadata["new"] != "x" || g.Text != docs[3].Text {
		t.Errorf("patched: %+v", g)
	}
	if _, err := db.Patch(ctx, []engine.Patch{{ID: "nobody", Metadata: map[string]any{"a": 1}}}); !errors.Is(err, engine.ErrNotFound) {
		t.Errorf("patch of nobody: %v", err)
	}
	if res, err := db.Search(ctx, engine.Query{Text: "topic3", Variant: "none", Filter: filter.Eq("new", "x")}); err != nil || len(res.Hits) != 2 {
		t.Errorf("found by what was patched: %v, %v", ids(res.Hits), err)
	}
	if n, err := db.DeleteWhere(ctx, filter.Eq("new", "x")); n != 2 || err != nil {
		t.Errorf("deleted %d, %v", n, err)
	}
	if _, err := db.Get(ctx, docs[3].ID); !errors.Is(err, engine.ErrNotFound) {
		t.Errorf("a deleted document: %v", err)
	}
	// A given vector is kept, and every Unicode text is stored and returned unchanged.
	v := make([]float32, dim)
	v[3] = 2
	odd := engine.Document{ID: "odd\t\"\\\u2028日本", Text: "line one\r\nline\u0000two \U0001f600", Vector: v, Metadata: map[string]any{"big": json.Number("9007199254740993.000000001"), "k.\u0000": []any{}, "": nil}}
	if res, err := db.Upsert(ctx, []engine.Document{odd}); err != nil || res.Added != 1 {
		t.Fatalf("%+v, %v", res, err)
	}
	if g := get(odd.ID); g.Text != odd.Text || g.Vector[3] != 1 || fmt.Sprint(g.Metadata) != fmt.Sprint(odd.Metadata) {
		t.Errorf("%+v comes back as %+v", odd, g)
	}
	n := 0
	for d, err := range db.All(ctx, engine.Filter{}) {
		if err != nil {
			t.Fatal(err)
		}
		if n++; d.ID == "" {
			t.Error("a document without an id")
		}
	}
	if n != 11 {
		t.Errorf("%d documents, want 11", n)
	}
	listed := map[string]int{}
	for after, more := "", true; more; {
		more = false
		of := 0
		for d, err := range db.List(ctx, engine.Filter{}, after) {
			if err != nil {
				t.Fatal(err)
			}
			if of++; of > 3 {
				more = true
				break
			}
			after = d.ID
			listed[d.ID]++
			if _, err := db.Patch(ctx, []engine.Patch{{ID: d.ID, Metadata: map[string]any{"seen": of}}}); err != nil {
				t.Fatal(err)
			}
		}
	}
	for id, times := range listed {
		if times != 1 {
			t.Errorf("%q is listed %d times", id, times)
		}
	}
	if len(listed) != n {
		t.Errorf("%d documents are listed page by page, want %d", len(listed), n)
	}
	if n, err := db.DeleteWhere(ctx, filter.And(filter.Prefix("id", "odd\t"), filter.Gt("id", "odd"))); n != 1 || err != nil {
		t.Errorf("deleted %d by a beginning of its id, %v", n, err)
	}
	if n, err := db.DeleteWhere(ctx, filter.In("id", docs[4].ID, docs[5].ID, "nobody")); n != 2 || err != nil {
		t.Errorf("deleted %d by their ids, %v", n, err)
	}
}
