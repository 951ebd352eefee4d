package backendtest_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/lexsem/lexsem/encoder"
	"github.com/lexsem/lexsem/engine"
	"github.com/lexsem/lexsem/engine/archive"
	"github.com/lexsem/lexsem/engine/filter"
	"github.com/lexsem/lexsem/engine/remote"
	"github.com/lexsem/lexsem/engine/remote/backendtest"
)

// still is a Backend that several Databases share.
type still struct{ remote.Backend }

func (still) Close() error { return nil }

func over(t *testing.T, b remote.Backend, o remote.Options) *remote.Database {
	t.Helper()
	return overBy(t, b, encoder.NewHash(16), o)
}

func overBy(t *testing.T, b remote.Backend, enc encoder.Encoder, o remote.Options) *remote.Database {
	t.Helper()
	r, err := remote.Over(t.Context(), still{b}, enc, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	})
	return r
}

func added(t *testing.T, r *remote.Database, from, n int) {
	t.Helper()
	docs := make([]engine.Document, n)
	for i := range docs {
		docs[i] = engine.Document{ID: fmt.Sprint(from + i), Text: fmt.Sprintf("text %d of kind %d", from+i, i%5)}
	}
	if _, err := r.Add(t.Context(), docs); err != nil {
		t.Fatal(err)
	}
}

// TestBridgeIsFollowed: a bridge that is made anew is in use soon, one that is damaged
// never is, and queries go by the one before meanwhile.
func TestBridgeIsFollowed(t *testing.T) {
	m := &backendtest.Memory{}
	r := over(t, m, remote.Options{Create: true, Fresh: -1})
	added(t, r, 0, 40)
	file := filepath.Join(t.TempDir(), "bridge")
	if _, err := remote.Over(t.Context(), still{m}, encoder.NewHash(16), remote.Options{Bridge: file}); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("no bridge: %v", err)
	}
	if _, err := r.MakeBridge(t.Context(), file, remote.BridgeOptions{Parts: 300}); !errors.Is(err, engine.ErrInvalid) {
		t.Errorf("300 parts: %v", err)
	}
	if rep, err := r.MakeBridge(t.Context(), file, remote.BridgeOptions{Parts: 2}); err != nil || rep.Passages != 40 || rep.Writes != 40 {
		t.Fatalf("%+v, %v", rep, err)
	}
	q := over(t, m, remote.Options{Bridge: file, Fresh: -1})
	stale := func() int {
		t.Helper()
		res, err := q.Search(t.Context(), engine.Query{Text: "text 7 of kind 2"})
		if err != nil || res.Trace.Variant != "rlr" || res.Trace.Turned == 1 {
			t.Fatalf("%+v, %v", res.Trace, err)
		}
		return res.Trace.Stale
	}
	if n := stale(); n != 0 {
		t.Errorf("a new bridge is stale by %d", n)
	}
	added(t, r, 40, 10)
	if n := stale(); n != 10 {
		t.Errorf("stale by %d behind 10 writes", n)
	}
	good, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	bad := append([]byte(nil), good...)
	bad[len(bad)/2] ^= 1
	if err := os.WriteFile(file, bad, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := remote.Over(t.Context(), still{m}, encoder.NewHash(16), remote.Options{Bridge: file}); !errors.Is(err, engine.ErrCorrupt) {
		t.Errorf("a damaged bridge: %v", err)
	}
	time.Sleep(2200 * time.Millisecond) // it is looked at every two seconds
	if n := stale(); n != 10 {
		t.Errorf("stale by %d beside a damaged file", n)
	}
	if _, err := r.MakeBridge(t.Context(), file, remote.BridgeOptions{}); err != nil {
		t.Fatal(err)
	}
	for end := time.Now().Add(20 * time.Second); stale() != 0; time.Sleep(50 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("the new bridge is not read")
		}
	}
	other := &backendtest.Memory{}
	o, err := remote.Over(t.Context(), other, encoder.NewHash(8), remote.Options{Create: true})
	if err != nil {
		t.Fatal(err)
	}
	defer o.Close()
	if _, err := remote.Over(t.Context(), still{other}, encoder.NewHash(8), remote.Options{Bridge: file}); !errors.Is(err, encoder.ErrMismatch) {
		t.Errorf("the bridge of another encoder: %v", err)
	}
}

// TestBridgeFitsASample: a fit of a sample is in the bridge file and serves; which passages are drawn depends on the seed alone, not
// on the parts.
func TestBridgeFitsASample(t *testing.T) {
	m := &backendtest.Memory{}
	enc := encoder.NewHash(64)
	r := overBy(t, m, enc, remote.Options{Create: true, Fresh: -1})
	rng := rand.New(rand.NewPCG(3, 4))
	words := func(i, n int) string {
		var w []string
		for range n {
			w = append(w, fmt.Sprintf("word%d", (i*31+rng.IntN(60))%900))
		}
		return strings.Join(w, " ")
	}
	docs := make([]engine.Document, 400)
	for i := range docs {
		docs[i] = engine.Document{ID: fmt.Sprint(i), Text: words(i, 40)}
	}
	if _, err := r.Add(t.Context(), docs); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for what, o := range map[string]remote.BridgeOptions{
		"a sample below 0": {Sample: -1}, "a sample too large": {Sample: 1 << 20}, "an update": {Sample: 10, Fit: engine.FitOptions{Update: true}},
		"an unknown variant": {Sample: 100, Fit: engine.FitOptions{Variant: "nosuch"}}, "nothing to fit": {Sample: 100, Fit: engine.FitOptions{Variant: "rlr"}},
	} {
		if _, err := r.MakeBridge(t.Context(), filepath.Join(dir, "none"), o); !errors.Is(err, engine.ErrInvalid) {
			t.Errorf("%s: %v", what, err)
		}
	}
	if _, err := os.Stat(filepath.Join(dir, "none")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("refused, and written: %v", err)
	}
	blind, err := remote.Over(t.Context(), still{m}, nil, remote.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer blind.Close()
	if _, err := blind.MakeBridge(t.Context(), filepath.Join(dir, "none"), remote.BridgeOptions{Sample: 10}); !errors.Is(err, engine.ErrNoEncoder) {
		t.Errorf("without an encoder: %v", err)
	}

	query := engine.Query{Text: docs[7].Text[:60], Mode: engine.ModeDense, Variant: "rlr+slr", K: 5}
	var vectors [][]float32
	for i, o := range []remote.BridgeOptions{
		{Parts: 1, Sample: 300, Fit: engine.FitOptions{Seed: 5}},
		{Parts: 3, Sample: 300, Fit: engine.FitOptions{Seed: 5}},
		{Parts: 1, Sample: 300, Fit: engine.FitOptions{Seed: 6}},
		{Parts: 2, Sample: 1000, Fit: engine.FitOptions{Seed: 5}},
	} {
		file := filepath.Join(dir, fmt.Sprint("bridge", i))
		rep, err := r.MakeBridge(t.Context(), file, o)
		if err != nil {
			t.Fatal(err)
		}
		want := min(o.Sample, len(docs))
		if rep.Fit.Variant != "rlr+slr" || rep.Fit.Passages != want || rep.Passages != len(docs) || len(rep.Fit.Choice) != 2 || len(rep.Fit.Probes) == 0 {
			t.Fatalf("%+v", rep)
		}
		q := overBy(t, m, enc, remote.Options{Bridge: file, Fresh: -1})
		if q.Default() != rep.Fit.Default {
			t.Errorf("default %q, the report says %q", q.Default(), rep.Fit.Default)
		}
		v, trace, err := q.Vector(t.Context(), query)
		if err != nil || trace.Variant != "rlr+slr" {
			t.Fatalf("%+v, %v", trace, err)
		}
		vectors = append(vectors, v)
		if res, err := q.Search(t.Context(), query); err != nil || len(res.Hits) != 5 {
			t.Errorf("%d hits, %v", len(res.Hits), err)
		}
		if c := rep.Fit.Choice; c[0].Variant != "rlr" || c[1].Found <= c[0].Found || rep.Fit.Default != "rlr+slr" {
			t.Errorf("a fit that gains nothing: %+v", rep.Fit)
		}
	}
	far := func(a, b []float32) (most float64) {
		for i := range a {
			most = max(most, math.Abs(float64(a[i]-b[i])))
		}
		return most
	}
	if d := far(vectors[0], vectors[1]); d > 1e-5 { // sums in another order
		t.Errorf("the fit depends on the parts, by %g", d)
	}
	if d := far(vectors[0], vectors[2]); d < 1e-3 {
		t.Errorf("the sample does not depend on the seed: %g", d)
	}
}

// TestCountsAreKept: counts are asked for once a while, and behind a write of one's own.
func TestCountsAreKept(t *testing.T) {
	m := &backendtest.Memory{}
	r := over(t, m, remote.Options{Create: true, Fresh: time.Hour})
	added(t, r, 0, 10)
	var asked atomic.Int32
	m.Hook = func(_ context.Context, call string) error {
		if call == "Status" {
			asked.Add(1)
		}
		return nil
	}
	find := func() engine.Trace {
		t.Helper()
		res, err := r.Search(t.Context(), engine.Query{Text: "text 3"})
		if err != nil {
			t.Fatal(err)
		}
		return res.Trace
	}
	for range 3 {
		find()
	}
	if n := asked.Load(); n > 1 {
		t.Errorf("3 searches asked %d times", n)
	}
	m.Hook = nil
	added(t, r, 10, 5)
	if tr := find(); tr.Documents != 15 {
		t.Errorf("behind a write a search sees %d documents, want 15", tr.Documents)
	}
}

// TestBackendFails: what fails there fails here, with its cause, whichever call it is.
func TestBackendFails(t *testing.T) {
	m := &backendtest.Memory{}
	r := over(t, m, remote.Options{Create: true, Fresh: -1})
	added(t, r, 0, 10)
	down := errors.New("down")
	for _, failing := range []string{"Status", "Having", "Nearest", "Matching", "Fetch"} {
		m.Hook = func(_ context.Context, call string) error {
			if call == failing {
				return down
			}
			return nil
		}
		if _, err := r.Search(t.Context(), engine.Query{Text: "text 3"}); !errors.Is(err, down) {
			t.Errorf("%s fails: %v", failing, err)
		}
		var one *engine.QueryError
		if _, err := r.SearchBatch(t.Context(), []engine.Query{{Text: "text 3"}}); !errors.Is(err, down) || !errors.As(err, &one) {
			t.Errorf("%s fails in a batch: %v", failing, err)
		}
	}
	// A hit that is deleted before it is fetched is left out.
	var once sync.Once
	m.Hook = func(ctx context.Context, call string) error {
		if call == "Fetch" {
			once.Do(func() {
				if _, err := m.Delete(ctx, []string{"3"}); err != nil {
					t.Error(err)
				}
			})
		}
		return nil
	}
	res, err := r.Search(t.Context(), engine.Query{Text: "text 3", K: 10})
	if err != nil || len(res.Hits) != 9 || res.Hits[8].Rank != 9 {
		t.Errorf("%d hits, %v", len(res.Hits), err)
	}
	// Close ends what runs.
	running := make(chan struct{})
	m.Hook = func(ctx context.Context, call string) error {
		if call == "Nearest" {
			close(running)
			<-ctx.Done()
			return ctx.Err()
		}
		return nil
	}
	ended := make(chan error, 1)
	go func() {
		_, err := r.Search(context.Background(), engine.Query{Text: "text 3"})
		ended <- err
	}()
	<-running
	if err := r.Close(); err != nil {
		t.Error(err)
	}
	if err := <-ended; !errors.Is(err, engine.ErrClosed) {
		t.Errorf("a search that Close has ended: %v", err)
	}
}

// TestElsewhere: what only the keeper of the documents can do says so.
func TestElsewhere(t *testing.T) {
	r := over(t, &backendtest.Memory{}, remote.Options{Create: true})
	ctx := t.Context()
	for what, call := range map[string]func() error{
		"fit":     func() error { _, err := r.Fit(ctx, engine.FitOptions{}); return err },
		"verify":  func() error { _, err := r.Verify(ctx, nil); return err },
		"compact": func() error { return r.Compact(ctx) },
		"tokens":  func() error { _, err := r.KeepTokenStates(ctx); return err },
		"export":  func() error { _, err := r.Export(ctx, io.Discard, archive.ExportOptions{}); return err },
		"import":  func() error { _, err := r.Import(ctx, nil); return err },
		"backup":  func() error { _, err := r.Backup(ctx, "x"); return err },
		"stream":  func() error { _, err := r.BackupTo(ctx, io.Discard); return err },
	} {
		if err := call(); !errors.Is(err, engine.ErrElsewhere) {
			t.Errorf("%s: %v", what, err)
		}
	}
	q := over(t, func() remote.Backend {
		m := &backendtest.Memory{}
		over(t, m, remote.Options{Create: true})
		return m
	}(), remote.Options{ReadOnly: true})
	if _, err := q.Add(ctx, []engine.Document{{ID: "a", Text: "a"}}); !errors.Is(err, engine.ErrReadOnly) {
		t.Errorf("a write of one that only reads: %v", err)
	}
	if err := q.Flush(ctx); err != nil {
		t.Error(err)
	}
}

// listening keeps the texts that its encoder gets.
type listening struct {
	encoder.Encoder
	got *[]string
}

func (l listening) Encode(ctx context.Context, role encoder.Role, in []encoder.Input, need encoder.Need) ([]encoder.Output, error) {
	for _, one := range in {
		*l.got = append(*l.got, strings.Join(strings.Fields(one.Text), " "))
	}
	return l.Encoder.Encode(ctx, role, in, need)
}

// TestWordsOfSource: the encoder gets the words of source code, and the whole text of everything else.
func TestWordsOfSource(t *testing.T) {
	var got []string
	r := overBy(t, &backendtest.Memory{}, listening{encoder.NewHash(16), &got}, remote.Options{Create: true})
	got = nil
	const text = "if k.fish[0] == nil {"
	docs := []engine.Document{{ID: "zoo.go", Title: "zoo.go", Text: text, Metadata: map[string]any{"kind": "code", "language": "go", "path": "zoo.go"}}, {ID: "notes", Text: text}}
	for _, put := range []func(context.Context, []engine.Document) (engine.AddResult, error){r.Add, r.Upsert} {
		if _, err := put(t.Context(), docs); err != nil {
			t.Fatal(err)
		}
		if want := []string{"zoo go if k fish 0 nil", text}; !slices.Equal(got, want) {
			t.Errorf("encoded as %q, want %q", got, want)
		}
		got, docs[0].Title, docs[1].Title = nil, "zoo/go", "" // of other titles, or nothing is encoded
		docs[1].Text += " "
	}
}

// TestSymbols: hits of source code tell what they lie in; they are ranked as texts.
func TestSymbols(t *testing.T) {
	r := over(t, &backendtest.Memory{}, remote.Options{Create: true})
	docs := []engine.Document{
		{ID: "zoo.go", Text: "package zoo\n\n// Feed feeds the walrus.\nfunc (k *Keeper) Feed() {\n\tk.fish--\n}\n", Metadata: map[string]any{"kind": "code", "language": "go", "path": "zoo.go"}},
		{ID: "notes", Text: "func walrus() {\n}\n"},
	}
	if _, err := r.Add(t.Context(), docs); err != nil {
		t.Fatal(err)
	}
	want := map[string]string{"zoo.go": "Keeper.Feed", "notes": ""}
	for _, q := range []engine.Query{{Text: "feeds the walrus", Spans: true}, {Text: "feeds the walrus"}, {Text: "feeds walrus", Mode: engine.ModeLexical}} {
		res, err := r.Search(t.Context(), q)
		if err != nil || len(res.Hits) != 2 || res.Trace.Kind != "" {
			t.Fatalf("%+v, %v", res, err)
		}
		for _, h := range res.Hits {
			x, err := r.Explain(t.Context(), q, h.ID)
			if err != nil || h.Symbol != want[h.ID] || x.Symbol != h.Symbol {
				t.Errorf("%s: symbol %q, explained %q, %v; want %q", h.ID, h.Symbol, x.Symbol, err, want[h.ID])
			}
		}
	}
	if s, err := r.Stats(t.Context()); err != nil || s.Kind != engine.KindText {
		t.Errorf("kind %q, %v", s.Kind, err)
	}
}

// TestBridgeOfOne: a value of one passage alone goes by the bridge of all, and so does a query whose filter demands
// a value that came behind the bridge.
func TestBridgeOfOne(t *testing.T) {
	m := &backendtest.Memory{}
	r := over(t, m, remote.Options{Create: true, Fresh: -1})
	docs := make([]engine.Document, 20)
	for i := range docs {
		docs[i] = engine.Document{ID: fmt.Sprint(i), Text: fmt.Sprintf("text %d of kind %d", i, i%5), Metadata: map[string]any{"g": "many"}}
	}
	docs[7].Metadata["g"] = "one"
	if _, err := r.Add(t.Context(), docs); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "bridge")
	rep, err := r.MakeBridge(t.Context(), file, remote.BridgeOptions{Parts: 3, By: "g"})
	if err != nil || len(rep.By) != 2 || rep.By[0] != (remote.BridgeValue{Where: `g = "many"`, Passages: 19}) || rep.By[1].Passages != 1 {
		t.Fatalf("%+v, %v", rep, err)
	}
	q := over(t, m, remote.Options{Bridge: file, Fresh: -1})
	for value, of := range map[string]string{"many": `g = "many"`, "one": "", "new": ""} {
		query := engine.Query{Text: "text 7 of kind 2", Filter: filter.Eq("g", value)}
		if res, err := q.Search(t.Context(), query); err != nil || res.Trace.BridgeOf != of || res.Trace.Turned == 1 {
			t.Errorf("%s: %+v, %v", value, res.Trace, err)
		}
	}
}

// without is a Backend that has no cosine of a document, as if it were deleted when cosines are asked for.
type without struct {
	*backendtest.Memory
	id string
}

func (b without) Cosines(ctx context.Context, vector []float32, ids []remote.PassageID) ([]float64, error) {
	cosines, err := b.Memory.Cosines(ctx, vector, ids)
	for i := range cosines {
		if ids[i].ID == b.id {
			cosines[i] = math.NaN()
		}
	}
	return cosines, err
}

// TestDeletedBetween: a document that was deleted when cosines are asked for, and is there again when texts are, is no hit.
func TestDeletedBetween(t *testing.T) {
	b := without{&backendtest.Memory{}, "3"}
	r := over(t, b, remote.Options{Create: true})
	docs := make([]engine.Document, 10)
	for i := range docs {
		docs[i] = engine.Document{ID: fmt.Sprint(i), Text: fmt.Sprintf("text %d of kind %d", i, i%5)}
	}
	if _, err := r.Add(t.Context(), docs); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "bridge")
	if _, err := r.MakeBridge(t.Context(), file, remote.BridgeOptions{}); err != nil {
		t.Fatal(err)
	}
	q := over(t, b, remote.Options{Bridge: file})
	query := engine.Query{Text: "text 3 of kind 3", K: 10}
	res, err := q.Search(t.Context(), query)
	if err != nil || len(res.Hits) != 9 {
		t.Errorf("%d hits, %v", len(res.Hits), err)
	}
	for _, h := range res.Hits {
		if h.ID == "3" || h.Cosine != h.Cosine {
			t.Errorf("%s: cosine %v", h.ID, h.Cosine)
		}
	}
	if _, err := q.Explain(t.Context(), query, "3"); !errors.Is(err, engine.ErrNotFound) {
		t.Error(err)
	}
}
