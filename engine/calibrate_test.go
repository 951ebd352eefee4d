package engine_test

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/lexsem/lexsem/encoder"
	"github.com/lexsem/lexsem/engine"
	"github.com/lexsem/lexsem/engine/fusion"
	"github.com/lexsem/lexsem/internal/relevance"
	"github.com/lexsem/lexsem/internal/vec"
	"github.com/lexsem/lexsem/store"
)

// narrow is an encoder whose vectors have much in common: those of texts without relation have a cosine of about 0.75.
type narrow struct {
	encoder.Encoder
	asked *atomic.Int64 // sentences that measure it
	fail  error
}

func (n narrow) Encode(ctx context.Context, role encoder.Role, in []encoder.Input, need encoder.Need) ([]encoder.Output, error) {
	if len(in) == 64 && strings.HasPrefix(in[0].Text, "The bakery") {
		if n.asked.Add(64); n.fail != nil {
			return nil, n.fail
		}
	}
	out, err := n.Encoder.Encode(ctx, role, in, need)
	for _, o := range out {
		if o.Dense != nil {
			vec.Scale(o.Dense, 0.5)
			o.Dense[0] += 0.866
			vec.Normalize(o.Dense)
		}
	}
	return out, err
}

func (n narrow) Fingerprint() encoder.Fingerprint {
	fp := n.Encoder.Fingerprint()
	fp.Model, fp.Probe = "narrow", [4][]float32{}
	return fp
}

// unrelatedOf is what the manifest of a database has of its encoder.
func unrelatedOf(t *testing.T, dir string) float64 {
	t.Helper()
	st, err := store.Open(dir, store.Options{ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	var fp encoder.Fingerprint
	if err := json.Unmarshal(st.Manifest().Encoder, &fp); err != nil {
		t.Fatal(err)
	}
	return fp.Unrelated
}

// TestCalibration: an encoder is measured once, before the first documents are encoded; the result is kept and weighs
// its cosines in fusion. A database of an older version is measured with the next documents, never in a search.
func TestCalibration(t *testing.T) {
	dir := t.TempDir()
	enc := narrow{Encoder: hash(t), asked: new(atomic.Int64)}
	open := func(enc encoder.Encoder) *engine.Engine {
		t.Helper()
		e, err := engine.Open(t.Context(), dir, enc, engine.Options{})
		if err != nil {
			t.Fatal(err)
		}
		return e
	}
	close := func(e *engine.Engine) {
		t.Helper()
		if err := e.Close(); err != nil {
			t.Fatal(err)
		}
	}
	down := enc
	down.fail = errors.New("down")
	e := open(down)
	if _, err := e.Add(t.Context(), docs(0, 3)); !errors.Is(err, down.fail) {
		t.Errorf("of an encoder that fails: %v", err)
	}
	close(e)
	if c := unrelatedOf(t, dir); c != 0 {
		t.Errorf("a failure has measured %v", c)
	}

	enc.asked.Store(0)
	e = open(enc)
	add(t, e, docs(0, 60))
	add(t, e, docs(60, 61))
	if n := enc.asked.Load(); n != 64 {
		t.Errorf("%d sentences were encoded", n)
	}
	check := func(scale float64) {
		t.Helper()
		q := engine.Query{Text: "topic3 and of matter4 in a long sentence", K: 61}
		r := search(t, e, q)
		for _, h := range r.Hits {
			if h.Probability != 0 { // it is calibrated for other cosines
				t.Errorf("%s: a probability of %v", h.ID, h.Probability)
			}
			if want := float32(scale)*h.Modulated + shares(r.Hits, h, 0); math.Abs(float64(h.Score-want)) > 1e-5 {
				t.Fatalf("%s: the score is %v, not %v", h.ID, h.Score, want)
			}
		}
		x, err := e.Explain(t.Context(), q, r.Hits[0].ID)
		if err != nil || x.Terms[0].Name != "cosine" || math.Abs(x.Terms[0].Weight-scale) > 1e-9 {
			t.Errorf("explained as %+v, %v; want a weight of %v", x.Terms, err, scale)
		}
		q.Mode = engine.ModeLexical
		if x.Probability != 0 || search(t, e, q).Hits[0].Probability == 0 {
			t.Errorf("explained with a probability of %v, and none of words alone", x.Probability)
		}
	}
	c, err := encoder.Unrelated(t.Context(), enc)
	if err != nil || c < 0.7 || c > 0.8 {
		t.Fatalf("%v, %v", c, err)
	}
	check(fusion.Scale(c))
	close(e)
	if got := unrelatedOf(t, dir); got != c {
		t.Errorf("the manifest has %v, want %v", got, c)
	}

	st, err := store.Open(dir, store.Options{}) // as an older version has left it
	if err != nil {
		t.Fatal(err)
	}
	if err := st.SetManifest(t.Context(), func(m *store.Manifest) error {
		var fp encoder.Fingerprint
		if err := json.Unmarshal(m.Encoder, &fp); err != nil {
			return err
		}
		fp.Unrelated = 0
		raw, err := json.Marshal(fp)
		m.Encoder = raw
		return err
	}); err != nil {
		t.Fatal(err)
	}
	if err := st.Close(); err != nil {
		t.Fatal(err)
	}
	enc.asked.Store(0)
	e = open(enc)
	check(1)
	if _, err := e.Upsert(t.Context(), docs(0, 5)); err != nil || enc.asked.Load() != 0 {
		t.Errorf("documents that are there already measured the encoder: %v", err)
	}
	add(t, e, docs(61, 62))
	if n := enc.asked.Load(); n != 64 {
		t.Errorf("%d sentences were encoded", n)
	}
	if _, err := e.Delete(t.Context(), []string{"d61"}); err != nil {
		t.Fatal(err)
	}
	check(fusion.Scale(c))
	close(e)
	e = open(enc)
	check(fusion.Scale(c))
	close(e)
}

// Of words that stand in the name of a file alone its vector says nothing: the estimate is that of words.
func TestProbabilityOfANamedFile(t *testing.T) {
	e := open(t, t.TempDir(), engine.Options{})
	add(t, e, docs(0, 60))
	add(t, e, []engine.Document{{ID: "p", Text: "We meet on Tuesdays.", Metadata: map[string]any{"tags": []any{"walrus"}, "_file": map[string]any{"path": "Project Phoenix.md", "root": "/r", "kind": "markdown", "words": 1}}}})
	for query, want := range map[string]float64{
		"project phoenix":         relevance.Probability(relevance.Evidence{Lexical: true, Presence: 1}),
		"walrus":                  relevance.Probability(relevance.Evidence{Lexical: true, Presence: 1}),
		"we meet":                 0,                                                                     // of the text
		"/r/Project Phoenix.md:1": relevance.Probability(relevance.Evidence{Lexical: true, Presence: 1}), // of which words know only a part
	} {
		h := search(t, e, engine.Query{Text: query}).Hits[0]
		if h.ID != "p" || want > 0 && math.Abs(float64(h.Probability)-want) > 1e-5 || want == 0 && h.Probability <= 0 {
			t.Errorf("%s: %+v, want a probability of %v", query, h, want)
		}
		x, err := e.Explain(t.Context(), engine.Query{Text: query}, "p")
		if err != nil || x.Probability != h.Probability {
			t.Errorf("%s is explained with %v, found with %v, %v", query, x.Probability, h.Probability, err)
		}
		if half := search(t, e, engine.Query{Text: query + " topic3"}).Hits[0]; want > 0 && float64(half.Probability) >= want {
			t.Errorf("%s and a word of another document: %+v", query, half)
		}
	}
	add(t, e, []engine.Document{{ID: "w", Text: "We meet on Fridays.", Metadata: map[string]any{"_file": map[string]any{"path": "notes/win.md", "root": `C:\Ann`, "kind": "markdown", "words": 1}}}})
	if h := search(t, e, engine.Query{Text: `C:\Ann\notes\win.md:1:2`}).Hits[0]; h.ID != "w" {
		t.Errorf("a path of Windows finds %+v", h)
	}
}

// TestProbability: hits of each mode have the estimate of their own cosine and words, by what the encoder's cosines say,
// and none where that is not known; an explanation says the same. A query that has nothing to do with the documents gets a low one.
func TestProbability(t *testing.T) {
	e := open(t, t.TempDir(), engine.Options{})
	d := docs(0, 60)
	add(t, e, d)
	u, err := encoder.Unrelated(t.Context(), hash(t))
	if err != nil {
		t.Fatal(err)
	}
	about := d[7].Text
	for _, q := range []engine.Query{{Text: about}, {Text: about, Mode: engine.ModeDense}, {Text: about, Mode: engine.ModeLexical}, {Text: about, PerChunk: true, K: 3, Offset: 2},
		{Text: about, Fusion: fusion.Options{Kind: fusion.RRF}}, {Text: "топик 日本 topic3"}, {Text: "qqqq zzzz"}} {
		r := search(t, e, q)
		shared := slices.ContainsFunc(r.Hits, func(h engine.Hit) bool { return h.Presence > 0 }) // words that no document has say nothing
		for _, h := range r.Hits {
			want := relevance.Probability(relevance.Evidence{Dense: r.Trace.Mode != engine.ModeLexical, Lexical: r.Trace.Mode == engine.ModeLexical || r.Trace.Mode == engine.ModeHybrid && shared,
				Cosine: float64(h.Modulated), Unrelated: u, Presence: float64(h.Presence), Unknown: r.Trace.Unknown})
			if h.Probability <= 0 || h.Probability >= 1 || math.Abs(float64(h.Probability)-want) > 1e-5 {
				t.Errorf("%+v: %+v, want %v", q, h, want)
			}
			x, err := e.Explain(t.Context(), q, h.ID)
			if err != nil || q.PerChunk == false && x.Probability != h.Probability {
				t.Errorf("%+v: %s is explained with %v, found with %v, %v", q, h.ID, x.Probability, h.Probability, err)
			}
		}
		if first := r.Hits[0]; q.Text == about && q.Offset == 0 && first.Probability < 0.9 || q.Text == "qqqq zzzz" && first.Probability >= relevance.Unlikely {
			t.Errorf("%+v: the first hit is relevant with a probability of %v", q, first.Probability)
		}
	}
	vector := search(t, e, engine.Query{Like: []string{d[7].ID}}).Hits
	if len(vector) == 0 || vector[0].Probability != 0 {
		t.Errorf("without a text: %+v", vector)
	}
	mixed := engine.Query{Text: "topic3", Like: []string{d[7].ID}}
	if h := search(t, e, mixed).Hits; h[0].Probability != 0 {
		t.Errorf("with a vector of its own: %+v", h[0])
	} else if x, err := e.Explain(t.Context(), mixed, h[0].ID); err != nil || x.Probability != 0 {
		t.Errorf("with a vector of its own it is explained with %v, %v", x.Probability, err)
	}
	for _, m := range []string{"dot", "l2"} {
		other := open(t, t.TempDir(), engine.Options{Metric: m})
		add(t, other, d)
		if h := search(t, other, engine.Query{Text: about}).Hits; h[0].Probability != 0 {
			t.Errorf("metric %s: %+v", m, h[0])
		}
	}
}
