package engine_test

import (
	"errors"
	"slices"
	"testing"

	"github.com/lexsem/lexsem/engine"
	"github.com/lexsem/lexsem/engine/filter"
	"github.com/lexsem/lexsem/index"
)

// TestOperators: whatever the index, the mode and the token states, every document found meets the operators of the
// query, and all that meet them are found; before and after reopening.
func TestOperators(t *testing.T) {
	t.Parallel()
	long := "The last of many sentences says that a queue is ready."
	for range 30 {
		long = "Some words come first, as texts are long and have parts. " + long
	}
	docs := []engine.Document{
		{ID: "keys", Title: "Rotation", Text: "Rotate the signing keys with keyctl rotate.", Metadata: map[string]any{"n": 1}},
		{ID: "apart", Text: "Keys that open doors, and a signing of papers.", Metadata: map[string]any{"n": 2}},
		{ID: "backup", Title: "Keys and backup", Text: "Back the keys up before you rotate them.", Metadata: map[string]any{"n": 3}},
		{ID: "queue", Title: "Ready queue", Text: long, Metadata: map[string]any{"n": 4}},
		{ID: "camel", Text: "UnknownAuthorityError says that nobody knows who has signed it.", Metadata: map[string]any{"n": 5}},
		{ID: "gone", Text: "Rotate the signing keys.", Metadata: map[string]any{"n": 6}},
	}
	cases := []struct {
		query  string
		filter string
		want   []string // sorted
	}{
		{query: `"signing keys"`, want: []string{"keys"}},
		{query: `"sign key"`, want: []string{"keys"}}, // forms of a word are equal
		{query: `rotate "signing keys"`, want: []string{"keys"}},
		{query: `keys +rotate`, want: []string{"backup", "keys"}},
		{query: `keys +rotate -"signing keys"`, want: []string{"backup"}},
		{query: `keys -backup`, want: []string{"apart", "camel", "keys", "queue"}},
		{query: `keys -rotate`, want: []string{"apart", "camel", "queue"}},
		{query: `title:keys`, want: []string{"backup"}},
		{query: `title:"ready queue"`, want: []string{"queue"}},
		{query: `keys -title:keys -title:rotation`, want: []string{"apart", "camel", "queue"}},
		{query: `rotat*`, want: []string{"backup", "keys"}},
		{query: `no*`, want: []string{"camel"}}, // "no" alone is a function word
		{query: `title:rota*`, want: []string{"keys"}},
		{query: `keys -keyc*`, want: []string{"apart", "backup", "camel", "queue"}},
		{query: `+authority`, want: []string{"camel"}},
		{query: `"sentences says" words`, want: []string{"queue"}}, // of a later chunk
		{query: `+first +queue`, want: []string{"queue"}},          // of different chunks
		{query: `+"never written"`, want: nil},
		{query: `"never written" +rotate`, want: []string{"backup", "keys"}}, // a quoted phrase is required if a document has it
		{query: `"never written" "signing keys"`, want: []string{"keys"}},
		{query: `-signing -rotate`, want: []string{"queue"}}, // "signed" is a form of it
		{query: `-"signing keys"`, want: []string{"apart", "backup", "camel", "queue"}},
		{query: `keys +rotate`, filter: "n >= 3", want: []string{"backup"}},
		{query: `-signing`, filter: "n < 4", want: []string{"backup"}},
	}
	for _, kind := range index.Kinds() {
		for _, states := range []string{engine.TokenStatesOff, engine.TokenStatesOn} {
			t.Run(kind+"/"+states, func(t *testing.T) {
				t.Parallel()
				dir, o := t.TempDir(), engine.Options{Index: kind, TokenStates: states, ChunkTokens: 24, NoSync: true}
				e := open(t, dir, o)
				add(t, e, docs)
				if _, err := e.Delete(t.Context(), []string{"gone"}); err != nil {
					t.Fatal(err)
				}
				for again := range 2 {
					for _, c := range cases {
						for _, mode := range []string{engine.ModeHybrid, engine.ModeDense, engine.ModeLexical} {
							q := engine.Query{Text: c.query, Mode: mode, K: 50, Ef: 100}
							if c.filter != "" {
								var err error
								if q.Filter, err = filter.Parse(c.filter); err != nil {
									t.Fatal(err)
								}
							}
							r := search(t, e, q)
							var got []string
							for _, h := range r.Hits {
								got = append(got, h.ID)
							}
							slices.Sort(got)
							want := c.want
							if mode == engine.ModeLexical && c.query[0] == 'k' { // which finds documents with the word alone
								want = slices.DeleteFunc(slices.Clone(want), func(id string) bool { return id == "queue" || id == "camel" })
							}
							if !slices.Equal(got, want) {
								t.Errorf("%s, %s, filter %q: %v, want %v", mode, c.query, c.filter, got, want)
							}
							if r.Trace.Filtered != len(c.want) || len(r.Trace.Required)+len(r.Trace.Excluded) == 0 {
								t.Errorf("%s, %s: trace of %d documents, required %q, excluded %q", mode, c.query, r.Trace.Filtered, r.Trace.Required, r.Trace.Excluded)
							}
						}
					}
					if again == 0 {
						if err := e.Close(); err != nil {
							t.Fatal(err)
						}
						e = open(t, dir, o)
					}
				}
			})
		}
	}
}

// TestOperatorsAlikeInEachCall: a batch, an explanation and a vector read the operators as Search does, and Plain
// takes a text as it is.
func TestOperatorsAlikeInEachCall(t *testing.T) {
	t.Parallel()
	e := open(t, t.TempDir(), engine.Options{NoSync: true})
	add(t, e, []engine.Document{{ID: "a", Text: "Rotate the signing keys."}, {ID: "b", Text: "Rotate the tyres."}})
	q := engine.Query{Text: "rotate -tyres"}
	batch, err := e.SearchBatch(t.Context(), []engine.Query{q, {Text: "-keys"}, {Text: q.Text, Plain: true}})
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range [][]string{{"a"}, {"b"}, {"b", "a"}} {
		var got []string
		for _, h := range batch[i].Hits {
			got = append(got, h.ID)
		}
		if !slices.Equal(got, want) {
			t.Errorf("query %d of a batch: %v, want %v", i, got, want)
		}
	}
	// What operators name is taken as typed, and the words beside them are repaired.
	res := search(t, e, engine.Query{Text: "signng rota* -tyrs"})
	if res.For != "signing rota* -tyrs" || len(res.Hits) != 2 || !slices.Equal(res.Trace.Excluded, []string{"tyrs"}) {
		t.Errorf("repaired as %q, excluded %q, %d hits", res.For, res.Trace.Excluded, len(res.Hits))
	}
	if _, err := e.Explain(t.Context(), q, "b"); !errors.Is(err, engine.ErrNotFound) {
		t.Errorf("a document that is excluded: %v", err)
	}
	x, err := e.Explain(t.Context(), q, "a")
	if err != nil || x.Rank != 1 || !slices.Equal(x.Trace.Excluded, []string{"tyres"}) {
		t.Errorf("rank %d, trace %+v, %v", x.Rank, x.Trace, err)
	}
	if x, err = e.Explain(t.Context(), engine.Query{Text: "-tyres"}, "a"); err != nil || x.Rank != 1 {
		t.Errorf("a query that only excludes: rank %d, %v", x.Rank, err)
	}
	v, _, err := e.Vector(t.Context(), q)
	w, _, err2 := e.Vector(t.Context(), engine.Query{Text: "rotate", Plain: true})
	if err != nil || err2 != nil || !slices.Equal(v, w) {
		t.Errorf("the excluded word is in the vector: %v, %v", err, err2)
	}
}
