package backendtest

import (
	"slices"
	"testing"

	"github.com/lexsem/lexsem/encoder"
	"github.com/lexsem/lexsem/engine"
)

// operators: in each mode every document found meets the operators of the query, and all that do are found.
func operators(t *testing.T, open func(t *testing.T, enc encoder.Encoder) engine.Database) {
	db := open(t, encoder.NewHash(dim))
	fill(t, db, []engine.Document{
		{ID: "keys", Title: "Rotation", Text: "Rotate the signing keys with keyctl rotate."},
		{ID: "apart", Text: "Keys that open doors, and a signing of papers."},
		{ID: "backup", Title: "Keys and backup", Text: "Back the keys up before you rotate them."},
		{ID: "camel", Text: "UnknownAuthorityError says that the keys of nobody are known."},
	})
	for text, want := range map[string][]string{
		`keys`:                           {"apart", "backup", "camel", "keys"},
		`"signing keys"`:                 {"keys"},
		`rotate "sign key"`:              {"keys"},
		`keys -backup`:                   {"apart", "camel", "keys"},
		`keys -"signing keys"`:           {"apart", "backup", "camel"},
		`keys +rotate`:                   {"backup", "keys"},
		`title:keys`:                     {"backup"},
		`keys -title:keys`:               {"apart", "camel", "keys"},
		`keys -title:rota*`:              {"apart", "backup", "camel"},
		`keys rotat*`:                    {"backup", "keys"},
		`keys -keyc*`:                    {"apart", "backup", "camel"},
		`keys +authority`:                {"camel"},
		`keys "never written"`:           {"apart", "backup", "camel", "keys"},
		`keys +"never written"`:          nil,
		`keys +rotate -title:"Rotation"`: {"backup"},
	} {
		for _, mode := range []string{engine.ModeHybrid, engine.ModeDense, engine.ModeLexical} {
			res, err := db.Search(t.Context(), engine.Query{Text: text, Mode: mode, K: 10})
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, h := range res.Hits {
				got = append(got, h.ID)
			}
			if slices.Sort(got); !slices.Equal(got, want) {
				t.Errorf("%s, %s: %v, want %v", mode, text, got, want)
			}
			if read := len(res.Trace.Required) + len(res.Trace.Excluded) + len(res.Trace.Unmet); (read > 0) != (text != "keys") {
				t.Errorf("%s: required %q, excluded %q", text, res.Trace.Required, res.Trace.Excluded)
			}
		}
	}
	if _, err := db.Explain(t.Context(), engine.Query{Text: "keys -backup"}, "backup"); err == nil {
		t.Error("a document that is excluded is explained")
	}
}
