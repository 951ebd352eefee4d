package engine

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/lexsem/lexsem/encoder"
	"github.com/lexsem/lexsem/engine/internal/chunk"
	"github.com/lexsem/lexsem/engine/internal/search"
	"github.com/lexsem/lexsem/internal/metric"
	"github.com/lexsem/lexsem/internal/text"
	"github.com/lexsem/lexsem/modulate"
)

// Remote is a Database whose documents another engine keeps: the query side alone. It
// encodes and modulates queries, has a Backend name candidates, and computes their
// scores, fuses and explains them as an Engine does. It has no state on disk, so any number of
// processes may stand in front of one Backend. All methods are safe for concurrent use.
//
// What differs from an Engine:
//   - a search sees each of its candidates as it is when the Backend is asked for it, not one
//     commit: one that is written meanwhile may be found by its old vector, one that is deleted is left out;
//   - Add, Upsert, Patch and Delete are no transactions (Backend.Put): on an error some of
//     the documents may be stored. Two writers of one document must not run at once;
//   - hits of equal score stand in an order that does not depend on when they were stored;
//   - RLR goes by a bridge file (OverOptions.Bridge), and Trace.Stale tells how many
//     passages were written or deleted since that was made. Without one queries are not modulated. Fits are of a sample
//     of the passages (BridgeOptions.Sample), and passages with one value of a field may have a bridge of their own (BridgeOptions.By). There are
//     no bridges of cells (rlr-local) and no token states;
//   - what looks after files (Compact, Verify, Backup, Export, Import, Fit, KeepTokenStates) is ErrElsewhere.
type Remote struct {
	b        Backend
	o        OverOptions
	enc      encoder.Encoder // checked; nil without one
	info     BackendInfo
	metric   metric.Metric
	chunks   chunk.Splitter
	analyzer *text.Analyzer
	bridge   atomic.Pointer[bridges] // what there is to modulate by
	counted  counted

	root   context.Context // ends when Close begins; its cause is ErrClosed
	stop   context.CancelCauseFunc
	mu     sync.Mutex // guards closed
	closed bool
	calls  sync.WaitGroup
}

var _ Database = (*Remote)(nil)

// ErrElsewhere answers calls that only who keeps the documents can answer.
var ErrElsewhere = errors.New("the documents are kept by another engine")

// ErrBackend is what every failure of a Backend's engine, or of the way to it, wraps.
var ErrBackend = errors.New("the engine that keeps the documents")

// OverOptions shape Over. The zero value is a good default.
type OverOptions struct {
	// Create makes the index where there is none. Language is then that of the texts
	// (Options.Language), and Dim the length of the vectors where there is no encoder.
	Create   bool
	Language string
	Dim      int
	// ReadOnly refuses everything that writes.
	ReadOnly bool
	// ChunkTokens and ChunkOverlap are as in Options.
	ChunkTokens, ChunkOverlap int
	// Bridge is a file that MakeBridge has written; "" means none. It is read again when it
	// changes, within some seconds.
	Bridge string
	// Alpha and Lambda are as in Options.
	Alpha, Lambda float64
	// Fresh is how old the counts of documents and terms may be that scores are computed
	// with; 0 means a second, below 0 they are asked for by every search. A write of this Remote makes them
	// anew.
	Fresh time.Duration
	// Logger hears of bridge files that cannot be read; nil means none.
	Logger *slog.Logger
}

// Over opens the query side of a Backend. enc must be the encoder that its vectors come
// from (else *encoder.MismatchError); nil serves vectors and words alone. Errors:
// ErrNoDatabase where nothing was created and o.Create is not set; ErrInvalid; of a bridge file ErrCorrupt,
// *encoder.MismatchError and fs.ErrNotExist. Close of the Remote closes b, and not enc, which is one of texts.
func Over(ctx context.Context, b Backend, enc encoder.Encoder, o OverOptions) (*Remote, error) {
	r := &Remote{b: b, o: o, metric: metric.Metric("cosine")}
	r.root, r.stop = context.WithCancelCause(context.Background())
	if enc != nil {
		if err := checkFingerprint(enc); err != nil {
			return nil, err
		}
		if err := textsAlone(enc.Fingerprint()); err != nil {
			return nil, err
		}
		r.enc = checked{enc, r.metric}
	}
	if err := (Options{ChunkTokens: o.ChunkTokens, ChunkOverlap: o.ChunkOverlap, Alpha: o.Alpha, Lambda: o.Lambda, Language: o.Language, Dim: o.Dim}).Validate(); err != nil {
		return nil, err
	}
	if err := r.start(ctx); err != nil {
		return nil, err
	}
	r.chunks = chunk.New(r.enc, o.ChunkTokens, o.ChunkOverlap)
	if err := r.startBridge(ctx); err != nil {
		return nil, err
	}
	return r, nil
}

// start reads, or makes, what the index was made for, and compares.
func (r *Remote) start(ctx context.Context) (err error) {
	r.info, err = r.b.Info(ctx)
	if errors.Is(err, ErrNoDatabase) && r.o.Create {
		err = r.create(ctx)
	}
	if err != nil {
		return err
	}
	if r.analyzer, err = newAnalyzer(r.info.Language); err != nil {
		return fmt.Errorf("%s: %w", r.b.Name(), err)
	}
	if got := r.analyzer.Digest(); got != r.info.Analysis {
		return fmt.Errorf("%w: the words of %s were analysed by another version of the program (%s here, %s there); write the documents anew, or use that version",
			ErrInvalid, r.b.Name(), got, r.info.Analysis)
	}
	if r.o.Language != "" && r.o.Language != r.analyzer.Options().Language {
		return fmt.Errorf("%w: %s holds texts in language %q, not %q; leave the language out", ErrInvalid, r.b.Name(), r.analyzer.Options().Language, r.o.Language)
	}
	if r.enc != nil {
		return encoder.Check(r.b.Name(), r.info.Encoder, r.enc.Fingerprint())
	}
	return nil
}

func (r *Remote) create(ctx context.Context) error {
	fp := encoder.Fingerprint{Dim: r.o.Dim}
	if r.enc != nil {
		fp = r.enc.Fingerprint()
	}
	if err := checkShape(fp, fp.Dim); err != nil {
		return fmt.Errorf("%w: %v; give an encoder, or Dim", ErrInvalid, err)
	}
	info, err := infoOf(fp, r.o.Language)
	if err != nil {
		return err
	}
	if err := r.b.Create(ctx, info); err != nil && !errors.Is(err, ErrExists) { // another was first
		return err
	}
	r.info, err = r.b.Info(ctx)
	return err
}

// infoOf is what an index for the vectors of an encoder is made for.
func infoOf(fp encoder.Fingerprint, language string) (BackendInfo, error) {
	a, err := newAnalyzer(language)
	if err != nil {
		return BackendInfo{}, err
	}
	return BackendInfo{Dim: fp.Dim, Encoder: fp, Language: a.Options().Language, Analysis: a.Digest()}, nil
}

// call marks a call as running, and returns a context that Close ends; the
// returned function ends it, and makes ErrClosed of an error that comes of that.
func (r *Remote) call(ctx context.Context) (context.Context, func(*error), error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return ctx, nil, ErrClosed
	}
	r.calls.Add(1)
	caller := promptly(ctx)
	ctx, cancel := context.WithCancelCause(caller)
	stop := context.AfterFunc(r.root, func() { cancel(ErrClosed) })
	return either{ctx, caller, r.root}, func(err *error) {
		if errors.Is(*err, context.Canceled) && caller.Err() == nil && r.root.Err() != nil {
			*err = fmt.Errorf("cancelled by Close: %w", ErrClosed)
		}
		stop()
		cancel(nil)
		r.calls.Done()
	}, nil
}

// write is call for calls that write.
func (r *Remote) write(ctx context.Context) (context.Context, func(*error), error) {
	ctx, done, err := r.call(ctx)
	if err == nil && r.o.ReadOnly {
		err = ErrReadOnly
		done(&err)
	}
	return ctx, done, err
}

// Close ends running calls with ErrClosed, and closes the Backend. A second one does
// nothing.
func (r *Remote) Close() error {
	r.mu.Lock()
	again := r.closed
	r.closed = true
	r.mu.Unlock()
	if again {
		return nil
	}
	r.stop(ErrClosed)
	r.calls.Wait()
	return r.b.Close()
}

// counted is how much the Backend held lately.
type counted struct {
	mu     sync.Mutex
	status BackendStatus
	at     time.Time // zero for never
	epoch  int       // of own writes
}

const defaultFresh = time.Second

// status is how much the Backend holds, as old as OverOptions.Fresh allows.
func (r *Remote) status(ctx context.Context) (BackendStatus, error) {
	fresh := r.o.Fresh
	if fresh == 0 {
		fresh = defaultFresh
	}
	c := &r.counted
	c.mu.Lock()
	status, at, epoch := c.status, c.at, c.epoch
	c.mu.Unlock()
	if !at.IsZero() && time.Since(at) < fresh {
		return status, nil
	}
	asked := time.Now()
	status, err := r.b.Status(ctx)
	if err != nil {
		return status, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.epoch == epoch {
		c.status, c.at = status, asked
	}
	return status, nil
}

// wrote makes the next search ask for counts.
func (r *Remote) wrote() {
	r.counted.mu.Lock()
	defer r.counted.mu.Unlock()
	r.counted.at = time.Time{}
	r.counted.epoch++
}

// Default implements Database: "rlr" with a bridge, else "none".
func (r *Remote) Default() string { return search.Default(r.bridge.Load().whole, ModeHybrid) }

// rlr are the options of RLR.
func (r *Remote) rlr() modulate.RLROptions {
	return modulate.RLROptions{Alpha: r.o.Alpha, Lambda: r.o.Lambda}
}

// Stats implements Database. Seq is BackendStatus.Writes, Dir the Backend's name.
func (r *Remote) Stats(ctx context.Context) (_ Stats, err error) {
	ctx, done, err := r.call(ctx)
	if err != nil {
		return Stats{}, err
	}
	defer done(&err)
	s, err := r.b.Status(ctx)
	if err != nil {
		return Stats{}, err
	}
	st := Stats{
		Dir: r.b.Name(), Documents: s.Documents, Chunks: s.Passages, Seq: s.Writes, Dim: r.info.Dim,
		Index: r.b.Name(), Metric: r.metric.String(), Encoder: r.info.Encoder, Default: r.Default(),
	}
	st.TokenStates.Mode = TokenStatesOff
	st.Maintenance.Stale = r.stale(r.bridge.Load().whole, s)
	return st, nil
}

// Flush implements Database: what was written is there when the call that wrote it
// returns, so there is nothing to wait for.
func (r *Remote) Flush(ctx context.Context) error { return r.idle(ctx) }

func (r *Remote) idle(ctx context.Context) (err error) {
	ctx, done, err := r.call(ctx)
	if err != nil {
		return err
	}
	defer done(&err)
	return ctx.Err()
}

// elsewhere is the error of what only the keeper of the documents can do.
func (r *Remote) elsewhere(what, remedy string) error {
	return fmt.Errorf("%s: %w (%s); %s", what, ErrElsewhere, r.b.Name(), remedy)
}

// Fit is ErrElsewhere, as the other calls below are.
func (r *Remote) Fit(context.Context, FitOptions) (FitReport, error) {
	return FitReport{}, r.elsewhere("fit", "a bridge file of the closed form takes its place")
}

// Verify implements Database.
func (r *Remote) Verify(context.Context, func(Progress)) (VerifyReport, error) {
	return VerifyReport{}, r.elsewhere("verify", "use that engine's own checks")
}

// Compact implements Database.
func (r *Remote) Compact(context.Context) error {
	return r.elsewhere("compact", "it looks after its files itself")
}

// KeepTokenStates implements Database.
func (r *Remote) KeepTokenStates(context.Context) (TokenReport, error) {
	return TokenReport{}, r.elsewhere("token states", "they need an embedded database")
}

// Export implements Database.
func (r *Remote) Export(context.Context, io.Writer, ExportOptions) (int, error) {
	return 0, r.elsewhere("export", "migrate to an embedded database and export that")
}

// Import implements Database.
func (r *Remote) Import(context.Context, *Exported) (ImportReport, error) {
	return ImportReport{}, r.elsewhere("import", "import into an embedded database and migrate that")
}

// Backup implements Database.
func (r *Remote) Backup(context.Context, string) (BackupReport, error) {
	return BackupReport{}, r.elsewhere("backup", "use that engine's snapshots, or migrate to an embedded database")
}

// BackupTo implements Database.
func (r *Remote) BackupTo(context.Context, io.Writer) (BackupReport, error) {
	return BackupReport{}, r.elsewhere("backup", "use that engine's snapshots, or migrate to an embedded database")
}
