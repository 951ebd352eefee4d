package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"

	"github.com/lexsem/lexsem/encoder"
	"github.com/lexsem/lexsem/engine/internal/calls"
	"github.com/lexsem/lexsem/engine/internal/intake"
	"github.com/lexsem/lexsem/engine/internal/spelling"
	"github.com/lexsem/lexsem/engine/internal/state"
	"github.com/lexsem/lexsem/engine/internal/terms"
	"github.com/lexsem/lexsem/internal/chunk"
	"github.com/lexsem/lexsem/internal/fault"
	"github.com/lexsem/lexsem/internal/metric"
	"github.com/lexsem/lexsem/internal/text"
	"github.com/lexsem/lexsem/store"
)

// Open opens the database in dir, or creates one. enc must be the encoder that the database was filled with. Close does
// not close enc.
//
// Without an encoder (nil) the database serves all calls that need none: Get, Delete, Stats, lexical searches, and
// documents and queries with vectors. Such a database can be created with Options.Dim.
//
// An encoder whose fingerprint has no probe vectors, such as encoder.Func, is checked later: its vectors of the probe
// texts are stored with the first documents that it encodes. They are compared before the first encoding after each
// later opening (Options.AcceptModel).
//
// An Open that fails leaves no new database.
//
// Errors: *encoder.MismatchError for another encoder; ErrLocked, ErrForeign, ErrNoDatabase, ErrCorrupt, ErrInvalid.
// Cost: little if the snapshots of derived state are up to date. Otherwise Open replays the later commits or, without
// usable snapshots, scans all vectors.
func Open(ctx context.Context, dir string, enc encoder.Encoder, o Options) (*Engine, error) {
	return open(ctx, dir, enc, o, autoHNSW)
}

func open(ctx context.Context, dir string, enc encoder.Encoder, o Options, graphAbove int) (*Engine, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	if enc != nil {
		if err := intake.CheckEncoder(enc); err != nil {
			return nil, err
		}
		if d := enc.Dim(); o.Dim != 0 && o.Dim != d {
			return nil, fmt.Errorf("%w: Options.Dim is %d, and the encoder's dimension %d; leave one of them out", ErrInvalid, o.Dim, d)
		}
	}
	dir, leave, err := folderOf(dir, o)
	if err != nil {
		return nil, err
	}
	e, err := openIn(ctx, dir, enc, o, graphAbove)
	if err != nil {
		return nil, errors.Join(err, leave())
	}
	e.leave = leave
	return e, nil
}

// folderOf is the folder of a database, as an absolute path since the process may change its working
// directory, and a function that removes it at the end: a database in memory has a temporary folder.
func folderOf(dir string, o Options) (string, func() error, error) {
	if !o.InMemory {
		abs, err := fault.Folder(dir)
		if dir == "" {
			return "", nil, fmt.Errorf("%w, or set Options.InMemory", err)
		}
		if err != nil {
			return "", nil, fmt.Errorf("database %s: %w", dir, err)
		}
		return abs, func() error { return nil }, nil
	}
	if dir != "" {
		return "", nil, fmt.Errorf("%w: a database in memory has no folder, and %q was given; leave it empty", ErrInvalid, dir)
	}
	dir, err := os.MkdirTemp("", "lexsem-memory-")
	if err != nil {
		return "", nil, fmt.Errorf("database in memory: %w", err)
	}
	return dir, func() error { return os.RemoveAll(dir) }, nil
}

func openIn(ctx context.Context, dir string, enc encoder.Encoder, o Options, graphAbove int) (*Engine, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if o.MustExist || o.ReadOnly || !o.InMemory && enc == nil && o.Dim == 0 && o.OpenEncoder == nil {
		if ok, err := store.Folder(dir).Exists(); err != nil {
			return nil, err
		} else if !ok {
			return nil, fmt.Errorf("database %s: %w", dir, ErrNoDatabase)
		}
	}
	st, err := store.Open(dir, store.Options{NoSync: o.NoSync, ReadOnly: o.ReadOnly, InMemory: o.InMemory, MemoryMiB: o.storeMiB(), Logger: o.Logger})
	if err != nil {
		return nil, err
	}
	e := &Engine{dir: dir, o: o, st: st, graphAbove: graphAbove, probe: newProber(), fits: make(chan struct{}, 1), calls: calls.New(), ended: make(chan struct{}), closeEncoder: func() error { return nil }}
	if enc == nil && o.OpenEncoder != nil {
		if enc, err = e.openEncoder(ctx); err != nil {
			return nil, errors.Join(err, st.Abandon(), e.closeEncoder())
		}
	}
	if enc != nil {
		e.enc = intake.Checked{Encoder: enc}
	}
	if err := e.start(ctx); err != nil {
		return nil, errors.Join(err, st.Abandon(), e.closeEncoder())
	}
	return e, nil
}

// openEncoder opens the encoder of the database, nil for one with only vectors.
func (e *Engine) openEncoder(ctx context.Context) (enc encoder.Encoder, err error) {
	var stored encoder.Fingerprint
	if m := e.st.Manifest(); len(m.Encoder) > 0 {
		if stored, err = intake.StoredFingerprint(m); err != nil {
			return nil, err
		}
	}
	if stored.Model == "" && (stored.Dim > 0 || e.o.Dim > 0) {
		return nil, nil
	}
	if enc, err = e.o.OpenEncoder(ctx, stored); err != nil {
		return nil, err
	}
	e.closeEncoder = enc.Close
	return enc, intake.CheckEncoder(enc)
}

// start binds the encoder to the database and opens the derived state.
func (e *Engine) start(ctx context.Context) error {
	m := e.st.Manifest()
	if err := e.startMetric(m); err != nil {
		return err
	}
	if err := e.startImages(m); err != nil {
		return err
	}
	switch {
	case len(m.Encoder) > 0:
		if err := json.Unmarshal(m.Encoder, &e.fp); err != nil {
			return fmt.Errorf("%w: encoder fingerprint in the manifest of %s: %v", ErrCorrupt, e.dir, err)
		}
		if err := intake.CheckShape(e.fp, m.Dim); err != nil {
			return fmt.Errorf("%w: the manifest of %s names %v", ErrCorrupt, e.dir, err)
		}
		if e.o.Dim != 0 && e.o.Dim != e.fp.Dim {
			return fmt.Errorf("%w: database %s holds vectors of %d dimensions, not %d", ErrInvalid, e.dir, e.fp.Dim, e.o.Dim)
		}
		if e.enc != nil && e.vectorsOnly() {
			return fmt.Errorf("database %s: %w: it was made for vectors alone; open it without an encoder", e.dir, encoder.ErrMismatch)
		}
		if e.enc != nil {
			if err := e.checkEncoder(e.fp, e.enc.Fingerprint()); err != nil {
				return err
			}
		}
	case e.enc == nil && e.o.Dim == 0:
		return fmt.Errorf("database %s was never written to: %w", e.dir, ErrNoEncoder)
	default:
		e.fp = encoder.Fingerprint{Dim: e.o.Dim}
		if e.enc != nil {
			e.fp = e.enc.Fingerprint()
		}
		if err := intake.CheckShape(e.fp, e.fp.Dim); err != nil {
			return fmt.Errorf("%w: %v", ErrInvalid, err)
		}
		if err := e.st.SetManifest(ctx, func(m *store.Manifest) error {
			return intake.DescribeNew(m, e.fp, e.metric, e.o.Language, e.o.TokenStates)
		}); err != nil {
			return err
		}
	}
	e.cone.set(e.fp.Unrelated)
	e.short = e.st.Manifest().Short
	language := e.st.Manifest().Language
	if e.o.Language != "" && e.o.Language != language && !(language == "" && e.o.Language == "en") {
		return fmt.Errorf("%w: database %s holds texts in language %q, not %q; open it without a language or build it anew", ErrInvalid, e.dir, language, e.o.Language)
	}
	analyzer, err := text.For(language)
	if err != nil {
		return err
	}
	if err := e.startKind(ctx); err != nil {
		return err
	}
	e.speller = spelling.New(analyzer)
	if e.fp.VocabSize == 0 && e.metric.Directions() {
		e.terms = terms.New(analyzer, e.st)
	}
	if err := e.startTokens(); err != nil {
		return err
	}
	if e.o.Index == "" {
		e.o.Index = e.st.Manifest().Index
	}
	e.chunks = chunk.New(e.enc, e.o.ChunkTokens, e.o.ChunkOverlap)
	e.db, err = state.Open(ctx, e.st, state.Options{
		Dir: e.dir, Dim: e.fp.Dim, Vocab: e.fp.VocabSize, Metric: e.metric,
		Index: e.o.Index, GraphAbove: e.graphAbove, Analyzer: analyzer, Lambda: e.rlr().Ridge(), Local: e.o.Local, MaxBytes: e.o.partBytes(), ReclaimAfter: reclaimAfter, CheckCodes: e.tokens.knows, Impacts: impactsOf(e.fp),
		Bridges: e.loadBridges, Logger: e.o.Logger, ReadOnly: e.o.ReadOnly, NoSync: e.o.NoSync || e.o.InMemory,
		Progress: func(stage string, done, total int) {
			e.report(context.Background(), Progress{Stage: stage, Done: done, Total: total})
		},
	})
	if err == nil && e.terms != nil {
		err = e.checkTerms()
	}
	if err == nil {
		err = e.noteWaiting(ctx)
	}
	if err == nil {
		err = e.keepIndex(ctx)
	}
	if err == nil && e.enc != nil {
		e.db.EncodeBy(e.encodeDeferred)
	}
	return err
}

// startMetric sets the metric of the database, and refuses options that do not work with it. What there is in
// package metric holds for all else.
func (e *Engine) startMetric(m store.Manifest) (err error) {
	if e.metric, err = metric.Of(e.o.Metric); err != nil {
		return err
	}
	if len(m.Encoder) > 0 { // it is there
		made, err := metric.Of(m.Metric)
		if err != nil {
			return fmt.Errorf("database %s: %w, or a newer version of the program", e.dir, err)
		}
		if e.o.Metric != "" && e.metric.String() != made.String() {
			return fmt.Errorf("%w: database %s was made with metric %s, not %s; open it without a metric or build it anew", ErrInvalid, e.dir, made, e.metric)
		}
		e.metric = made
	}
	if c, ok := e.enc.(intake.Checked); ok {
		c.Metric = e.metric
		e.enc = c
	}
	if e.metric.Directions() {
		return nil
	}
	var errs []error
	if e.o.Local {
		errs = append(errs, e.metric.Needs("local bridges"))
	}
	if e.o.TokenStates != "" && e.o.TokenStates != TokenStatesOff {
		errs = append(errs, e.metric.Needs("token states"))
	}
	e.o.TokenStates = TokenStatesOff // for those that an import brings
	return errors.Join(errs...)
}

// keepIndex stores the kind of index that was requested.
func (e *Engine) keepIndex(ctx context.Context) error {
	kind := e.db.Index()
	if e.o.ReadOnly || kind == e.st.Manifest().Index {
		return nil
	}
	err := e.st.SetManifest(ctx, func(m *store.Manifest) error { m.Index = kind; return nil })
	if err != nil {
		err = errors.Join(err, e.db.Abandon())
	}
	return err
}

// checkTerms refuses a database with tokens beyond its vocabulary, since new terms would get their numbers.
func (e *Engine) checkTerms() error {
	if n, terms := e.db.Present().Sums.VocabSize(), e.st.TermCount(); n > terms {
		err := fmt.Errorf("%w: documents of %s have terms up to number %d, its vocabulary has %d", ErrCorrupt, e.dir, n-1, terms)
		return errors.Join(err, e.db.Abandon())
	}
	return nil
}
