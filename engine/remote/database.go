// Package remote is the query side of a database whose documents another engine keeps, such
// as Elasticsearch, Weaviate or PostgreSQL.
//
// A Backend is that engine; packages elastic, weaviate and pgvector implement it, and package backendtest
// tests implementations. Over makes a Database of it, which is an engine.Database. Database.MakeBridge reads
// all passages once and writes the file that modulates queries. MigrateTo and MigrateFrom copy documents
// between a Backend and an embedded database.
package remote

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/lexsem/lexsem/encoder"
	"github.com/lexsem/lexsem/engine"
	"github.com/lexsem/lexsem/engine/archive"
	"github.com/lexsem/lexsem/engine/internal/calls"
	"github.com/lexsem/lexsem/engine/internal/intake"
	"github.com/lexsem/lexsem/engine/internal/search"
	"github.com/lexsem/lexsem/internal/chunk"
	"github.com/lexsem/lexsem/internal/metric"
	"github.com/lexsem/lexsem/internal/text"
	"github.com/lexsem/lexsem/modulate"
)

// Database is the query side of documents that a Backend stores. It encodes and modulates queries, asks the Backend for
// candidates, and scores, fuses and explains them like an engine.Engine. All methods are safe for concurrent use. It
// stores nothing on disk, so many processes can use one Backend.
//
// Differences from an engine.Engine:
//   - A search does not see one commit: it sees each candidate at the moment of the request. A passage changed
//     meanwhile may be found by its old vector; a deleted one is left out.
//   - Add, Upsert, Patch and Delete are not transactions (Backend.Put): on an error some documents may be stored. Two
//     processes must not write the same document at once.
//   - The order of hits with equal scores does not depend on when they were stored.
//   - RLR uses a bridge file (Options.Bridge); without one queries are not modulated. Trace.Stale counts the passages
//     changed since the file was made. A fit uses a sample (BridgeOptions.Sample), and the values of a field may have
//     their own bridges (BridgeOptions.By). There are no local bridges and no token states.
//   - Compact, Verify, Backup, Export, Import, Fit and KeepTokenStates return engine.ErrElsewhere.
type Database struct {
	b        Backend
	o        Options
	enc      encoder.Encoder // checked; nil without one
	info     Info
	metric   metric.Metric
	chunks   chunk.Splitter
	analyzer *text.Analyzer
	bridge   atomic.Pointer[bridges] // what there is to modulate by
	counted  counted
	calls    *calls.Calls
}

var _ engine.Database = (*Database)(nil)

// Options configure Over. The zero value is a good default.
type Options struct {
	// Create makes the index if there is none. Language is then that of the texts (engine.Options.Language), and Dim
	// the vector length without an encoder.
	Create   bool
	Language string
	Dim      int
	// ReadOnly refuses all writes.
	ReadOnly bool
	// ChunkTokens and ChunkOverlap are as in engine.Options.
	ChunkTokens, ChunkOverlap int
	// Bridge is a file written by MakeBridge; "" means none. A changed file is read again within seconds.
	Bridge string
	// Alpha and Lambda are as in engine.Options.
	Alpha, Lambda float64
	// Fresh is the greatest age of the document and term counts used in scores; 0 means a second, below 0 every search
	// asks for them. A write of this Database renews them.
	Fresh time.Duration
	// Logger receives warnings about unreadable bridge files; nil means none.
	Logger *slog.Logger
}

// Over opens the query side of a Backend. enc must be the encoder of the stored vectors, an encoder of texts; nil
// serves only query vectors and words. Close closes b, but not enc.
//
// Errors: *encoder.MismatchError for another encoder; ErrNoDatabase if there is no index and o.Create is false;
// ErrInvalid; for the bridge file ErrCorrupt, *encoder.MismatchError and fs.ErrNotExist.
func Over(ctx context.Context, b Backend, enc encoder.Encoder, o Options) (*Database, error) {
	r := &Database{b: b, o: o, metric: metric.Metric("cosine"), calls: calls.New()}
	if enc != nil {
		if err := intake.CheckEncoder(enc); err != nil {
			return nil, err
		}
		if err := textsAlone(enc.Fingerprint()); err != nil {
			return nil, err
		}
		r.enc = intake.Checked{Encoder: enc, Metric: r.metric}
	}
	if err := (engine.Options{ChunkTokens: o.ChunkTokens, ChunkOverlap: o.ChunkOverlap, Alpha: o.Alpha, Lambda: o.Lambda, Language: o.Language, Dim: o.Dim}).Validate(); err != nil {
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

// start reads or creates the description of the index, and compares it with the options.
func (r *Database) start(ctx context.Context) (err error) {
	r.info, err = r.b.Info(ctx)
	if errors.Is(err, engine.ErrNoDatabase) && r.o.Create {
		err = r.create(ctx)
	}
	if err != nil {
		return err
	}
	if r.analyzer, err = text.For(r.info.Language); err != nil {
		return fmt.Errorf("%s: %w", r.b.Name(), err)
	}
	if got := r.analyzer.Digest(); got != r.info.Analysis {
		return fmt.Errorf("%w: the words of %s were analysed by another version of the program (%s here, %s there); write the documents anew, or use that version",
			engine.ErrInvalid, r.b.Name(), got, r.info.Analysis)
	}
	if r.o.Language != "" && r.o.Language != r.analyzer.Options().Language {
		return fmt.Errorf("%w: %s holds texts in language %q, not %q; leave the language out", engine.ErrInvalid, r.b.Name(), r.analyzer.Options().Language, r.o.Language)
	}
	if r.enc != nil {
		return encoder.Check(r.b.Name(), r.info.Encoder, r.enc.Fingerprint())
	}
	return nil
}

func (r *Database) create(ctx context.Context) error {
	fp := encoder.Fingerprint{Dim: r.o.Dim}
	if r.enc != nil {
		fp = r.enc.Fingerprint()
	}
	if err := intake.CheckShape(fp, fp.Dim); err != nil {
		return fmt.Errorf("%w: %v; give an encoder, or Dim", engine.ErrInvalid, err)
	}
	if r.enc != nil { // all processes that search the index fuse by the same numbers
		var err error
		if fp.Unrelated, err = encoder.Unrelated(ctx, r.enc); err != nil {
			return err
		}
	}
	info, err := infoOf(fp, r.o.Language)
	if err != nil {
		return err
	}
	if err := r.b.Create(ctx, info); err != nil && !errors.Is(err, engine.ErrExists) { // another was first
		return err
	}
	r.info, err = r.b.Info(ctx)
	return err
}

// infoOf is the description of an index for the vectors of an encoder.
func infoOf(fp encoder.Fingerprint, language string) (Info, error) {
	a, err := text.For(language)
	if err != nil {
		return Info{}, err
	}
	return Info{Dim: fp.Dim, Encoder: fp, Language: a.Options().Language, Analysis: a.Digest()}, nil
}

// write is Calls.Begin for calls that write.
func (r *Database) write(ctx context.Context) (context.Context, func(*error), error) {
	ctx, done, err := r.calls.Begin(ctx)
	if err == nil && r.o.ReadOnly {
		err = engine.ErrReadOnly
		done(&err)
	}
	return ctx, done, err
}

// Close cancels running calls with ErrClosed and closes the Backend. A second Close does nothing.
func (r *Database) Close() error {
	if !r.calls.End() {
		return nil
	}
	r.calls.Wait()
	return r.b.Close()
}

// counted is the size of the Backend at a recent moment.
type counted struct {
	mu     sync.Mutex
	status Status
	at     time.Time // zero for never
	epoch  int       // of own writes
}

const defaultFresh = time.Second

// status returns the size of the Backend, at most as old as Options.Fresh.
func (r *Database) status(ctx context.Context) (Status, error) {
	fresh := r.o.Fresh
	fresh = cmp.Or(fresh, defaultFresh)
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

// wrote makes the next search request new counts.
func (r *Database) wrote() {
	r.counted.mu.Lock()
	defer r.counted.mu.Unlock()
	r.counted.at = time.Time{}
	r.counted.epoch++
}

// Default implements engine.Database: "none" without a bridge, otherwise "rlr" or the variant that a fit chose.
func (r *Database) Default() string { return search.Default(r.bridge.Load().whole, engine.ModeHybrid) }

// space describes the vectors of the database.
func (r *Database) space() intake.Space {
	return intake.Space{Dim: r.info.Dim, Metric: r.metric, Encoder: r.enc}
}

// rlr returns the options of RLR.
func (r *Database) rlr() modulate.RLROptions {
	return modulate.RLROptions{Alpha: r.o.Alpha, Lambda: r.o.Lambda}
}

// Stats implements engine.Database. Seq is Status.Writes, and Dir is the Backend's name.
func (r *Database) Stats(ctx context.Context) (_ engine.Stats, err error) {
	ctx, done, err := r.calls.Begin(ctx)
	if err != nil {
		return engine.Stats{}, err
	}
	defer done(&err)
	s, err := r.b.Status(ctx)
	if err != nil {
		return engine.Stats{}, err
	}
	st := engine.Stats{
		Kind: engine.KindText,
		Dir:  r.b.Name(), Documents: s.Documents, Chunks: s.Passages, Seq: s.Writes, Dim: r.info.Dim,
		Index: r.b.Name(), Metric: r.metric.String(), Encoder: r.info.Encoder, Language: r.info.Language, Default: r.Default(),
	}
	st.TokenStates.Mode = engine.TokenStatesOff
	st.Maintenance.Stale = r.bridge.Load().stale(s)
	return st, nil
}

// Flush implements engine.Database. There is nothing to wait for: a write returns when it is complete.
func (r *Database) Flush(ctx context.Context) error { return r.idle(ctx) }

// Writable implements engine.Database: it asks whether the Backend answers and this side may write.
func (r *Database) Writable(ctx context.Context) (err error) {
	ctx, done, err := r.write(ctx)
	if err != nil {
		return err
	}
	defer done(&err)
	_, err = r.b.Status(ctx)
	return err
}

func (r *Database) idle(ctx context.Context) (err error) {
	ctx, done, err := r.calls.Begin(ctx)
	if err != nil {
		return err
	}
	defer done(&err)
	return ctx.Err()
}

// elsewhere is the error of a call that only the keeper of the documents can serve.
func (r *Database) elsewhere(what, remedy string) error {
	return fmt.Errorf("%s: %w (%s); %s", what, engine.ErrElsewhere, r.b.Name(), remedy)
}

// Fit returns engine.ErrElsewhere; use MakeBridge.
func (r *Database) Fit(context.Context, engine.FitOptions) (engine.FitReport, error) {
	return engine.FitReport{}, r.elsewhere("fit", "a bridge file of the closed form takes its place")
}

// Verify returns engine.ErrElsewhere.
func (r *Database) Verify(context.Context, func(engine.Progress)) (engine.VerifyReport, error) {
	return engine.VerifyReport{}, r.elsewhere("verify", "use that engine's own checks")
}

// Compact returns engine.ErrElsewhere.
func (r *Database) Compact(context.Context) error {
	return r.elsewhere("compact", "it looks after its files itself")
}

// KeepTokenStates returns engine.ErrElsewhere.
func (r *Database) KeepTokenStates(context.Context) (engine.TokenReport, error) {
	return engine.TokenReport{}, r.elsewhere("token states", "they need an embedded database")
}

// Export returns engine.ErrElsewhere.
func (r *Database) Export(context.Context, io.Writer, archive.ExportOptions) (int, error) {
	return 0, r.elsewhere("export", "migrate to an embedded database and export that")
}

// Import returns engine.ErrElsewhere.
func (r *Database) Import(context.Context, *archive.Exported) (engine.AddResult, error) {
	return engine.AddResult{}, r.elsewhere("import", "import into an embedded database and migrate that")
}

// Backup returns engine.ErrElsewhere.
func (r *Database) Backup(context.Context, string) (archive.BackupReport, error) {
	return archive.BackupReport{}, r.elsewhere("backup", "use that engine's snapshots, or migrate to an embedded database")
}

// BackupTo returns engine.ErrElsewhere.
func (r *Database) BackupTo(context.Context, io.Writer) (archive.BackupReport, error) {
	return archive.BackupReport{}, r.elsewhere("backup", "use that engine's snapshots, or migrate to an embedded database")
}
