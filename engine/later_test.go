package engine_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
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
	"github.com/lexsem/lexsem/engine/fusion"
)

// gated is an encoder that encodes no passage before the gate is open.
type gated struct {
	encoder.Encoder
	gate    chan struct{}
	open    func()
	asked   atomic.Int64 // passages that were encoded
	refused string       // part of a text that is refused
}

func newGate(t *testing.T) *gated {
	g := &gated{Encoder: hash(t), gate: make(chan struct{})}
	g.open = sync.OnceFunc(func() { close(g.gate) })
	t.Cleanup(g.open)
	return g
}

func (g *gated) Encode(ctx context.Context, role encoder.Role, in []encoder.Input, need encoder.Need) ([]encoder.Output, error) {
	if role == encoder.Passage && len(in) > 0 {
		select {
		case <-g.gate:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
		g.asked.Add(int64(len(in)))
		for i, x := range in {
			if g.refused != "" && strings.Contains(x.Text, g.refused) {
				return nil, &encoder.TextError{Text: i, Err: errors.New("too hot")}
			}
		}
	}
	return g.Encoder.Encode(ctx, role, in, need)
}

func openGated(t *testing.T, dir string, g *gated) *engine.Engine {
	t.Helper()
	e, err := engine.Open(t.Context(), dir, g, sparing(engine.Options{ChunkTokens: 60, TokenStates: engine.TokenStatesOn}))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	})
	return e
}

// laterDocs are documents of one chunk and of several.
func laterDocs(first bool) []engine.Document {
	all := docs(0, 60)
	all = append(all, engine.Document{ID: "long", Title: "Alpha", Text: long("alpha", 40)})
	for i := range all {
		all[i].WordsFirst = first
	}
	return all
}

func statsOf(t *testing.T, e *engine.Engine) engine.Stats {
	t.Helper()
	s, err := e.Stats(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestWordsFirst: texts are found by their words before anything is encoded, in every way that there is to keep, copy and
// change them, and in the end the database is as if all had been encoded at once.
func TestWordsFirst(t *testing.T) {
	ctx, dir, g := t.Context(), filepath.Join(t.TempDir(), "db"), newGate(t)
	e := openGated(t, dir, g)
	if r := add(t, e, laterDocs(true)); r.Added != 61 || r.Chunked != 1 || g.asked.Load() != 0 {
		t.Fatalf("%+v, %d passages encoded", r, g.asked.Load())
	}
	waiting := func(e *engine.Engine) {
		t.Helper()
		s := statsOf(t, e)
		if s.Waiting != s.Chunks || s.Chunks < 65 || s.FormatMajor != 5 {
			t.Fatalf("%d of %d passages wait, format %d", s.Waiting, s.Chunks, s.FormatMajor)
		}
		for _, q := range []engine.Query{{Text: text(7), Mode: engine.ModeLexical}, {Text: text(7)}, {Text: text(7), Fusion: fusion.Options{Kind: "rrf"}}, {Text: text(7), Fusion: fusion.Options{Kind: "convex"}}, {Text: text(7), Variant: engine.VariantLocal}} {
			r := search(t, e, q)
			if len(r.Hits) == 0 || r.Hits[0].ID != "d7" || r.Hits[0].Cosine != 0 {
				t.Fatalf("%+v: %+v", q, r.Hits)
			}
			if want := s.Waiting; q.Mode != engine.ModeLexical && (r.Trace.Waiting != want || r.Trace.Passages != s.Chunks) || q.Mode == engine.ModeLexical && r.Trace.Waiting != 0 {
				t.Fatalf("%+v: %d of %d wait, want %d", q, r.Trace.Waiting, r.Trace.Passages, want)
			}
		}
		if r := search(t, e, engine.Query{Text: text(7), Mode: engine.ModeDense}); len(r.Hits) != 0 {
			t.Fatalf("found by no vector: %+v", r.Hits)
		}
		if d, err := e.Get(ctx, "d7"); err != nil || !d.WordsFirst || d.Vector != nil {
			t.Fatalf("%+v, %v", d, err)
		}
		if x, err := e.Explain(ctx, engine.Query{Text: text(7)}, "d7"); err != nil || x.Rank != 1 || x.Attributed {
			t.Fatalf("%+v, %v", x, err)
		}
		if _, err := e.Search(ctx, engine.Query{Like: []string{"d7"}}); !errors.Is(err, engine.ErrInvalid) || !strings.Contains(fmt.Sprint(err), `"d7" has no vector yet`) {
			t.Fatal(err)
		}
		verified(t, e)
	}
	waiting(e)

	// What is the same stays; metadata change beside it; what is deleted is gone.
	if r, err := e.Upsert(ctx, laterDocs(true)[:5]); err != nil || r.Unchanged != 5 {
		t.Fatalf("%+v, %v", r, err)
	}
	if n, err := e.Patch(ctx, []engine.Patch{{ID: "d1", Metadata: map[string]any{"n": 77}}}); err != nil || n != 1 {
		t.Fatal(n, err)
	}
	if n, err := e.Delete(ctx, []string{"d2"}); err != nil || n != 1 {
		t.Fatal(n, err)
	}
	short, cancel := context.WithTimeout(ctx, 10*time.Millisecond)
	defer cancel()
	if rep, err := e.KeepTokenStates(short); !errors.Is(err, context.DeadlineExceeded) {
		t.Fatalf("%+v, %v", rep, err)
	}
	waiting(e)

	for _, err := range e.Records(ctx, 0) {
		if !errors.Is(err, engine.ErrInvalid) || !strings.Contains(fmt.Sprint(err), "no vector yet") {
			t.Fatal(err)
		}
	}

	// Copies wait as well, or are encoded where they come to.
	var export bytes.Buffer
	if n, err := e.Export(ctx, &export, archive.ExportOptions{Vectors: true}); err != nil || n != 60 {
		t.Fatal(n, err)
	}
	var backup bytes.Buffer
	if _, err := e.BackupTo(ctx, &backup); err != nil {
		t.Fatal(err)
	}
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	again := openGated(t, dir, g)
	waiting(again)
	restored := filepath.Join(t.TempDir(), "restored")
	if _, err := archive.Restore(ctx, restored, &backup, archive.RestoreOptions{}); err != nil {
		t.Fatal(err)
	}
	copied := openGated(t, restored, g)
	waiting(copied)

	// One that is encoded at once, beside all that wait.
	g.open()
	if err := again.Flush(ctx); err != nil {
		t.Fatal(err)
	}
	at := openGated(t, filepath.Join(t.TempDir(), "at once"), g)
	whole := laterDocs(false)
	whole[1].Metadata = map[string]any{"n": 77}
	add(t, at, slices.Delete(whole, 2, 3))
	imported := openGated(t, filepath.Join(t.TempDir(), "imported"), g)
	x, err := archive.NewExported(bytes.NewReader(export.Bytes()))
	if err != nil {
		t.Fatal(err)
	}
	if r, err := imported.Import(ctx, x); err != nil || r.Added != 60 {
		t.Fatalf("%+v, %v", r, err)
	}
	for _, e := range []*engine.Engine{copied, imported, at} {
		if err := e.Flush(ctx); err != nil {
			t.Fatal(err)
		}
	}
	want := statsOf(t, at)
	for name, e := range map[string]*engine.Engine{"again": again, "copied": copied, "imported": imported} {
		verified(t, e)
		if s := statsOf(t, e); s.Waiting != 0 || s.Chunks != want.Chunks || s.Documents != 60 || s.TokenStates.Chunks != want.TokenStates.Chunks {
			t.Errorf("%s: %+v, want %+v", name, s, want)
		}
		for _, q := range []engine.Query{{Text: text(7)}, {Text: text(30), Mode: engine.ModeDense}, {Text: "sentence alpha3"}, {Like: []string{"d7"}}} {
			q.Variant, q.Fusion.Tokens = "rlr", -1 // the basis of token states depends on the order of the texts
			got, wanted := search(t, e, q), search(t, at, q)
			if !slices.Equal(ids(got), ids(wanted)) || got.Trace.Waiting != 0 {
				t.Errorf("%s, %+v: %v, want %v", name, q, ids(got), ids(wanted))
			}
			for i, h := range got.Hits {
				if d := h.Score - wanted.Hits[i].Score; d > 1e-4 || d < -1e-4 {
					t.Errorf("%s, %+v: hit %d has %v, want %v", name, q, i, h.Score, wanted.Hits[i].Score)
				}
			}
		}
		if d, err := e.Get(ctx, "d1"); err != nil || d.WordsFirst || d.Vector == nil || fmt.Sprint(d.Metadata["n"]) != "77" {
			t.Errorf("%s: %+v, %v", name, d, err)
		}
	}
}

// TestWordsFirstMixed: documents with vectors and without rank together; a text that waits is encoded by an Upsert that does
// not wait, and one that the encoder refuses keeps no other waiting.
func TestWordsFirstMixed(t *testing.T) {
	ctx, g := t.Context(), newGate(t)
	g.refused = "matter"
	e := openGated(t, filepath.Join(t.TempDir(), "db"), g)
	add(t, e, []engine.Document{
		{ID: "a", Text: "quick brown foxes", WordsFirst: true}, {ID: "bad", Text: "dark matter", WordsFirst: true}, {ID: "b", Text: "lazy dogs sleep", WordsFirst: true},
		{ID: "own", Text: "vector of its own", Vector: slices.Repeat([]float32{1}, dim), WordsFirst: true},
	})
	if s := statsOf(t, e); s.Waiting != 3 {
		t.Fatalf("%+v", s)
	}
	if r := search(t, e, engine.Query{Text: "vector quick", Mode: engine.ModeHybrid}); len(r.Hits) != 2 || r.Trace.Waiting != 3 || r.Trace.Passages != 4 {
		t.Fatalf("%+v", r)
	}
	verified(t, e)
	g.open()
	if r, err := e.Upsert(ctx, []engine.Document{{ID: "a", Text: "quick brown foxes"}}); err != nil || r.Replaced+r.Unchanged != 1 {
		t.Fatalf("%+v, %v", r, err)
	}
	if d, err := e.Get(ctx, "a"); err != nil || d.WordsFirst {
		t.Fatalf("%+v, %v", d, err)
	}
	for range 2 {
		if err := e.Flush(ctx); err == nil || !strings.Contains(err.Error(), `"bad"`) || !strings.Contains(err.Error(), "too hot") {
			t.Fatal(err)
		}
	}
	if s := statsOf(t, e); s.Waiting != 1 || !strings.Contains(s.Maintenance.Error, "too hot") {
		t.Fatalf("%+v", s)
	}
	verified(t, e)
	if _, err := e.Delete(ctx, []string{"bad"}); err != nil {
		t.Fatal(err)
	}
	if err := e.Flush(ctx); err != nil {
		t.Fatal(err)
	}
	if s := statsOf(t, e); s.Waiting != 0 || s.Maintenance.Error != "" {
		t.Fatalf("%+v", s)
	}
}

// TestWordsFirstRefused: what no words or no later vectors can find is refused by name.
func TestWordsFirstRefused(t *testing.T) {
	dot, err := engine.Open(t.Context(), "", hash(t), sparing(engine.Options{InMemory: true, Metric: "dot"}))
	if err != nil {
		t.Fatal(err)
	}
	defer dot.Close()
	_, err = dot.Add(t.Context(), []engine.Document{{ID: "a", Text: "words", WordsFirst: true}})
	if !errors.Is(err, engine.ErrInvalid) || !strings.Contains(err.Error(), "words first") {
		t.Fatal(err)
	}
}

func verified(t *testing.T, e *engine.Engine) {
	t.Helper()
	if r, err := e.Verify(t.Context(), nil); err != nil || len(r.Problems) > 0 {
		t.Fatalf("%+v, %v", r, err)
	}
}

// TestWordsFirstBeside: a passage without a vector ranks before those with vectors that have fewer of the query's words, for
// all that their cosines are high.
func TestWordsFirstBeside(t *testing.T) {
	g := newGate(t)
	g.refused = "matter"
	g.open()
	e := openGated(t, filepath.Join(t.TempDir(), "db"), g)
	var all []engine.Document
	for i, text := range []string{"otter crosses river at dusk", "swift otter crosses stream", "cold river crosses night", "swift cold otter river", "night otter crosses river"} {
		all = append(all, engine.Document{ID: fmt.Sprint("part", i), Text: text})
	}
	all = append(all, engine.Document{ID: "all", Text: "dark matter: swift otter crosses cold river at night", WordsFirst: true}, engine.Document{ID: "none", Text: "dark matter of bread", WordsFirst: true})
	add(t, e, all)
	for _, q := range []engine.Query{{}, {Variant: "rlr"}, {Fusion: fusion.Options{Kind: "convex"}}} {
		q.Text = "swift otter crosses cold river night"
		r := search(t, e, q)
		if r.Trace.Waiting != 2 || r.Hits[0].Probability != 0 || len(r.Hits) < 6 || r.Hits[0].ID != "all" || slices.Contains(ids(r)[:5], "none") {
			t.Fatalf("%+v: %v, %d wait", q, ids(r), r.Trace.Waiting)
		}
		x, err := e.Explain(t.Context(), q, "all")
		if err != nil || x.Rank != 1 || x.Score != r.Hits[0].Score || x.Modulated != r.Hits[0].Modulated {
			t.Fatalf("%+v: explained as %v, %v; found with %v, %v, %v", q, x.Score, x.Modulated, r.Hits[0].Score, r.Hits[0].Modulated, err)
		}
	}
}

// TestWordsFirstEdits: an edited text that keeps its passages has the few new ones encoded at once; many edits wait whole.
func TestWordsFirstEdits(t *testing.T) {
	ctx, g := t.Context(), newGate(t)
	g.open()
	e := openGated(t, filepath.Join(t.TempDir(), "db"), g)
	text := func(name string) engine.Document {
		return engine.Document{ID: name, Text: long(name, 30), WordsFirst: true}
	}
	var all []engine.Document
	for i := range 40 {
		all = append(all, text(fmt.Sprint("t", i)))
	}
	add(t, e, all)
	if err := e.Flush(ctx); err != nil {
		t.Fatal(err)
	}
	edit := func(docs []engine.Document) (asked int64) {
		t.Helper()
		for i := range docs {
			docs[i].Text += " One more sentence stands at the end."
		}
		was := g.asked.Load()
		if r, err := e.Upsert(ctx, docs); err != nil || r.Replaced != len(docs) {
			t.Fatalf("%+v, %v", r, err)
		}
		return g.asked.Load() - was
	}
	s := statsOf(t, e)
	if n := edit(all[:1]); n == 0 || n > 3 || statsOf(t, e).Waiting != 0 {
		t.Fatalf("%d passages were encoded, %d of %d wait", n, statsOf(t, e).Waiting, s.Chunks)
	}
	verified(t, e)
	edit(all)
	verified(t, e) // documents wait, or not, as a whole
	if err := e.Flush(ctx); err != nil {
		t.Fatal(err)
	}
	verified(t, e)
	if s := statsOf(t, e); s.Waiting != 0 || s.Documents != 40 {
		t.Fatalf("%+v", s)
	}
}

// TestWordsFirstTokenStates: KeepTokenStates waits for the vectors of texts that were stored words first, also where their encoding
// had begun without token states. A text that the encoder refuses is an error after all others have theirs.
func TestWordsFirstTokenStates(t *testing.T) {
	for _, refused := range []string{"", "doomed"} {
		g := newGate(t)
		g.refused = refused
		e, err := engine.Open(t.Context(), t.TempDir(), g, sparing(engine.Options{ChunkTokens: 60, TokenStates: engine.TokenStatesAuto}))
		if err != nil {
			t.Fatal(err)
		}
		all := append(laterDocs(true), docs(100, 400)...)
		for i := range all {
			all[i].WordsFirst = true
		}
		all = append(all, engine.Document{ID: "bad", Text: "a doomed text", WordsFirst: true})
		add(t, e, all)
		kept := make(chan error, 1)
		var rep engine.TokenReport
		go func() {
			var err error
			rep, err = e.KeepTokenStates(t.Context())
			kept <- err
		}()
		select {
		case err := <-kept:
			t.Fatalf("before there are vectors: %+v, %v", rep, err)
		case <-time.After(50 * time.Millisecond):
		}
		g.open()
		err = <-kept
		s := statsOf(t, e)
		want := s.Chunks
		if refused != "" {
			want--
		}
		if s.TokenStates.Chunks != want || (err == nil) != (refused == "") || err != nil && !strings.Contains(err.Error(), `"bad"`) {
			t.Errorf("refused %q: %d of %d chunks have token states, %+v, %v", refused, s.TokenStates.Chunks, s.Chunks, rep, err)
		}
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	}
}
