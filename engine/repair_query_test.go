package engine_test

import (
	"context"
	"errors"
	"reflect"
	"slices"
	"testing"

	"github.com/lexsem/lexsem/encoder"
	"github.com/lexsem/lexsem/engine"
	"github.com/lexsem/lexsem/engine/fusion"
	"github.com/lexsem/lexsem/index"
)

var manual = []engine.Document{
	{ID: "keys", Text: "Rotate the signing keys with keyctl, once a quarter."},
	{ID: "tea", Text: "Green tea wants water of eighty degrees."},
	{ID: "door", Text: "The door needs oil, and the lock another screw."},
	{ID: "disk", Text: "The disk is full: remove old logs, then start again."},
}

// ways are the ways of a search.
func ways() map[string]engine.Query {
	all := map[string]engine.Query{}
	for _, mode := range []string{engine.ModeAuto, engine.ModeDense, engine.ModeLexical, engine.ModeHybrid} {
		all[mode] = engine.Query{Mode: mode}
		all[mode+"/chunks"] = engine.Query{Mode: mode, PerChunk: true, Spans: true, Collapse: true}
		if mode != engine.ModeLexical {
			all[mode+"/none"] = engine.Query{Mode: mode, Variant: engine.VariantNone}
			all[mode+"/rlr"] = engine.Query{Mode: mode, Variant: "rlr"}
		}
	}
	all["rrf"] = engine.Query{Fusion: fusion.Options{Kind: fusion.RRF}}
	all["convex"] = engine.Query{Fusion: fusion.Options{Kind: fusion.Convex}}
	return all
}

// TestRepairs: in every way, a mistyped word is searched for as repaired too, unless the query is exact.
func TestRepairs(t *testing.T) {
	t.Parallel()
	const typed, repaired = "rotaet the sigining keys", "rotate the signing keys"
	open := map[string]func() (*engine.Engine, error){
		"hash": func() (*engine.Engine, error) {
			return engine.Open(t.Context(), "", hash(t), engine.Options{InMemory: true})
		},
		"no tokens": func() (*engine.Engine, error) {
			return engine.Open(t.Context(), "", noTokens(t), engine.Options{InMemory: true})
		},
		"token states": func() (*engine.Engine, error) {
			return engine.Open(t.Context(), "", hash(t), engine.Options{InMemory: true, TokenStates: engine.TokenStatesOn})
		},
	}
	for _, kind := range index.Kinds() {
		open[kind] = func() (*engine.Engine, error) {
			return engine.Open(t.Context(), "", hash(t), engine.Options{InMemory: true, Index: kind})
		}
	}
	for name, open := range open {
		e, err := open()
		if err != nil {
			t.Fatal(name, err)
		}
		add(t, e, manual)
		if err := e.Flush(t.Context()); err != nil {
			t.Fatal(name, err)
		}
		explained := 0
		var qs []engine.Query
		var wants []engine.Result
		for way, q := range ways() {
			q.Text = typed
			got := search(t, e, q)
			if got.For != repaired || len(got.Hits) == 0 || got.Hits[0].ID != "keys" {
				t.Errorf("%s, %s: for %q, want %q; hits %v", name, way, got.For, repaired, got.Hits)
			}
			qs, wants = append(qs, q), append(wants, got)
			x, err := e.Explain(t.Context(), q, "keys")
			if err != nil || x.For != repaired || x.Score != got.Hits[0].Score {
				t.Errorf("%s, %s: explained for %q with score %v, want %q and %v: %v", name, way, x.For, x.Score, repaired, got.Hits[0].Score, err)
			}
			var words []string
			for _, tok := range x.Tokens {
				words = append(words, typed[tok.Start:tok.End])
			}
			if len(words) > 0 && !slices.Contains(words, "sigining") {
				t.Errorf("%s, %s: the tokens come from %q, want the mistyped word among them", name, way, words)
			}
			explained += len(words)
			q.Exact = true
			if got := search(t, e, q); got.For != "" {
				t.Errorf("%s, %s: an exact query was searched for as %q", name, way, got.For)
			} else if q.Mode == engine.ModeLexical && got.Hits[0].Presence >= wants[len(wants)-1].Hits[0].Presence {
				t.Errorf("%s, %s: words give %v exact and %v repaired", name, way, got.Hits[0].Presence, wants[len(wants)-1].Hits[0].Presence)
			}
			qs, wants = append(qs, q), append(wants, search(t, e, q))
			q.Exact, q.Text = false, `"rotaet" the "sigining keys"`
			if got := search(t, e, q); got.For != "" {
				t.Errorf("%s, %s: a query in quotes was searched for as %q", name, way, got.For)
			}
			q.Text = repaired
			if got, exact := search(t, e, q), search(t, e, exactly(q)); got.For != "" || !reflect.DeepEqual(untimed(got), untimed(exact)) {
				t.Errorf("%s, %s: a query without a typo gives %+v, exact %+v", name, way, got, exact)
			} else if mistyped := wants[len(wants)-2].Trace; mistyped.Lexical != got.Trace.Lexical || mistyped.Unknown != got.Trace.Unknown {
				t.Errorf("%s, %s: a mistyped query has %d tokens with weight and %v unknown, the repaired one %d and %v", name, way, mistyped.Lexical, mistyped.Unknown, got.Trace.Lexical, got.Trace.Unknown)
			}
		}
		if explained == 0 {
			t.Errorf("%s: no token is explained", name)
		}
		batch, err := e.SearchBatch(t.Context(), qs)
		if err != nil {
			t.Fatal(name, err)
		}
		for i, got := range batch {
			if !reflect.DeepEqual(untimed(got), untimed(wants[i])) {
				t.Errorf("%s: in a batch %+v gives %+v, alone %+v", name, qs[i], got, wants[i])
			}
		}
		v, _, err := e.Vector(t.Context(), engine.Query{Text: typed, Variant: engine.VariantNone})
		exact, _, err2 := e.Vector(t.Context(), engine.Query{Text: typed, Variant: engine.VariantNone, Exact: true})
		if err := errors.Join(err, err2); err != nil || reflect.DeepEqual(v, exact) {
			t.Errorf("%s: the vector of a mistyped query is that of an exact one: %v", name, err)
		}
		if err := e.Close(); err != nil {
			t.Fatal(name, err)
		}
	}
}

func exactly(q engine.Query) engine.Query {
	q.Exact = true
	return q
}

// noTokens is an encoder without a tokenizer, whose databases modulate by their words.
func noTokens(t *testing.T) encoder.Encoder {
	h := hash(t)
	return encoder.Func("plain", h.Dim(), func(ctx context.Context, texts []string) (vectors [][]float32, err error) {
		out, err := h.Encode(ctx, encoder.Query, encoder.Texts(texts...), encoder.NeedDense)
		for _, o := range out {
			vectors = append(vectors, o.Dense)
		}
		return vectors, err
	})
}

// learned is an encoder with a vocabulary of some words.
type learned struct {
	encoder.Encoder
	words []string
}

func (l learned) Token(id int32) string {
	for _, w := range l.words {
		if l.Tokenize(encoder.Query, w).IDs[1] == id {
			return w
		}
	}
	return ""
}

// TestKnownToTheModel: a word that the model knows is searched for as it is typed.
func TestKnownToTheModel(t *testing.T) {
	t.Parallel()
	for typed, want := range map[string]string{"rotaet keys": "", "rotate kesy": "rotate keys"} {
		e, err := engine.Open(t.Context(), "", learned{hash(t), []string{"rotaet"}}, engine.Options{InMemory: true})
		if err != nil {
			t.Fatal(err)
		}
		add(t, e, manual)
		if got := search(t, e, engine.Query{Text: typed}).For; got != want {
			t.Errorf("%q was searched for as %q, want %q", typed, got, want)
		}
		if err := e.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// TestRepairsFollowCommits: the vocabulary is that of the state that is searched.
func TestRepairsFollowCommits(t *testing.T) {
	t.Parallel()
	e, err := engine.Open(t.Context(), "", hash(t), engine.Options{InMemory: true})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	look := func(want string) {
		t.Helper()
		if got := search(t, e, engine.Query{Text: "rotaet"}).For; got != want {
			t.Errorf("searched for %q, want %q", got, want)
		}
	}
	look("")
	add(t, e, manual)
	look("rotate")
	add(t, e, []engine.Document{{ID: "typo", Text: "They rotaet."}})
	look("")
	if _, err := e.Delete(t.Context(), []string{"typo"}); err != nil {
		t.Fatal(err)
	}
	look("rotate")
	if _, err := e.Delete(t.Context(), []string{"keys"}); err != nil {
		t.Fatal(err)
	}
	look("")
}

// TestRerankerReadsTheRepaired: a reranker is asked what was searched for.
func TestRerankerReadsTheRepaired(t *testing.T) {
	t.Parallel()
	var asked []string
	r := rerankFunc(func(query string, texts []string) []float64 {
		asked = append(asked, query)
		return make([]float64, len(texts))
	})
	e, err := engine.Open(t.Context(), "", hash(t), engine.Options{InMemory: true, Reranker: r})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	add(t, e, manual)
	q := engine.Query{Text: "rotaet keys"}
	search(t, e, q)
	if _, err := e.Explain(t.Context(), q, "keys"); err != nil {
		t.Fatal(err)
	}
	if _, err := e.SearchBatch(t.Context(), []engine.Query{q}); err != nil {
		t.Fatal(err)
	}
	search(t, e, exactly(q))
	if want := []string{"rotate keys", "rotate keys", "rotate keys", "rotaet keys"}; !slices.Equal(asked, want) {
		t.Errorf("the reranker was asked %q, want %q", asked, want)
	}
}

type rerankFunc func(query string, texts []string) []float64

func (f rerankFunc) Rerank(_ context.Context, query string, texts []string) ([]float64, error) {
	return f(query, texts), nil
}
