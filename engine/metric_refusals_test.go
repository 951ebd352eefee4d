package engine_test

import (
	"bytes"
	"context"
	"errors"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/lexsem/lexsem/encoder"
	"github.com/lexsem/lexsem/engine"
	"github.com/lexsem/lexsem/engine/archive"
	"github.com/lexsem/lexsem/engine/fusion"
	"github.com/lexsem/lexsem/engine/repair"
	"github.com/lexsem/lexsem/index"
	"github.com/lexsem/lexsem/store"
)

// scaled is an encoder whose vectors are those of the hash encoder, each as long as its
// text has bytes, times by.
func scaled(name string, by *float32) encoder.Encoder {
	h := encoder.NewHash(dim)
	return encoder.FuncUnscaled(name, dim, func(ctx context.Context, texts []string) ([][]float32, error) {
		out, err := h.Encode(ctx, encoder.Passage, encoder.Texts(texts...), encoder.NeedDense)
		if err != nil {
			return nil, err
		}
		vectors := make([][]float32, len(out))
		for i, o := range out {
			for _, x := range o.Dense {
				vectors[i] = append(vectors[i], x**by*float32(len(texts[i])))
			}
		}
		return vectors, nil
	})
}

func lengthOf(v []float32) float64 {
	var s float64
	for _, x := range v {
		s += float64(x) * float64(x)
	}
	return math.Sqrt(s)
}

// TestEncoderOfLengths: vectors of an encoder are kept as it gives them, of texts in one
// piece and in chunks, by Reembed too; and an encoder that gives other lengths is
// another one.
func TestEncoderOfLengths(t *testing.T) {
	t.Parallel()
	for _, metric := range lengths {
		dir, by := t.TempDir(), float32(1)
		e := openWith(t, dir, scaled("theirs", &by), engine.Options{Metric: metric, ChunkTokens: 40})
		long := engine.Document{ID: "long", Text: strings.Repeat(text(1)+". ", 30)}
		add(t, e, append(docs(0, 40), long))
		kept := func(e *engine.Engine, factor float64) {
			t.Helper()
			for _, i := range []int{3, 17} {
				d, err := e.Get(t.Context(), docs(i, i+1)[0].ID)
				if want := factor * float64(len(text(i))); err != nil || math.Abs(lengthOf(d.Vector)-want) > 1e-3*want {
					t.Fatalf("%s: a vector of length %v, want %v (%v)", metric, lengthOf(d.Vector), want, err)
				}
			}
			hits := search(t, e, engine.Query{Text: text(17), Mode: engine.ModeDense, K: 100}).Hits
			if len(hits) != 41 || metric == index.L2 && (hits[0].ID != "d17" || hits[0].Score < -1e-3 || hits[0].Cosine < 0.9999) {
				t.Fatalf("%s: %d hits, %+v", metric, len(hits), hits[0])
			}
			if hits := search(t, e, engine.Query{Text: text(17), Mode: engine.ModeDense, K: 200, PerChunk: true}).Hits; len(hits) < 50 {
				t.Fatalf("%s: %d chunks", metric, len(hits))
			}
			vector, trace, err := e.Vector(t.Context(), engine.Query{Text: text(17)})
			if want := factor * float64(len(text(17))); err != nil || trace.Variant != engine.VariantNone || math.Abs(lengthOf(vector)-want) > 1e-3*want {
				t.Fatalf("%s: a query of length %v, %+v, %v", metric, lengthOf(vector), trace, err)
			}
			if hits := search(t, e, engine.Query{Text: text(17), Collapse: true}).Hits; len(hits) != 10 {
				t.Fatalf("%s: %d hits", metric, len(hits))
			}
			if r, err := e.Verify(t.Context(), nil); err != nil || len(r.Problems) > 0 || r.SelfRecall != 1 {
				t.Fatalf("%s: %+v, %v", metric, r, err)
			}
		}
		kept(e, 1)
		closeIt(t, e)

		by = 1.5 // all directions are the same
		e = openWith(t, dir, scaled("theirs", &by), engine.Options{})
		if _, err := e.Search(t.Context(), engine.Query{Text: text(1)}); !errors.Is(err, encoder.ErrMismatch) || !strings.Contains(err.Error(), "length") {
			t.Errorf("%s: an encoder of other lengths: %v", metric, err)
		}
		closeIt(t, e)

		by = 2
		if _, err := engine.Reembed(t.Context(), dir, scaled("others", &by), engine.Options{ChunkTokens: 40}); err != nil {
			t.Fatal(err)
		}
		e = openWith(t, dir, scaled("others", &by), engine.Options{Metric: metric})
		kept(e, 2)

		by = 1e18
		if _, err := e.Add(t.Context(), []engine.Document{{ID: "endless", Text: "some text"}}); !errors.Is(err, engine.ErrEncoder) {
			t.Errorf("%s: a vector without bound: %v", metric, err)
		}
		if _, err := e.Search(t.Context(), engine.Query{Text: "some text"}); !errors.Is(err, engine.ErrEncoder) {
			t.Errorf("%s: a query without bound: %v", metric, err)
		}
		closeIt(t, e)
	}
}

// TestUnitEncoderByDot: an encoder of unit vectors, with tokens and their states, serves a
// database of dot products. Nothing is kept there that works on directions.
func TestUnitEncoderByDot(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	e := openWith(t, dir, hash(t), engine.Options{Metric: index.Dot})
	add(t, e, docs(0, 300))
	if err := e.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	if hits := search(t, e, engine.Query{Text: text(4)}).Hits; hits[0].ID != "d4" || hits[0].Modulated < 0.999 {
		t.Errorf("%+v", hits[0])
	}
	s, err := e.Stats(t.Context())
	if err != nil || s.TokenStates.Mode != engine.TokenStatesOff || s.TokenStates.Chunks+s.TokenStates.Bases != 0 || s.Memory.Local != 0 || s.Memory.RLR > 4096*dim || s.FormatMajor != 3 || s.Maintenance.Stale != 0 {
		t.Errorf("%+v, %v", s, err)
	}
	if e.Default() != engine.VariantNone {
		t.Errorf("queries get %s", e.Default())
	}
	closeIt(t, e)
	files, err := filepath.Glob(filepath.Join(dir, "derived", "*.snap"))
	if err != nil || slices.ContainsFunc(files, func(f string) bool {
		return strings.HasPrefix(filepath.Base(f), "sums") || strings.HasPrefix(filepath.Base(f), "local")
	}) {
		t.Errorf("%q, %v", files, err)
	}
}

// TestLengthsRefuse: what works on directions is refused where lengths count, with the
// metric and what to do in the words.
func TestLengthsRefuse(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	e := openWith(t, dir, hash(t), engine.Options{Metric: index.L2})
	add(t, e, docs(0, 20))
	query := func(q engine.Query) func() error {
		return func() error {
			q.Text = text(1)
			_, err := e.Search(t.Context(), q)
			return err
		}
	}
	vector := func(v []float32) func() error {
		return func() error {
			_, errAdd := e.Add(t.Context(), []engine.Document{{ID: "x", Vector: v}})
			_, errSearch := e.Search(t.Context(), engine.Query{Vector: v})
			if !errors.Is(errSearch, engine.ErrInvalid) {
				t.Errorf("searched with %v: %v", v, errSearch)
			}
			return errAdd
		}
	}
	huge, nan := make([]float32, dim), make([]float32, dim)
	huge[0], nan[3] = 1.1e18, float32(math.NaN())
	cosine := openWith(t, t.TempDir(), hash(t), engine.Options{})
	add(t, cosine, docs(0, 5))
	defer closeIt(t, cosine)
	export := func(from *engine.Engine, into *engine.Engine) func() error {
		return func() error {
			var out bytes.Buffer
			if _, err := from.Export(t.Context(), &out, archive.ExportOptions{Vectors: true}); err != nil {
				t.Fatal(err)
			}
			x, err := archive.NewExported(&out)
			if err != nil {
				t.Fatal(err)
			}
			_, err = into.Import(t.Context(), x)
			return err
		}
	}
	for what, c := range map[string]struct {
		do   func() error
		says []string
	}{
		"rlr":           {query(engine.Query{Variant: "rlr"}), []string{"variant rlr", "metric l2", "cosine", "leave the variant out"}},
		"local bridges": {query(engine.Query{Variant: engine.VariantLocal, Mode: engine.ModeDense}), []string{"rlr-local", "l2"}},
		"a bridge":      {query(engine.Query{Variant: "rlr+slr"}), []string{"rlr+slr"}},
		"calibrated":    {query(engine.Query{Fusion: fusion.Options{Kind: fusion.Calibrated}}), []string{"fusion calibrated", "use fusion rrf"}},
		"convex":        {query(engine.Query{Fusion: fusion.Options{Kind: fusion.Convex}}), []string{"fusion convex", "use fusion rrf"}},
		"a weight":      {query(engine.Query{Fusion: fusion.Options{Beta: 0.2}}), []string{"weights of scores", "use fusion rrf"}},
		"tokens":        {query(engine.Query{Mode: engine.ModeDense, Fusion: fusion.Options{Tokens: 1}}), []string{"weights of scores"}},
		"explain": {func() error {
			_, err := e.Explain(t.Context(), engine.Query{Text: text(1), Variant: "rlr"}, "d1")
			return err
		}, []string{"rlr"}},
		"vector": {func() error {
			_, _, err := e.Vector(t.Context(), engine.Query{Text: text(1), Variant: "rlr"})
			return err
		}, []string{"rlr"}},
		"fit":            {func() error { _, err := e.Fit(t.Context(), engine.FitOptions{}); return err }, []string{"a fit", "metric l2"}},
		"import":         {func() error { _, err := e.ImportBridge(t.Context(), "none", engine.ImportOptions{}); return err }, []string{"a bridge"}},
		"token states":   {func() error { _, err := e.KeepTokenStates(t.Context()); return err }, []string{"token states"}},
		"too long":       {vector(huge), []string{"1e18"}},
		"not finite":     {vector(nan), []string{"NaN"}},
		"too short":      {vector([]float32{1}), []string{"1 dimensions"}},
		"to cosine":      {export(e, cosine), []string{"metric l2", "metric cosine", "without vectors"}},
		"from cosine":    {export(cosine, e), []string{"metric l2", "metric cosine"}},
		"unknown metric": {func() error { return (engine.Options{Metric: "manhattan"}).Validate() }, []string{"manhattan", "cosine, dot, l2"}},
	} {
		err := c.do()
		if !errors.Is(err, engine.ErrInvalid) {
			t.Errorf("%s: %v", what, err)
			continue
		}
		for _, word := range c.says {
			if !strings.Contains(err.Error(), word) {
				t.Errorf("%s: %v; it does not say %q", what, err, word)
			}
		}
	}
	for _, q := range []engine.Query{{Variant: engine.VariantNone}, {Fusion: fusion.Options{Kind: fusion.RRF}}, {Mode: engine.ModeLexical}, {Mode: engine.ModeDense, Variant: "dense"}} {
		if err := query(q)(); err != nil {
			t.Errorf("%+v: %v", q, err)
		}
	}
	closeIt(t, e)
	for what, o := range map[string]engine.Options{
		"metric dot, not l2": {Metric: index.Dot}, "metric cosine": {Metric: index.Cosine},
		"local bridges": {Local: true}, "token states": {TokenStates: engine.TokenStatesOn},
		"token states in a database": {TokenStates: engine.TokenStatesAuto},
	} {
		e, err := engine.Open(t.Context(), dir, hash(t), o)
		if !errors.Is(err, engine.ErrInvalid) || !strings.Contains(err.Error(), strings.Fields(what)[0]) || !strings.Contains(err.Error(), "l2") {
			t.Errorf("%s: %v", what, err)
		}
		if e != nil {
			closeIt(t, e)
		}
	}
	e = openWith(t, dir, hash(t), engine.Options{Metric: index.L2, TokenStates: engine.TokenStatesOff})
	closeIt(t, e)
}

// TestRepairOfLengths: of a database that has lost its manifest vectors come back as they
// were, by the metric that it had and no other.
func TestRepairOfLengths(t *testing.T) {
	t.Parallel()
	o := newOracle(index.Dot)
	dir := filepath.Join(t.TempDir(), "db")
	e := openWith(t, dir, nil, engine.Options{Dim: lengthy, Metric: index.Dot})
	add(t, e, o.some(0, 40))
	closeIt(t, e)
	unnamed(t, dir)
	to := dir + ".salvaged"
	for _, metric := range []string{"", index.Cosine} {
		if rep, err := repair.Run(t.Context(), dir, to, nil, engine.Options{Dim: lengthy, Metric: metric}); !errors.Is(err, store.ErrManifest) || !strings.Contains(err.Error(), "metric") {
			t.Fatalf("metric %q: %+v, %v", metric, rep, err)
		}
	}
	rep, err := repair.Run(t.Context(), dir, to, nil, engine.Options{Dim: lengthy, Metric: index.Dot})
	if err != nil || !rep.Salvaged || rep.Saved != 40 || rep.Lost != 0 {
		t.Fatalf("%+v, %v", rep, err)
	}
	e = openWith(t, to, nil, engine.Options{})
	o.check(t, e, "salvaged")
	closeIt(t, e)

	// Where the manifest is there, nobody needs to say the metric.
	damaged := filepath.Join(t.TempDir(), "db")
	e = openWith(t, damaged, nil, engine.Options{Dim: lengthy, Metric: index.Dot})
	add(t, e, o.some(0, 40))
	closeIt(t, e)
	for _, snap := range []string{"words.snap", "live.snap", "flat-int8.snap"} {
		path := filepath.Join(damaged, "derived", snap)
		raw, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for i := 4096; i < len(raw); i += 64 {
			raw[i] ^= 1
		}
		if err := os.WriteFile(path, raw, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if rep, err = repair.Run(t.Context(), damaged, damaged+".salvaged", nil, engine.Options{}); err != nil || rep.Salvaged || len(rep.Problems) > 0 {
		t.Fatalf("%+v, %v", rep, err)
	}
	e = openWith(t, damaged, nil, engine.Options{})
	o.check(t, e, "repaired")
	closeIt(t, e)
}
