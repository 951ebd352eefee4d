package engine_test

import (
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"math"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/lexsem/lexsem/encoder"
	"github.com/lexsem/lexsem/engine"
	"github.com/lexsem/lexsem/modulate"
	"github.com/lexsem/lexsem/store"
)

func fit(t *testing.T, e *engine.Engine, o engine.FitOptions) engine.FitReport {
	t.Helper()
	r, err := e.Fit(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestFitChoosesAndSurvives(t *testing.T) {
	dir := t.TempDir()
	e := open(t, dir, engine.Options{})
	add(t, e, docs(0, 150))
	stages := map[string]bool{}
	r := fit(t, e, engine.FitOptions{QueriesPerPassage: 3, Epochs: 1, Progress: func(p engine.Progress) { stages[p.Stage] = true }})
	if r.Variant != "rlr+slr" || r.Passages != 150 || r.Queries < 150 || len(r.Probes) == 0 || r.Seq == 0 {
		t.Fatalf("%+v", r)
	}
	if !stages["fit"] || !stages["encode queries"] {
		t.Fatalf("stages %v", stages)
	}
	// Queries without a variant get what finds more of the held-out queries.
	if len(r.Choice) != 2 || r.Choice[0].Variant != engine.VariantLocal || r.Choice[1].Variant != "rlr+slr" {
		t.Fatalf("%+v", r.Choice)
	}
	want := r.Choice[0]
	if r.Choice[1].Found > want.Found {
		want = r.Choice[1]
	}
	if want.Variant == engine.VariantLocal { // beside words
		want.Variant = "rlr"
	}
	if r.Default != want.Variant || e.Default() != want.Variant || want.Found < 0.5 || want.Found > 1 {
		t.Fatalf("%s was chosen of %+v", r.Default, r.Choice)
	}
	got := search(t, e, engine.Query{Text: text(5), K: 1})
	if got.Trace.Variant != r.Default || got.Hits[0].ID != "d5" {
		t.Fatalf("%+v", got)
	}
	if _, trace, err := e.Vector(t.Context(), engine.Query{Text: text(5)}); err != nil || trace.Variant != "rlr+slr" {
		t.Fatalf("one vector by %s, %v", trace.Variant, err)
	}
	// What comes after the fit is counted as unfitted.
	add(t, e, docs(150, 160))
	if _, err := e.Delete(t.Context(), []string{"d155", "d1"}); err != nil {
		t.Fatal(err)
	}
	if got := search(t, e, engine.Query{Text: text(5), K: 1, Variant: "rlr+slr"}); got.Trace.Unfitted != 9 {
		t.Fatalf("%d unfitted, want 9", got.Trace.Unfitted)
	}
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	e = open(t, dir, engine.Options{})
	if e.Default() != r.Default {
		t.Fatalf("%s after reopening, %s before", e.Default(), r.Default)
	}
	again := search(t, e, engine.Query{Text: text(5), K: 1, Variant: "rlr+slr"})
	if again.Trace.Variant != "rlr+slr" || again.Trace.Unfitted != 9 {
		t.Fatalf("after reopening: %+v", again.Trace)
	}
	s, err := e.Stats(t.Context())
	if err != nil || len(s.Bridges) != 1 || s.Bridges[0].Unfitted != 9 || s.Default != r.Default || len(s.Bridges[0].Probes) == 0 {
		t.Fatalf("%+v, %v", s, err)
	}
	// A second fit replaces file and entry.
	if second := fit(t, e, engine.FitOptions{QueriesPerPassage: 2, Epochs: 1, Seed: 9}); second.File == r.File {
		t.Fatalf("two fits share the file %s", r.File)
	}
	files, err := filepath.Glob(filepath.Join(dir, "bridges", "*"))
	if err != nil || len(files) != 1 {
		t.Fatalf("%v, %v", files, err)
	}
	// What a killed fit leaves goes when the database is next opened for writing;
	// what only has a bridge's name stays.
	sum := crc32.Checksum([]byte("left"), crc32.MakeTable(crc32.Castagnoli))
	left := []string{fmt.Sprintf("slr-%08x.bridge", sum), "slr-00000000.bridge.lexsem-tmp-1"}
	kept := filepath.Join(dir, "bridges", "slr-00000000.bridge")
	for _, file := range append(left, filepath.Base(kept)) {
		if err := os.WriteFile(filepath.Join(dir, "bridges", file), []byte("left of it")[:8], 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, o := range []engine.Options{{ReadOnly: true}, {}} {
		if err := e.Close(); err != nil {
			t.Fatal(err)
		}
		e = open(t, dir, o)
		if again, err := filepath.Glob(filepath.Join(dir, "bridges", "*")); err != nil || len(again) != 4 && o.ReadOnly || len(again) != 2 && !o.ReadOnly {
			t.Fatalf("read-only %t: %v, %v", o.ReadOnly, again, err)
		}
	}
	if _, err := os.Stat(kept); err != nil {
		t.Fatal(err)
	}
	if got := search(t, e, engine.Query{Text: text(5), K: 1, Variant: "rlr+slr"}); got.Trace.Unfitted != 0 {
		t.Fatalf("%d unfitted after a new fit", got.Trace.Unfitted)
	}
}

func TestFitIsReproducible(t *testing.T) {
	var scores []float32
	for range 2 {
		e := open(t, t.TempDir(), engine.Options{})
		add(t, e, docs(0, 80))
		fit(t, e, engine.FitOptions{Variant: "slr", QueriesPerPassage: 2, Epochs: 2})
		scores = append(scores, search(t, e, engine.Query{Text: "topic3 matter4", Variant: "slr", K: 1}).Hits[0].Score)
	}
	if scores[0] != scores[1] {
		t.Fatalf("scores %v", scores)
	}
}

// TestEveryVariantServesQueries fits and searches each registered variant that
// the encoder can serve, through the engine.
func TestEveryVariantServesQueries(t *testing.T) {
	e := open(t, t.TempDir(), engine.Options{})
	add(t, e, docs(0, 60))
	for _, v := range modulate.Variants() {
		if v.Need&encoder.NeedLogits != 0 {
			continue // the encoder here has no masked-language-model head
		}
		if v.Kind == modulate.Multiplicative {
			fit(t, e, engine.FitOptions{Variant: v.Name, QueriesPerPassage: 2, Epochs: 1})
		}
		q := engine.Query{Text: text(9), Variant: v.Name, K: 1}
		r := search(t, e, q)
		if r.Trace.Variant != v.Name || r.Hits[0].ID != "d9" {
			t.Errorf("%s: %+v", v.Name, r)
		}
		vector, _, err := e.Vector(t.Context(), engine.Query{Text: text(9), Variant: engine.VariantNone})
		if err != nil {
			t.Fatal(err)
		}
		q.Vector = vector // the same query with its vector given
		if again := search(t, e, q); math.Abs(float64(again.Hits[0].Modulated-r.Hits[0].Modulated)) > 1e-5 {
			t.Errorf("%s: %v with the vector given, %v without", v.Name, again.Hits[0].Modulated, r.Hits[0].Modulated)
		}
	}
}

func TestFitRefusals(t *testing.T) {
	e := open(t, t.TempDir(), engine.Options{})
	if _, err := e.Fit(t.Context(), engine.FitOptions{}); !errors.Is(err, engine.ErrInvalid) {
		t.Fatalf("empty corpus: %v", err)
	}
	add(t, e, docs(0, 20))
	if _, err := e.Fit(t.Context(), engine.FitOptions{Variant: "nonsense"}); !errors.Is(err, engine.ErrInvalid) {
		t.Fatalf("unknown variant: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := e.Fit(ctx, engine.FitOptions{}); !errors.Is(err, context.Canceled) {
		t.Fatalf("cancelled: %v", err)
	}
}

func TestDamagedBridgeIsReported(t *testing.T) {
	dir := t.TempDir()
	e := open(t, dir, engine.Options{})
	add(t, e, docs(0, 60))
	fit(t, e, engine.FitOptions{QueriesPerPassage: 2, Epochs: 1})
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	files, _ := filepath.Glob(filepath.Join(dir, "bridges", "*"))
	raw, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	raw[len(raw)/2] ^= 1
	if err := os.WriteFile(files[0], raw, 0o644); err != nil {
		t.Fatal(err)
	}
	e = open(t, dir, engine.Options{})
	if _, err := e.Search(t.Context(), engine.Query{Text: text(5), Variant: "rlr+slr"}); !errors.Is(err, store.ErrCorrupt) {
		t.Fatalf("the damaged variant: %v", err)
	}
	if r := search(t, e, engine.Query{Text: text(5), Variant: "rlr", K: 1}); r.Hits[0].ID != "d5" {
		t.Fatalf("%+v", r.Hits)
	}
	if r, err := e.Verify(t.Context(), nil); err != nil || len(r.Problems) != 1 {
		t.Fatalf("%+v, %v", r, err)
	}
	fit(t, e, engine.FitOptions{QueriesPerPassage: 2, Epochs: 1})
	search(t, e, engine.Query{Text: text(5)})
}

// An update learns what is new in proportion to it, and says when nothing is.
func TestFitUpdate(t *testing.T) {
	e := open(t, t.TempDir(), engine.Options{})
	add(t, e, docs(0, 120))
	if _, err := e.Fit(t.Context(), engine.FitOptions{Update: true}); !errors.Is(err, engine.ErrNotFitted) {
		t.Fatalf("nothing to go on from: %v", err)
	}
	first := fit(t, e, engine.FitOptions{QueriesPerPassage: 4, Epochs: 1})
	if r := fit(t, e, engine.FitOptions{Update: true}); !r.Current || r.File != first.File {
		t.Fatalf("nothing new: %+v", r)
	}
	add(t, e, docs(120, 130))
	r := fit(t, e, engine.FitOptions{Update: true, QueriesPerPassage: 4, Epochs: 1})
	if r.Current || r.Variant != "rlr+slr" || r.Passages != 130 || r.Queries < 40 || r.Queries > 80 {
		t.Fatalf("%+v: want the queries of 10 new passages and as many others", r)
	}
	if got := search(t, e, engine.Query{Text: text(5), K: 1}); got.Trace.Unfitted != 0 {
		t.Fatalf("%d unfitted", got.Trace.Unfitted)
	}
}

// A fit that was cancelled goes on to the same bridge, and leaves nothing.
func TestFitGoesOn(t *testing.T) {
	o := engine.FitOptions{QueriesPerPassage: 4, Epochs: 2}
	whole, dir := open(t, t.TempDir(), engine.Options{}), t.TempDir()
	cut := open(t, dir, engine.Options{})
	add(t, whole, docs(0, 120))
	add(t, cut, docs(0, 120))
	want := fit(t, whole, o)

	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	stopped := o
	stopped.Progress = func(p engine.Progress) {
		if p.Stage == "fit" {
			cancel()
		}
	}
	if _, err := cut.Fit(ctx, stopped); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	kept, err := filepath.Glob(filepath.Join(dir, "fit", "*.vectors"))
	if err != nil || len(kept) != 1 {
		t.Fatalf("encoded queries kept in %v, %v", kept, err)
	}
	if got := fit(t, cut, o); got.File != want.File {
		t.Errorf("bridge %s after the stop, %s without", got.File, want.File)
	}
	if _, err := os.Stat(filepath.Join(dir, "fit")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the fit left its folder: %v", err)
	}
}

// lateCancel cancels a context when it is to encode after the fit is evaluated.
type lateCancel struct {
	encoder.Encoder
	evaluated atomic.Bool
	cancel    func()
}

func (c *lateCancel) Encode(ctx context.Context, role encoder.Role, in []encoder.Input, need encoder.Need) ([]encoder.Output, error) {
	if c.evaluated.Load() {
		c.cancel()
		return nil, ctx.Err()
	}
	return c.Encoder.Encode(ctx, role, in, need)
}

// A fit that is cancelled while it compares the bridge with the local ones
// changes nothing either.
func TestFitCancelledLate(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	enc := &lateCancel{Encoder: hash(t), cancel: cancel}
	e, err := engine.Open(t.Context(), t.TempDir(), enc, engine.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	add(t, e, docs(0, 60))
	o := engine.FitOptions{QueriesPerPassage: 2, Epochs: 1, Progress: func(p engine.Progress) {
		if p.Stage == "evaluate" {
			enc.evaluated.Store(true)
		}
	}}
	if _, err := e.Fit(ctx, o); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	s, err := e.Stats(t.Context())
	if err != nil || len(s.Bridges) != 0 || s.Default != "rlr" {
		t.Fatalf("bridges %+v, default %s, %v", s.Bridges, s.Default, err)
	}
	enc.evaluated.Store(false)
	o.Progress = nil
	if r := fit(t, e, o); r.Default != e.Default() || len(r.Choice) != 2 {
		t.Fatalf("%+v", r)
	}
}

// A fit that waits for another gives up with its context.
func TestFitWaits(t *testing.T) {
	e := open(t, t.TempDir(), engine.Options{})
	add(t, e, docs(0, 60))
	waiting, cancel := context.WithCancel(t.Context())
	defer cancel()
	var once sync.Once
	r := fit(t, e, engine.FitOptions{QueriesPerPassage: 2, Epochs: 1, Progress: func(engine.Progress) {
		once.Do(func() { // the first fit is running now
			cancel()
			if _, err := e.Fit(waiting, engine.FitOptions{}); !errors.Is(err, context.Canceled) {
				t.Errorf("a second fit: %v", err)
			}
		})
	}})
	if r.Default == "" {
		t.Fatalf("%+v", r)
	}
}
