package engine_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/lexsem/lexsem/encoder"
	"github.com/lexsem/lexsem/engine"
	"github.com/lexsem/lexsem/engine/archive"
)

// source is a source of vectors behind encoder.Func, as it might be: it counts its
// calls, may be down, and may answer otherwise.
type source struct {
	calls  atomic.Int64
	down   atomic.Bool
	turned atomic.Bool // its vectors are those of another model
}

var errDown = errors.New("the source is down")

func (s *source) encoder(name string) encoder.Encoder {
	h := encoder.NewHash(dim)
	return encoder.Func(name, dim, func(ctx context.Context, texts []string) ([][]float32, error) {
		s.calls.Add(1)
		if s.down.Load() {
			return nil, errDown
		}
		out, err := h.Encode(ctx, encoder.Passage, encoder.Texts(texts...), encoder.NeedDense)
		if err != nil {
			return nil, err
		}
		vectors := make([][]float32, len(out))
		for i, o := range out {
			if s.turned.Load() {
				o.Dense[0] += .1
			}
			vectors[i] = o.Dense
		}
		return vectors, nil
	})
}

func openWith(t *testing.T, dir string, enc encoder.Encoder, o engine.Options) *engine.Engine {
	t.Helper()
	o.NoSync = true
	e, err := engine.Open(t.Context(), dir, enc, sparing(o))
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func closeIt(t *testing.T, e *engine.Engine) {
	t.Helper()
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
}

// TestFuncDatabase: a database of a source without probe vectors is filled, opened
// while the source is down, and compared when something is next encoded.
func TestFuncDatabase(t *testing.T) {
	dir, s := t.TempDir(), &source{}
	e := openWith(t, dir, s.encoder("mine"), engine.Options{})
	if s.calls.Load() != 0 {
		t.Error("creating a database asked the source")
	}
	add(t, e, docs(0, 50))
	before := s.calls.Load()
	for i := range 3 {
		if r := search(t, e, engine.Query{Text: text(i)}); r.Hits[0].ID != fmt.Sprint("d", i) {
			t.Errorf("text %d finds %v", i, ids(r))
		}
	}
	if n := s.calls.Load() - before; n != 3 {
		t.Errorf("3 searches asked the source %d times", n)
	}
	closeIt(t, e)

	s.down.Store(true)
	before = s.calls.Load()
	e = openWith(t, dir, s.encoder("mine"), engine.Options{})
	if r := search(t, e, engine.Query{Text: text(7), Mode: engine.ModeLexical}); r.Hits[0].ID != "d7" {
		t.Errorf("lexical search finds %v", ids(r))
	}
	if d, err := e.Get(t.Context(), "d7"); err != nil || len(d.Vector) != dim {
		t.Errorf("%v, %v", d, err)
	} else if r := search(t, e, engine.Query{Vector: d.Vector}); r.Hits[0].ID != "d7" {
		t.Errorf("search by vector finds %v", ids(r))
	}
	if s.calls.Load() != before {
		t.Error("what needs no vector asked the source")
	}
	if _, err := e.Search(t.Context(), engine.Query{Text: text(7)}); !errors.Is(err, errDown) {
		t.Errorf("a search while the source is down: %v", err)
	}
	s.down.Store(false)
	if r := search(t, e, engine.Query{Text: text(7)}); r.Hits[0].ID != "d7" {
		t.Errorf("search finds %v", ids(r))
	}
	if _, err := e.Fit(t.Context(), engine.FitOptions{}); !errors.Is(err, engine.ErrInvalid) || !strings.Contains(err.Error(), "mine") {
		t.Errorf("fit: %v", err)
	}
	if _, err := e.Search(t.Context(), engine.Query{Text: "words", Variant: "mlm"}); err == nil {
		t.Error("a variant that reads what the source does not give was served")
	}
	closeIt(t, e)
}

// TestChangedSource: one whose answers are no longer those that filled the
// database is told so before anything of it is stored or found, and is served once
// it is accepted by name.
func TestChangedSource(t *testing.T) {
	dir, s := t.TempDir(), &source{}
	e := openWith(t, dir, s.encoder("mine"), engine.Options{})
	add(t, e, docs(0, 20))
	closeIt(t, e)

	s.turned.Store(true)
	e = openWith(t, dir, s.encoder("mine"), engine.Options{AcceptModel: "another"})
	_, searched := e.Search(t.Context(), engine.Query{Text: text(7)})
	_, added := e.Add(t.Context(), docs(20, 30))
	for what, err := range map[string]error{"search": searched, "add": added} {
		if !errors.Is(err, encoder.ErrMismatch) || !strings.Contains(err.Error(), "encoder mine") || !strings.Contains(err.Error(), dir) || !strings.Contains(err.Error(), "AcceptModel") {
			t.Errorf("%s: %v", what, err)
		}
	}
	if st, err := e.Stats(t.Context()); err != nil || st.Documents != 20 {
		t.Errorf("%d documents, %v", st.Documents, err)
	}
	closeIt(t, e)

	var log bytes.Buffer
	e = openWith(t, dir, s.encoder("mine"), engine.Options{AcceptModel: "mine", Logger: slog.New(slog.NewTextHandler(&log, nil))})
	add(t, e, docs(20, 30))
	search(t, e, engine.Query{Text: text(7)})
	closeIt(t, e)
	if n := strings.Count(log.String(), "accepted by name"); n != 1 {
		t.Errorf("%d warnings: %s", n, log.String())
	}
}

// A name is all that tells such sources apart at once.
func TestOtherSourceIsRefused(t *testing.T) {
	dir, s := t.TempDir(), &source{}
	e := openWith(t, dir, s.encoder("mine"), engine.Options{})
	add(t, e, docs(0, 3))
	closeIt(t, e)
	if _, err := engine.Open(t.Context(), dir, s.encoder("yours"), engine.Options{AcceptModel: "yours"}); !errors.Is(err, encoder.ErrMismatch) {
		t.Errorf("another name: %v", err)
	}
}

// An export has the probe vectors that came with the first text, and an import
// compares with them, also before the database is opened again.
func TestProbesInExports(t *testing.T) {
	s := &source{}
	filled := func() (*engine.Engine, string) {
		e := openWith(t, t.TempDir(), s.encoder("mine"), engine.Options{})
		add(t, e, docs(0, 3))
		var b strings.Builder
		if _, err := e.Export(t.Context(), &b, archive.ExportOptions{Vectors: true}); err != nil {
			t.Fatal(err)
		}
		return e, b.String()
	}
	e, text := filled()
	defer closeIt(t, e)
	x, err := archive.NewExported(strings.NewReader(text))
	if err != nil || !x.Encoder.Probed() {
		t.Errorf("an export without probe vectors, %v", err)
	}
	s.turned.Store(true)
	other, text := filled()
	defer closeIt(t, other)
	if x, err = archive.NewExported(strings.NewReader(text)); err != nil {
		t.Fatal(err)
	}
	if _, err := e.Import(t.Context(), x); !errors.Is(err, encoder.ErrMismatch) {
		t.Errorf("vectors of a source that has changed: %v", err)
	}
}

// Documents with vectors of their own ask the source for nothing; the first text
// that is encoded does, and its probe vectors stay.
func TestProbesComeWithTheFirstText(t *testing.T) {
	dir, s := t.TempDir(), &source{}
	e := openWith(t, dir, s.encoder("mine"), engine.Options{})
	v := make([]float32, dim)
	v[3] = 1
	add(t, e, []engine.Document{{ID: "own", Text: "a text", Vector: v}})
	if s.calls.Load() != 0 {
		t.Error("a document with a vector asked the source")
	}
	add(t, e, docs(0, 1))
	closeIt(t, e)
	s.turned.Store(true)
	e = openWith(t, dir, s.encoder("mine"), engine.Options{})
	if _, err := e.Search(t.Context(), engine.Query{Text: "a text"}); !errors.Is(err, encoder.ErrMismatch) {
		t.Errorf("a source that has changed: %v", err)
	}
	closeIt(t, e)
}

// forged is an encoder whose fingerprint can be anything.
type forged struct {
	encoder.Encoder
	f encoder.Fingerprint
}

func (f forged) Fingerprint() encoder.Fingerprint { return f.f }

// A database is not made with an encoder that it could not be opened with again.
func TestImpossibleEncoders(t *testing.T) {
	h := encoder.NewHash(dim)
	for name, spoil := range map[string]func(f *encoder.Fingerprint){
		"no name":         func(f *encoder.Fingerprint) { f.Model = "" },
		"other dimension": func(f *encoder.Fingerprint) { f.Dim++ },
		"other ids":       func(f *encoder.Fingerprint) { f.VocabSize-- },
		"some probes":     func(f *encoder.Fingerprint) { f.Probe[2] = nil },
		"late probes":     func(f *encoder.Fingerprint) { f.Probe[0] = nil },
		"zero probe":      func(f *encoder.Fingerprint) { f.Probe[3] = make([]float32, dim) },
		"short probe":     func(f *encoder.Fingerprint) { f.Probe[1] = f.Probe[1][1:] },
	} {
		f := h.Fingerprint()
		spoil(&f)
		_, err := engine.Open(t.Context(), t.TempDir(), forged{h, f}, engine.Options{})
		if !errors.Is(err, engine.ErrEncoder) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, enc := range []encoder.Encoder{encoder.Func("", 4, nil), encoder.Func("x", 0, nil), encoder.Func("x", 1<<20, nil)} {
		if _, err := engine.Open(t.Context(), t.TempDir(), enc, engine.Options{}); !errors.Is(err, engine.ErrEncoder) {
			t.Errorf("%+v: %v", enc.Fingerprint(), err)
		}
	}
	f := h.Fingerprint()
	f.Probe = [4][]float32{}
	dir := t.TempDir()
	e := openWith(t, dir, forged{h, f}, engine.Options{})
	add(t, e, docs(0, 20))
	closeIt(t, e)
	e = openWith(t, dir, forged{h, f}, engine.Options{})
	if r := search(t, e, engine.Query{Text: text(3)}); r.Hits[0].ID != "d3" {
		t.Errorf("an encoder of one's own without probe vectors finds %v", ids(r))
	}
	closeIt(t, e)
}
