package engine_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/lexsem/lexsem/encoder"
	"github.com/lexsem/lexsem/engine"
	"github.com/lexsem/lexsem/engine/archive"
	"github.com/lexsem/lexsem/engine/filter"
	"github.com/lexsem/lexsem/store"
)

// calling is an encoder that calls before with the number of each call from 1 on.
type calling struct {
	encoder.Encoder
	before func(call int) error
	calls  int
	texts  atomic.Int64
}

func (c *calling) Encode(ctx context.Context, role encoder.Role, in []encoder.Input, need encoder.Need) ([]encoder.Output, error) {
	c.calls++
	c.texts.Add(int64(len(in)))
	if c.before != nil {
		if err := c.before(c.calls); err != nil {
			return nil, err
		}
	}
	return c.Encoder.Encode(ctx, role, in, need)
}

// exportOf is all that a database holds, vectors included, in its order.
func exportOf(t *testing.T, e *engine.Engine) string {
	t.Helper()
	var b bytes.Buffer
	if _, err := e.Export(t.Context(), &b, archive.ExportOptions{Vectors: true}); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// heldBy is the export of a closed database.
func heldBy(t *testing.T, dir string, enc encoder.Encoder) string {
	t.Helper()
	e := openWith(t, dir, enc, engine.Options{MustExist: true})
	defer closeIt(t, e)
	return exportOf(t, e)
}

// sameBase fails the test unless two databases hold and find the same.
func sameBase(t *testing.T, got, want *engine.Engine) {
	t.Helper()
	g, w := exportOf(t, got), exportOf(t, want)
	if g != w {
		gl, wl := strings.Split(g, "\n"), strings.Split(w, "\n")
		for i := range min(len(gl), len(wl)) {
			if gl[i] != wl[i] {
				t.Fatalf("line %d of %d and %d differs:\n%.300s\n%.300s", i, len(gl), len(wl), gl[i], wl[i])
			}
		}
		t.Fatalf("%d lines, want %d", len(gl), len(wl))
	}
	for _, e := range []*engine.Engine{got, want} {
		if err := e.Flush(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	for _, q := range []engine.Query{
		{Text: text(4)}, {Text: text(77), Mode: engine.ModeDense, Variant: engine.VariantNone}, {Text: "topic3 matter7", Mode: engine.ModeLexical},
		{Text: text(9), Filter: filter.Eq("n", 9)}, {Text: text(30), Variant: "rlr"}, {Text: "Sentence speaks of matter3", PerChunk: true},
	} {
		q.K = 50
		a, b := search(t, got, q), search(t, want, q)
		if len(a.Hits) != len(b.Hits) {
			t.Fatalf("%+v: %d hits, want %d", q, len(a.Hits), len(b.Hits))
		}
		for i := range a.Hits {
			if d := a.Hits[i].Score - b.Hits[i].Score; a.Hits[i].ID != b.Hits[i].ID || a.Hits[i].Chunk != b.Hits[i].Chunk || d > 1e-5 || d < -1e-5 {
				t.Fatalf("%+v: hit %d is %s %v, want %s %v", q, i, a.Hits[i].ID, a.Hits[i].Score, b.Hits[i].ID, b.Hits[i].Score)
			}
		}
	}
	if v, err := got.Verify(t.Context(), nil); err != nil || len(v.Problems) > 0 {
		t.Fatalf("%+v, %v", v.Problems, err)
	}
}

// mixed are documents, some long, with and without titles and metadata.
func mixedDocs(lo, hi int) []engine.Document {
	d := docs(lo, hi)
	for i := range d {
		switch n := lo + i; {
		case n%50 == 0:
			d[i].Title, d[i].Text = fmt.Sprint("Title ", n), long(fmt.Sprint("k", n, "x"), 12)
		case n%7 == 0:
			d[i].Metadata = nil
		}
	}
	return d
}

// pair is an old database and what it ought to be with another encoder: what is done
// to one is done to both.
type pair struct {
	t      *testing.T
	mirror *engine.Engine
}

func (p pair) do(e *engine.Engine, f func(e *engine.Engine) error) {
	p.t.Helper()
	for _, e := range []*engine.Engine{e, p.mirror} {
		if err := f(e); err != nil {
			p.t.Error(err)
		}
	}
}

func (p pair) upsert(e *engine.Engine, d ...engine.Document) {
	p.t.Helper()
	p.do(e, func(e *engine.Engine) error { _, err := e.Upsert(p.t.Context(), d); return err })
}

func (p pair) remove(e *engine.Engine, ids ...string) {
	p.t.Helper()
	p.do(e, func(e *engine.Engine) error { _, err := e.Delete(p.t.Context(), ids); return err })
}

// TestReembed: the result is the database that the new encoder would have made, from
// and to encoders with tokens and without, while others write in between.
func TestReembed(t *testing.T) {
	t.Parallel()
	bare := func(name string) func() encoder.Encoder {
		return func() encoder.Encoder { return (&source{}).encoder(name) }
	}
	tokens := func(dim int) func() encoder.Encoder {
		return func() encoder.Encoder { return encoder.NewHash(dim) }
	}
	for name, c := range map[string]struct {
		from, to func() encoder.Encoder
		open     bool
	}{
		"tokenizer to tokenizer":   {tokens(dim), tokens(32), true},
		"tokenizer to URL":         {tokens(dim), bare("theirs"), true},
		"URL to tokenizer":         {bare("theirs"), tokens(32), true},
		"tokenizer to URL, closed": {tokens(dim), bare("theirs"), false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			reembedBeside(t, c.from, c.to, c.open)
		})
	}
}

func reembedBeside(t *testing.T, from, to func() encoder.Encoder, open bool) {
	dir := t.TempDir()
	o := engine.Options{ChunkTokens: 60, NoSync: true}
	e := openWith(t, dir, from(), engine.Options{})
	p := pair{t, openWith(t, t.TempDir(), to(), o)}
	defer closeIt(t, p.mirror)
	p.upsert(e, mixedDocs(0, 1100)...)
	p.upsert(e, mixedDocs(200, 210)...)
	p.remove(e, "d3", "d150", "d1099")
	if !open {
		closeIt(t, e)
	}
	r := rand.New(rand.NewPCG(27, 28))
	enc := &calling{Encoder: to()}
	wrote := 0
	var alone atomic.Bool // others can write no more
	ctx := engine.WithFailpoint(t.Context(), func(name string) {
		if name == "reembed-settled" {
			alone.Store(true)
		}
	})
	enc.before = func(call int) error {
		if call > 12 || alone.Load() {
			return nil
		}
		w := e
		if !open { // nobody holds it now
			w = openWith(t, dir, from(), engine.Options{})
			defer closeIt(t, w)
		}
		for range 3 {
			wrote++
			i := r.IntN(1300)
			switch wrote % 4 {
			case 0:
				p.upsert(w, mixedDocs(i, i+5)...)
			case 1:
				p.remove(w, fmt.Sprint("d", i), fmt.Sprint("d", i+1))
			case 2: // gone and there again
				p.remove(w, fmt.Sprint("d", i))
				p.upsert(w, mixedDocs(i, i+1)...)
			case 3:
				p.upsert(w, mixedDocs(1300+wrote, 1302+wrote)...)
			}
		}
		if res, err := w.Search(t.Context(), engine.Query{Text: text(20), Mode: engine.ModeLexical}); err != nil || len(res.Hits) == 0 {
			t.Errorf("a search beside: %v", err)
		}
		return nil
	}
	var told []engine.Progress
	o.Progress = func(p engine.Progress) { told = append(told, p) }
	var rep engine.ReembedReport
	var err error
	if open {
		rep, err = e.Reembed(ctx, enc, o)
	} else {
		rep, err = engine.Reembed(ctx, dir, enc, o)
	}
	if err != nil {
		t.Fatal(err)
	}
	if open {
		if _, err := e.Get(t.Context(), "d1"); !errors.Is(err, engine.ErrClosed) {
			t.Errorf("the old engine after the swap: %v", err)
		}
		closeIt(t, e)
	}
	if wrote == 0 {
		t.Fatal("nothing was written beside it")
	}
	n := openWith(t, dir, to(), engine.Options{MustExist: true})
	defer closeIt(t, n)
	sameBase(t, n, p.mirror)
	s, err := n.Stats(t.Context())
	if err != nil || s.Documents != rep.Documents || rep.Documents < 1000 || rep.Added < 1000 || rep.Chunked == 0 || rep.Found != 0 || rep.From.Model != from().Fingerprint().Model || rep.To.Model != to().Fingerprint().Model {
		t.Errorf("%+v of %d documents, %v", rep, s.Documents, err)
	}
	if told[0].Stage != "reembed" || told[0].Done != 0 || told[len(told)-1].Done != rep.Documents || told[len(told)-1].Total != rep.Documents {
		t.Errorf("progress began with %+v and ended with %+v", told[0], told[len(told)-1])
	}
	for _, name := range []string{"reembed", "SWAP", "replaced"} {
		if _, err := os.Stat(filepath.Join(dir, name)); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s is left: %v", name, err)
		}
	}
}

// TestReembedGoesOn: an interrupted change leaves the old database as it was, and goes
// on where it ended, over changes that came meanwhile; nothing is encoded twice.
func TestReembedGoesOn(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	e := openWith(t, dir, hash(t), engine.Options{})
	p := pair{t, openWith(t, t.TempDir(), encoder.NewHash(32), engine.Options{})}
	defer closeIt(t, p.mirror)
	p.upsert(e, mixedDocs(0, 1800)...)
	before := exportOf(t, e)
	closeIt(t, e)
	encoded := int64(0)
	for round, fails := range []int{0, 1, 7, 9, 3} { // at which call
		ctx, cancel := context.WithCancel(t.Context())
		enc := &calling{Encoder: encoder.NewHash(32)}
		enc.before = func(call int) error {
			if call != fails {
				return nil
			}
			if round%2 == 0 {
				cancel()
				return ctx.Err()
			}
			return errDown
		}
		if fails == 0 { // before it begins
			cancel()
		}
		rep, err := engine.Reembed(ctx, dir, enc, engine.Options{NoSync: true})
		cancel()
		if !errors.Is(err, errDown) && !errors.Is(err, context.Canceled) {
			t.Fatalf("round %d: %+v, %v", round, rep.AddResult, err)
		}
		encoded += int64(rep.Added + rep.Replaced)
		if got := heldBy(t, dir, hash(t)); got != before {
			t.Fatalf("round %d: the old database has changed", round)
		}
		w := openWith(t, dir, hash(t), engine.Options{})
		p.remove(w, fmt.Sprint("d", 10+round), fmt.Sprint("d", 1700+round))
		p.upsert(w, mixedDocs(20+round, 21+round)...)
		if round == 3 {
			if err := w.Compact(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		before = exportOf(t, w)
		closeIt(t, w)
	}
	if encoded == 0 || encoded >= 1800 {
		t.Fatalf("%d documents were encoded by calls that failed", encoded)
	}
	enc := &calling{Encoder: encoder.NewHash(32)}
	rep, err := engine.Reembed(t.Context(), dir, enc, engine.Options{NoSync: true})
	if err != nil {
		t.Fatal(err)
	}
	if rep.Found == 0 || int(enc.texts.Load()) > 1800-rep.Found+30 {
		t.Errorf("%d documents were there, and %d texts encoded: %+v", rep.Found, enc.texts.Load(), rep)
	}
	n := openWith(t, dir, encoder.NewHash(32), engine.Options{MustExist: true})
	defer closeIt(t, n)
	sameBase(t, n, p.mirror)
}

// TestReembedRefuses: what cannot be done is said before anything is encoded, and
// leaves nothing.
func TestReembedRefuses(t *testing.T) {
	ctx := t.Context()
	dir := t.TempDir()
	e := openWith(t, dir, hash(t), engine.Options{})
	add(t, e, docs(0, 30))
	none := func(t *testing.T, dir string, want error, words string, do func() (engine.ReembedReport, error)) {
		t.Helper()
		rep, err := do()
		if !errors.Is(err, want) || !strings.Contains(fmt.Sprint(err), words) {
			t.Errorf("%+v, %v; want %v, %q", rep, err, want, words)
		}
		if _, err := os.Stat(store.Folder(dir).Next()); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("something is left: %v", err)
		}
	}
	never := &calling{Encoder: encoder.NewHash(32), before: func(int) error { t.Error("something was encoded"); return nil }}
	none(t, dir, engine.ErrInvalid, "already", func() (engine.ReembedReport, error) { return e.Reembed(ctx, hash(t), engine.Options{}) })
	none(t, dir, engine.ErrInvalid, "no encoder", func() (engine.ReembedReport, error) { return e.Reembed(ctx, nil, engine.Options{}) })
	none(t, dir, engine.ErrInvalid, "chunks of 1", func() (engine.ReembedReport, error) { return e.Reembed(ctx, never, engine.Options{ChunkTokens: 1}) })
	d := own(t, 30, 31)
	d[0].Text = ""
	add(t, e, d)
	none(t, dir, engine.ErrInvalid, `"d30"`, func() (engine.ReembedReport, error) { return e.Reembed(ctx, never, engine.Options{}) })
	if _, err := e.Delete(ctx, []string{"d30"}); err != nil {
		t.Fatal(err)
	}
	short, cancel := context.WithCancel(ctx)
	cancel()
	none(t, dir, context.Canceled, "", func() (engine.ReembedReport, error) { return e.Reembed(short, never, engine.Options{}) })
	none(t, dir, context.Canceled, "waiting", func() (engine.ReembedReport, error) { return engine.Reembed(short, dir, never, engine.Options{}) })
	closeIt(t, e)
	e = openWith(t, dir, nil, engine.Options{ReadOnly: true})
	none(t, dir, engine.ErrReadOnly, "", func() (engine.ReembedReport, error) { return e.Reembed(ctx, never, engine.Options{}) })
	closeIt(t, e)
	none(t, dir, engine.ErrClosed, "", func() (engine.ReembedReport, error) { return e.Reembed(ctx, never, engine.Options{}) })
	missing := filepath.Join(dir, "none")
	none(t, missing, engine.ErrNoDatabase, "", func() (engine.ReembedReport, error) { return engine.Reembed(ctx, missing, never, engine.Options{}) })
	vectors := t.TempDir()
	e = openWith(t, vectors, nil, engine.Options{Dim: dim})
	add(t, e, own(t, 0, 3))
	none(t, vectors, engine.ErrInvalid, "vectors alone", func() (engine.ReembedReport, error) { return e.Reembed(ctx, never, engine.Options{}) })
	closeIt(t, e)
}

// TestReembedToAnother: what was encoded for one model serves no other, until it is dropped; and a
// second call beside the first is refused.
func TestReembedToAnother(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	e := openWith(t, dir, hash(t), engine.Options{})
	defer closeIt(t, e)
	add(t, e, docs(0, 600))
	before := exportOf(t, e)
	enc := &calling{Encoder: encoder.NewHash(32)}
	enc.before = func(call int) error {
		if call < 7 {
			if _, err := e.Reembed(t.Context(), encoder.NewHash(32), engine.Options{}); !errors.Is(err, engine.ErrLocked) {
				t.Errorf("a second one: %v", err)
			}
			if err := store.Folder(dir).DropNext(); !errors.Is(err, engine.ErrLocked) {
				t.Errorf("dropped while it runs: %v", err)
			}
			return nil
		}
		return errDown
	}
	if rep, err := e.Reembed(t.Context(), enc, engine.Options{NoSync: true}); !errors.Is(err, errDown) || rep.Added == 0 {
		t.Fatalf("%+v, %v", rep.AddResult, err)
	}
	if _, err := e.Reembed(t.Context(), encoder.NewHash(16), engine.Options{}); !errors.Is(err, encoder.ErrMismatch) || !strings.Contains(err.Error(), "hash-32 is under way") {
		t.Fatalf("another model: %v", err)
	}
	if exportOf(t, e) != before {
		t.Fatal("the old database has changed")
	}
	if err := store.Folder(dir).DropNext(); err != nil {
		t.Fatal(err)
	}
	if rep, err := e.Reembed(t.Context(), encoder.NewHash(16), engine.Options{NoSync: true}); err != nil || rep.Found != 0 || rep.Documents != 600 {
		t.Fatalf("%+v, %v", rep.AddResult, err)
	}
	n := openWith(t, dir, encoder.NewHash(16), engine.Options{})
	defer closeIt(t, n)
	if _, err := engine.Open(t.Context(), dir, hash(t), engine.Options{}); err == nil {
		t.Error("the old encoder opens it")
	}
}

// TestReembedOfAnotherPast: what was encoded from a database does not serve one that has
// taken its place.
func TestReembedOfAnotherPast(t *testing.T) {
	dir := t.TempDir()
	e := openWith(t, dir, hash(t), engine.Options{})
	add(t, e, docs(0, 600))
	if _, err := e.Reembed(t.Context(), &calling{Encoder: encoder.NewHash(32), before: func(call int) error {
		if call > 6 {
			return errDown
		}
		return nil
	}}, engine.Options{NoSync: true}); !errors.Is(err, errDown) {
		t.Fatal(err)
	}
	closeIt(t, e)
	other := t.TempDir()
	e = openWith(t, other, hash(t), engine.Options{})
	add(t, e, docs(0, 600))
	closeIt(t, e)
	if err := os.Rename(store.Folder(dir).Next(), store.Folder(other).Next()); err != nil {
		t.Fatal(err)
	}
	if _, err := engine.Reembed(t.Context(), other, encoder.NewHash(32), engine.Options{}); !errors.Is(err, engine.ErrInvalid) || !strings.Contains(err.Error(), "drop") {
		t.Fatalf("%v", err)
	}
}

// TestReembedBridges: fitted bridges go and are told, local ones are made anew; a model
// behind a URL that answers otherwise under its old name can be changed to.
func TestReembedBridges(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	e := openWith(t, dir, hash(t), engine.Options{Local: true})
	add(t, e, docs(0, 120))
	if _, err := e.Fit(t.Context(), engine.FitOptions{Variant: "slr", Epochs: 1, QueriesPerPassage: 1}); err != nil {
		t.Fatal(err)
	}
	if err := e.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	closeIt(t, e)
	s := &source{}
	rep, err := engine.Reembed(t.Context(), dir, s.encoder("theirs"), engine.Options{})
	if err != nil || !slices.Equal(rep.Bridges, []string{"slr"}) || !rep.Local {
		t.Fatalf("%+v, %v", rep, err)
	}
	e = openWith(t, dir, s.encoder("theirs"), engine.Options{})
	st, err := e.Stats(t.Context())
	if err != nil || len(st.Bridges) != 0 || st.Memory.Local == 0 || st.Encoder.Model != "theirs" {
		t.Fatalf("%+v, %v", st, err)
	}
	if r := search(t, e, engine.Query{Text: text(7), Mode: engine.ModeDense}); r.Trace.Variant != engine.VariantLocal || r.Hits[0].ID != "d7" {
		t.Errorf("%+v", r.Trace)
	}
	closeIt(t, e)
	s.turned.Store(true)
	e = openWith(t, dir, s.encoder("theirs"), engine.Options{})
	if _, err := e.Add(t.Context(), docs(120, 121)); !errors.Is(err, encoder.ErrMismatch) {
		t.Fatalf("the model answers otherwise: %v", err)
	}
	if _, err := e.Reembed(t.Context(), s.encoder("theirs"), engine.Options{}); err != nil {
		t.Fatal(err)
	}
	e = openWith(t, dir, s.encoder("theirs"), engine.Options{})
	add(t, e, docs(120, 121))
	closeIt(t, e)
}

// TestReembedEndsWithClose: Close ends a Reembed, which goes on when the database is
// opened again.
func TestReembedEndsWithClose(t *testing.T) {
	dir := t.TempDir()
	e := openWith(t, dir, hash(t), engine.Options{})
	add(t, e, docs(0, 700))
	closing := make(chan error, 1)
	enc := &calling{Encoder: encoder.NewHash(32)}
	enc.before = func(call int) error {
		if call == 7 {
			go func() { closing <- e.Close() }()
			for {
				if _, err := e.Get(context.Background(), "d1"); errors.Is(err, engine.ErrClosed) {
					return nil
				}
			}
		}
		return nil
	}
	if rep, err := e.Reembed(t.Context(), enc, engine.Options{NoSync: true}); !errors.Is(err, engine.ErrClosed) || rep.Added == 0 {
		t.Fatalf("%+v, %v", rep.AddResult, err)
	}
	if err := <-closing; err != nil {
		t.Fatal(err)
	}
	e = openWith(t, dir, hash(t), engine.Options{})
	if s, err := e.Stats(t.Context()); err != nil || !s.Reembedding || s.Documents != 700 {
		t.Fatalf("%+v, %v", s, err)
	}
	rep, err := e.Reembed(t.Context(), encoder.NewHash(32), engine.Options{NoSync: true})
	if err != nil || rep.Found == 0 || rep.Documents != 700 {
		t.Fatalf("%+v, %v", rep.AddResult, err)
	}
	n := openWith(t, dir, encoder.NewHash(32), engine.Options{})
	defer closeIt(t, n)
	if s, err := n.Stats(t.Context()); err != nil || s.Reembedding {
		t.Errorf("%+v, %v", s, err)
	}
}
