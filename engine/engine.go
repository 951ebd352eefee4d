// Package engine is the embedded database: it stores documents in a folder and finds them by meaning and by
// their exact words.
//
// Start with [Open], [Engine.Add] or [Engine.Upsert], and [Engine.Search]. [Engine.Fit] fits a bridge,
// [Engine.Explain] tells why a document is found, [Engine.Backup] and [Restore] keep copies, [Engine.Verify]
// and [Repair] find and mend damage. [Database] is the interface of an open database, also of one that
// another process has open (serve/share) or whose documents another engine keeps (engine/remote).
// docs/design.md follows a query, a document and a commit.
//
// What holds:
//
//   - Durability: a write that has returned survives the end of the process. It survives a loss of power,
//     too, unless Options.NoSync is set (docs/reliability.md). An Add of any size is stored as a whole or not
//     at all.
//   - Concurrency: all methods of an Engine are safe for concurrent use. Commits run one at a time. A search
//     sees one committed state and waits for no commit.
//   - Freshness: when Add returns, its documents are found. Factors, graphs, local bridges and snapshots
//     follow in the background; [Engine.Flush] waits for them.
//   - Passages stay as they are: only queries are modulated, so one index serves every variant.
//   - Contexts: a call ends with its context. With a deadline it ends by the clock: it may return
//     context.DeadlineExceeded some milliseconds before the context itself says so.
//   - Damage is detected when data is read. The call returns ErrCorrupt, never a wrong result. Damaged
//     derived state is made anew from the stored documents in the background.
//   - Cost: a search with a flat index reads Dim bytes a chunk. Beyond [AutoHNSW] chunks the index is a
//     graph.
package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"

	"github.com/lexsem/lexsem/encoder"
	"github.com/lexsem/lexsem/engine/internal/calls"
	"github.com/lexsem/lexsem/engine/internal/chunk"
	"github.com/lexsem/lexsem/engine/internal/intake"
	"github.com/lexsem/lexsem/engine/internal/search"
	"github.com/lexsem/lexsem/engine/internal/state"
	"github.com/lexsem/lexsem/engine/internal/terms"
	"github.com/lexsem/lexsem/internal/metric"
	"github.com/lexsem/lexsem/internal/progress"
	"github.com/lexsem/lexsem/internal/text"
	"github.com/lexsem/lexsem/internal/yield"
	"github.com/lexsem/lexsem/modulate"
	"github.com/lexsem/lexsem/store"
)

// Engine is an open database. All methods are safe for concurrent use. Writes run one after another; searches run at
// the same time as writes.
type Engine struct {
	dir    string
	o      Options
	enc    encoder.Encoder // checked; nil if opened without one
	metric metric.Metric
	chunks chunk.Splitter
	terms  *terms.Vocabulary // nil where the encoder has tokens, and where nothing is modulated
	fp     encoder.Fingerprint
	st     *store.Store
	db     *state.DB

	tokens  tokenStates
	images  *images // of a database of images
	probe   prober
	encoded atomic.Int64 // texts of documents so far

	graphAbove int // AutoHNSW, but in tests

	fits     chan struct{} // holds a value while a fit runs
	progress sync.Mutex    // held while Options.Progress runs

	closeEncoder func() error // of the encoder that Options.OpenEncoder opened
	leave        func() error // removes the folder of a database in memory

	calls    *calls.Calls
	ended    chan struct{} // closed when Close has finished
	replaced atomic.Bool   // another database takes the place of this one
}

// Open opens the database in dir, or creates one. enc must be the encoder that the database was filled with. Close does
// not close enc.
//
// Without an encoder (nil) the database serves everything that needs none: Get, Delete, Stats, lexical searches, and
// documents and queries with vectors. Such a database can be created with Options.Dim.
//
// An encoder whose fingerprint has no probe vectors, such as encoder.Func, is checked later: its vectors of the probe
// texts are stored with the first documents that it encodes. They are compared before the first encoding after each
// later opening (Options.AcceptModel).
//
// Errors: *encoder.MismatchError for another encoder; ErrLocked, ErrForeign, ErrNoDatabase, ErrCorrupt, ErrInvalid.
// Cost: little if the snapshots of derived state are up to date. Otherwise Open replays the later commits or, without
// usable snapshots, scans all vectors.
func Open(ctx context.Context, dir string, enc encoder.Encoder, o Options) (*Engine, error) {
	return open(ctx, dir, enc, o, AutoHNSW)
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

// folderOf is the folder of a database, absolute since the process may change its own, and what removes it
// in the end: that of a database in memory is a temporary one.
func folderOf(dir string, o Options) (string, func() error, error) {
	if !o.InMemory {
		abs, err := filepath.Abs(dir)
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
	if o.MustExist || o.ReadOnly || !o.InMemory && enc == nil && o.Dim == 0 && o.OpenEncoder == nil {
		if ok, err := store.Exists(dir); err != nil {
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
			return nil, errors.Join(err, st.Close(), e.closeEncoder())
		}
	}
	if enc != nil {
		e.enc = intake.Checked{Encoder: enc}
	}
	if err := e.start(ctx); err != nil {
		return nil, errors.Join(err, st.Close(), e.closeEncoder())
	}
	return e, nil
}

// openEncoder opens the encoder of the database, nil for one of vectors alone.
func (e *Engine) openEncoder(ctx context.Context) (enc encoder.Encoder, err error) {
	var stored encoder.Fingerprint
	if m := e.st.Manifest(); len(m.Encoder) > 0 {
		if stored, err = storedFingerprint(m); err != nil {
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
		if err := e.st.SetManifest(ctx, func(m *store.Manifest) error { return describeNew(m, e.fp, e.metric, e.o.Language, e.o.TokenStates) }); err != nil {
			return err
		}
	}
	language := e.st.Manifest().Language
	if e.o.Language != "" && e.o.Language != language && !(language == "" && e.o.Language == "en") {
		return fmt.Errorf("%w: database %s holds texts in language %q, not %q; open it without a language or build it anew", ErrInvalid, e.dir, language, e.o.Language)
	}
	analyzer, err := text.For(language)
	if err != nil {
		return err
	}
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
		Index: e.o.Index, GraphAbove: e.graphAbove, Analyzer: analyzer, Lambda: e.rlr().Ridge(), Local: e.o.Local, MaxBytes: e.o.partBytes(), TokenTail: tokenTail, CheckCodes: e.tokens.knows,
		Bridges: e.loadBridges, Logger: e.o.Logger, ReadOnly: e.o.ReadOnly, NoSync: e.o.NoSync || e.o.InMemory,
		Progress: func(stage string, done, total int) {
			e.report(context.Background(), Progress{Stage: stage, Done: done, Total: total})
		},
	})
	if err == nil && e.terms != nil {
		err = e.checkTerms()
	}
	if err == nil {
		err = e.noteWaiting()
	}
	if err == nil {
		err = e.keepIndex(ctx)
	}
	return err
}

// keepIndex remembers the kind of index that was asked for.
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

// checkTerms refuses a database with tokens that its vocabulary does not have: their
// numbers would be given to other terms.
func (e *Engine) checkTerms() error {
	if n, terms := e.db.Present().Sums.VocabSize(), e.st.TermCount(); n > terms {
		err := fmt.Errorf("%w: documents of %s have terms up to number %d, its vocabulary has %d", ErrCorrupt, e.dir, n-1, terms)
		return errors.Join(err, e.db.Abandon())
	}
	return nil
}

// vectorsOnly says that the database was made without an encoder.
func (e *Engine) vectorsOnly() bool { return e.fp.Model == "" }

// space is what the vectors of the database are.
func (e *Engine) space() intake.Space {
	s := intake.Space{Dim: e.fp.Dim, Metric: e.metric, Encoder: e.enc, VectorsOnly: e.vectorsOnly()}
	if e.terms != nil {
		s.Words = e.terms.Tokens
	}
	return s
}

// rlr are the options of RLR.
func (e *Engine) rlr() modulate.RLROptions {
	return modulate.RLROptions{Alpha: e.o.Alpha, Lambda: e.o.Lambda, Centred: e.fp.Media == encoder.MediaImages}
}

// Flush waits until background work covers all commits so far: factors, graphs, and local bridges if they are in use.
// It returns the error of work that failed; the next Flush retries it.
func (e *Engine) Flush(ctx context.Context) (err error) {
	ctx, done, err := e.work(ctx)
	if err != nil {
		return err
	}
	defer done(&err)
	return e.db.Flush(ctx)
}

// Close saves the derived state and closes the database. New calls return ErrClosed at once. Running searches finish. A
// running Add, Fit, Flush or Verify is cancelled with ErrClosed, except that an Add whose commit is already written
// succeeds.
//
// Committed documents are on disk whatever Close returns. A second Close waits for the first and does nothing, but
// after ErrNoSpace it tries again.
func (e *Engine) Close() error {
	if !e.calls.End() {
		<-e.ended
		return e.st.Close()
	}
	defer close(e.ended)
	e.db.Stop()
	e.calls.Wait()
	save := e.db.Close
	if e.replaced.Load() || e.o.InMemory { // what is derived ends with the database
		save = e.db.Abandon
	}
	return errors.Join(save(), e.st.Close(), e.closeEncoder(), e.leave())
}

// work marks a call as running that Close cancels, and beside which searches run. What ends
// the call also repairs as that of read does.
func (e *Engine) work(ctx context.Context) (context.Context, func(*error), error) {
	ctx, done, err := e.calls.Begin(ctx)
	if err != nil {
		return ctx, nil, err
	}
	return yield.Context(ctx), func(err *error) {
		e.db.Repair(err)
		done(err)
	}, nil
}

// write is work for calls that write: those of a read-only database are ErrReadOnly.
func (e *Engine) write(ctx context.Context) (context.Context, func(*error), error) {
	ctx, done, err := e.work(ctx)
	if err == nil && e.o.ReadOnly {
		err = ErrReadOnly
		done(&err)
	}
	return ctx, done, err
}

// read marks a call as running that reads one state. What ends the call repairs what an
// error of it says is damaged.
func (e *Engine) read() (*state.State, func(*error), error) {
	done, err := e.calls.Enter()
	if err != nil {
		return nil, nil, err
	}
	ref := e.db.Acquire()
	searched := e.db.Search()
	return ref.Value, func(err *error) {
		searched()
		ref.Release()
		e.db.Repair(err)
		done()
	}, nil
}

// Default returns the variant of a text query that names neither mode nor variant; "" after Close.
func (e *Engine) Default() string {
	s, done, err := e.read()
	if err != nil {
		return ""
	}
	defer done(&err)
	return search.Default(&s.Modulation, ModeHybrid)
}

// report tells how far a call is: whoever made it in another process, else whoever opened
// the database.
func (e *Engine) report(ctx context.Context, p Progress) {
	if hear := progress.Of(ctx); hear != nil {
		hear(p.Stage, p.Done, p.Total)
		return
	}
	if e.o.Progress != nil {
		e.progress.Lock()
		defer e.progress.Unlock()
		e.o.Progress(p)
	}
}

func (e *Engine) warn(msg string, args ...any) {
	if e.o.Logger != nil {
		e.o.Logger.Warn(msg, args...)
	}
}
