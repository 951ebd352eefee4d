// Package engine is the embedded database: it stores documents in a folder and finds them by meaning and by
// their exact words.
//
// Start with [Open], [Engine.Add] or [Engine.Upsert], and [Engine.Search]. [Engine.Fit] fits a bridge, [Engine.Explain]
// shows why a document is found, [Engine.Backup], [Engine.Export] and package engine/archive keep copies,
// [Engine.Verify] and package engine/repair find and repair damage. [Database] is the interface of an open database. It
// also covers a database that another process has open (serve/share), and documents that another engine keeps
// (engine/remote). docs/design.md follows a query, a document and a commit.
//
// What holds:
//
//   - Durability: a write that has returned survives the end of the process. It also survives a power cut,
//     unless Options.NoSync is set (docs/reliability.md). An Add of any size is stored as a whole or not at
//     all.
//   - Concurrency: all methods of an Engine are safe for concurrent use. Commits run one at a time. A search
//     sees one committed state and waits for no commit.
//   - Freshness: when Add returns, searches find its documents. Factors, graphs, local bridges and snapshots
//     follow in the background; [Engine.Flush] waits for them.
//   - Stored passages do not change: only queries are modulated, so one index serves every variant.
//   - Contexts: a call ends with its context. With a deadline it ends by the clock: it may return
//     context.DeadlineExceeded some milliseconds before the context itself says so.
//   - Damage is detected when data is read. The call returns ErrCorrupt, never a wrong result. Damaged
//     derived state is made anew from the stored documents in the background.
//   - Cost: a search with a flat index reads Dim bytes a chunk. Beyond 50,000 chunks the index is a
//     graph.
package engine

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"

	"github.com/lexsem/lexsem/encoder"
	"github.com/lexsem/lexsem/engine/internal/calls"
	"github.com/lexsem/lexsem/engine/internal/intake"
	"github.com/lexsem/lexsem/engine/internal/search"
	"github.com/lexsem/lexsem/engine/internal/spelling"
	"github.com/lexsem/lexsem/engine/internal/state"
	"github.com/lexsem/lexsem/engine/internal/terms"
	"github.com/lexsem/lexsem/internal/chunk"
	"github.com/lexsem/lexsem/internal/metric"
	"github.com/lexsem/lexsem/internal/progress"
	"github.com/lexsem/lexsem/internal/yield"
	"github.com/lexsem/lexsem/modulate"
	"github.com/lexsem/lexsem/store"
)

// Engine is an open database. All methods are safe for concurrent use. Writes run one after another; searches run at
// the same time as writes.
type Engine struct {
	dir     string
	o       Options
	enc     encoder.Encoder // checked; nil if opened without one
	metric  metric.Metric
	chunks  chunk.Splitter
	terms   *terms.Vocabulary // nil where the encoder has tokens, and where nothing is modulated
	fp      encoder.Fingerprint
	st      *store.Store
	db      *state.DB
	speller *spelling.Speller

	tokens  tokenStates
	images  *images // of a database of images
	kind    kind
	later   later
	note    atomic.Pointer[noteAt]
	probe   prober
	cone    cone
	encoded atomic.Int64 // texts of documents so far
	short   bool         // records are short

	graphAbove int // autoHNSW, but in tests

	fits     chan struct{} // holds a value while a fit runs
	progress sync.Mutex    // held while Options.Progress runs

	closeEncoder func() error // of the encoder that Options.OpenEncoder opened
	leave        func() error // removes the folder of a database in memory

	calls    *calls.Calls
	ended    chan struct{} // closed when Close has finished
	replaced atomic.Bool   // another database takes the place of this one
}

// vectorsOnly reports whether the database was made without an encoder.
func (e *Engine) vectorsOnly() bool { return e.fp.Model == "" }

// space describes the vectors of the database.
func (e *Engine) space() intake.Space {
	s := intake.Space{Dim: e.fp.Dim, Metric: e.metric, Encoder: e.enc, VectorsOnly: e.vectorsOnly()}
	if e.terms != nil {
		s.Words = e.terms.Tokens
	}
	return s
}

// rlr returns the options of RLR.
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

// work registers a call that Close cancels and that lets searches go first. The function that ends the call
// also starts repairs, like that of read.
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

// read registers a call that reads one state. The function that ends the call starts the repair of parts that
// its error reports as damaged.
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

// report passes on the progress of a call: to the process that made the call, else to the opener of the
// database.
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

// failpoint is the context key of a func(name string) that is called at named moments. Tests set it.
type failpoint struct{}

func hit(ctx context.Context, name string) {
	if f, ok := ctx.Value(failpoint{}).(func(name string)); ok {
		f(name)
	}
}
