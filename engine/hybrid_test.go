package engine_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/lexsem/lexsem/encoder"
	"github.com/lexsem/lexsem/engine"
	"github.com/lexsem/lexsem/engine/fusion"
)

func TestExactCodesAreFoundFirst(t *testing.T) {
	e := open(t, t.TempDir(), engine.Options{})
	d := docs(0, 200)
	d = append(d,
		engine.Document{ID: "reset", Text: "The peer closed it: ERR_CONN_RESET was reported by the proxy."},
		engine.Document{ID: "refused", Text: "ERR_CONN_REFUSED means that nothing listens there."},
		engine.Document{ID: "version", Text: "Fixed since v1.2.3 of the client."},
		engine.Document{ID: "func", Text: "io.ReadAll reads until the end of its input."})
	add(t, e, d)
	for query, want := range map[string]string{
		"ERR_CONN_RESET": "reset", "ERR_CONN_REFUSED": "refused", "v1.2.3": "version", "io.ReadAll": "func", "ReadAll": "func",
	} {
		for _, mode := range []string{engine.ModeHybrid, engine.ModeLexical, ""} {
			r := search(t, e, engine.Query{Text: query, Mode: mode, K: 3})
			if len(r.Hits) == 0 || r.Hits[0].ID != want {
				t.Errorf("%s in mode %q: %v, want %s first", query, mode, ids(r), want)
			}
		}
	}
}

// shares is what the words give a hit of a search that has all documents, with a reach.
func shares(all []engine.Hit, h engine.Hit, reach float32) float32 {
	most := float32(0)
	for _, h := range all {
		most = max(most, h.Presence)
	}
	lift := float32(1)
	if most > 0 {
		lift = max(1, reach/most)
	}
	raised := func(share float32) float32 { return float32(math.Pow(float64(share*lift), 1.25)) }
	return 0.25*raised(h.Presence) + 0.07*raised(h.Near) + 0.1*h.Coverage*lift + 0.2*h.Pair*lift + 0.2*raised(h.TitleMatch)
}

// TestCalibratedScore recomputes the fused score of every hit from its parts.
func TestCalibratedScore(t *testing.T) {
	e := open(t, t.TempDir(), engine.Options{})
	add(t, e, docs(0, 120))
	long := search(t, e, engine.Query{Text: "topic3 among other things that nobody here ever wrote about", K: 120, Fusion: fusion.Options{Reach: 0.55}})
	for _, h := range long.Hits {
		if want := h.Modulated + shares(long.Hits, h, 0.55); math.Abs(float64(h.Score-want)) > 1e-5 {
			t.Fatalf("%+v: score is not %v", h, want)
		}
	}
	if most := long.Hits[0]; most.Presence <= 0 || most.Presence >= 0.55 || most.Score-most.Modulated < 0.25*0.47 { // 0.55 to the power 1.25
		t.Errorf("of a long request the first hit has %+v", most)
	}
	r := search(t, e, engine.Query{Text: "topic3 and of matter4 in a long sentence", K: 120})
	if len(r.Hits) != 120 {
		t.Fatalf("%d hits", len(r.Hits))
	}
	some := false
	for i, h := range r.Hits {
		want := h.Modulated + shares(r.Hits, h, 0)
		if math.Abs(float64(h.Score-want)) > 1e-5 || h.Coverage < 0 || h.Coverage >= 1 || h.Presence < h.Coverage || h.Presence > 1 || h.Pair < 0 || h.Pair > 1 {
			t.Fatalf("%+v: score is not %v", h, want)
		}
		if i > 0 && h.Score > r.Hits[i-1].Score {
			t.Fatalf("hit %d is better than the one before", h.Rank)
		}
		some = some || h.Coverage > 0 && h.Pair > 0 && h.Presence < 1
	}
	if !some {
		t.Fatal("no hit has coverage and a pair")
	}
	// Weights are the caller's.
	r = search(t, e, engine.Query{Text: "topic3 and of matter4", K: 5, Fusion: fusion.Options{Presence: -1, Near: -1, Beta: 2, Pair: -1, Title: -1}})
	for _, h := range r.Hits {
		if d := h.Score - (h.Modulated + 2*h.Coverage); math.Abs(float64(d)) > 1e-5 {
			t.Fatalf("%+v is off by %v", h, d)
		}
	}
}

// ignorant is an encoder that has no tokens for words with digits.
type ignorant struct{ encoder.Encoder }

func (g ignorant) Encode(ctx context.Context, role encoder.Role, in []encoder.Input, need encoder.Need) ([]encoder.Output, error) {
	out, err := g.Encoder.Encode(ctx, role, in, need)
	for i := range out {
		forget(&out[i].Tokens, in[i].Text)
	}
	return out, err
}

func (g ignorant) Tokenize(role encoder.Role, text string) encoder.Tokens {
	t := g.Encoder.Tokenize(role, text)
	forget(&t, text)
	return t
}

func forget(t *encoder.Tokens, text string) {
	for i, o := range t.Offsets {
		t.Special[i] = t.Special[i] || strings.ContainsAny(text[o.Start:o.End], "0123456789")
	}
}

// TestUnknownWords: the cosine counts as much less as the encoder knows less of the
// query; a vector of the caller's counts in full, and an encoder that knows nothing
// leaves the words alone to decide.
func TestUnknownWords(t *testing.T) {
	e, err := engine.Open(t.Context(), t.TempDir(), ignorant{hash(t)}, engine.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	add(t, e, docs(0, 120))
	own := slices.Clone(search(t, e, engine.Query{Text: "sentence", K: 1}).Hits)
	d, err := e.Get(t.Context(), own[0].ID)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		q       engine.Query
		unknown float64
	}{
		{engine.Query{Text: "long sentence"}, 0},
		{engine.Query{Text: "sentence matter4"}, 7. / 15},
		{engine.Query{Text: "topic3 matter4"}, 1},
		{engine.Query{Text: "topic3 matter4", Vector: d.Vector}, 0},
		{engine.Query{Text: "long sentence", Fusion: fusion.Options{Unknown: .5}}, 0},
	} {
		c.q.K = 120
		r := search(t, e, c.q)
		if math.Abs(r.Trace.Unknown-c.unknown) > 1e-9 {
			t.Errorf("%q: %v is unknown, want %v", c.q.Text, r.Trace.Unknown, c.unknown)
		}
		share := float32(1 - max(c.unknown, c.q.Fusion.Unknown))
		for _, h := range r.Hits {
			want := share*h.Modulated + shares(r.Hits, h, 0) + 2*(1-share)*h.Coverage
			if math.Abs(float64(h.Score-want)) > 1e-5 {
				t.Fatalf("%q: %+v: score is not %v", c.q.Text, h, want)
			}
		}
		x, err := e.Explain(t.Context(), c.q, r.Hits[0].ID)
		if err != nil || math.Abs(float64(x.Hit.Score-r.Hits[0].Score)) > 1e-5 {
			t.Errorf("%q is explained as %v of %v, %v", c.q.Text, x.Hit.Score, r.Hits[0].Score, err)
		}
	}
}

func TestOtherFusions(t *testing.T) {
	e := open(t, t.TempDir(), engine.Options{})
	add(t, e, docs(0, 80))
	for _, f := range []fusion.Options{{Kind: fusion.RRF}, {Kind: fusion.Convex}, {Kind: fusion.Convex, LexicalShare: 1}} {
		r := search(t, e, engine.Query{Text: text(17), K: 80, Fusion: f})
		if len(r.Hits) != 80 || r.Hits[0].ID != "d17" {
			t.Errorf("%+v: %d hits, first %v", f, len(r.Hits), r.Hits[0].ID)
		}
		for i := 1; i < len(r.Hits); i++ {
			if r.Hits[i].Score > r.Hits[i-1].Score {
				t.Errorf("%+v: hit %d out of order", f, i+1)
			}
		}
	}
}

// TestLegsFollowTheCorpus: after random adds, updates and deletes all legs
// answer as those of a database made afresh of what is left.
func TestLegsFollowTheCorpus(t *testing.T) {
	t.Parallel()
	const seed = 5
	rng := rand.New(rand.NewPCG(seed, seed))
	e := open(t, t.TempDir(), engine.Options{NoSync: true})
	left := map[string]string{}
	for range 60 {
		var batch []engine.Document
		for range 1 + rng.IntN(12) {
			id := fmt.Sprint("x", rng.IntN(80))
			batch = append(batch, engine.Document{ID: id, Text: text(rng.IntN(500))})
		}
		if _, err := e.Upsert(t.Context(), batch); err != nil {
			t.Fatal(err)
		}
		for _, d := range batch {
			left[d.ID] = d.Text
		}
		id := fmt.Sprint("x", rng.IntN(80))
		if _, err := e.Delete(t.Context(), []string{id}); err != nil {
			t.Fatal(err)
		}
		delete(left, id)
	}
	fresh := open(t, t.TempDir(), engine.Options{NoSync: true})
	var all []engine.Document
	for _, id := range slices.Sorted(maps.Keys(left)) {
		all = append(all, engine.Document{ID: id, Text: left[id]})
	}
	add(t, fresh, all)
	// Sums in another order may round a code of the local bridges to the other
	// side, by 1/127 of the largest of its row.
	within := map[string]float64{engine.ModeDense: 1e-3, engine.ModeLexical: 2e-5, engine.ModeHybrid: 2e-5}
	for i := range 20 {
		for _, mode := range []string{engine.ModeDense, engine.ModeLexical, engine.ModeHybrid} {
			q := engine.Query{Text: strings.Join(strings.Fields(text(i * 7))[2:9], " "), Mode: mode, K: 80}
			a, b := scores(search(t, e, q)), scores(search(t, fresh, q))
			if len(a) != len(b) {
				t.Fatalf("%s: %d hits, %d in a fresh database", mode, len(a), len(b))
			}
			for id, s := range a {
				if d := math.Abs(float64(s - b[id])); d > within[mode]*math.Max(1, math.Abs(float64(s))) {
					t.Fatalf("seed %d, %s, %s: score %v, %v in a fresh database", seed, mode, id, s, b[id])
				}
			}
		}
	}
}

func scores(r engine.Result) map[string]float32 {
	m := map[string]float32{}
	for _, h := range r.Hits {
		m[h.ID] = h.Score
	}
	return m
}

func TestLanguageIsTheDatabases(t *testing.T) {
	dir := t.TempDir()
	e := open(t, dir, engine.Options{Language: "de"})
	add(t, e, []engine.Document{{ID: "a", Text: "die Häuser der Stadt"}, {ID: "b", Text: "ein Baum"}})
	if r := search(t, e, engine.Query{Text: "Haus", Mode: engine.ModeLexical}); !slices.Equal(ids(r), []string{"a"}) {
		t.Fatalf("%v: German words are not stemmed", ids(r))
	}
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := engine.Open(t.Context(), dir, hash(t), engine.Options{Language: "en"}); !errors.Is(err, engine.ErrInvalid) {
		t.Fatalf("another language: %v", err)
	}
	if _, err := engine.Open(t.Context(), t.TempDir(), hash(t), engine.Options{Language: "xx"}); !errors.Is(err, engine.ErrInvalid) {
		t.Fatalf("unknown language: %v", err)
	}
	e = open(t, dir, engine.Options{})
	if r := search(t, e, engine.Query{Text: "Haus", Mode: engine.ModeLexical}); !slices.Equal(ids(r), []string{"a"}) {
		t.Fatalf("%v after reopening", ids(r))
	}
}
