package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/lexsem/lexsem/encoder"
	"github.com/lexsem/lexsem/engine/internal/intake"
	"github.com/lexsem/lexsem/engine/internal/state"
	"github.com/lexsem/lexsem/internal/fault"
	"github.com/lexsem/lexsem/internal/metric"
	"github.com/lexsem/lexsem/store"
)

// ReembedReport reports the results of Reembed.
type ReembedReport struct {
	// AddResult counts the documents that this call encoded. Deleted counts encoded documents that were deleted
	// meanwhile, Found documents that an interrupted call had already encoded.
	AddResult
	Deleted, Found int
	Documents      int                 // documents in the database now
	From, To       encoder.Fingerprint // old and new encoder
	// Bridges are the fitted bridges that were removed, as they belong to the old vectors: fit them again. Local says
	// that local bridges were rebuilt.
	Bridges []string
	Local   bool
}

// Reembed replaces the vectors of all documents in dir by those of another encoder. It fills a new database in a
// subfolder, which replaces the old one in one step at the end. Until then, and after an error, the old database is
// unchanged and can be used. enc is not closed.
//
// Ids, titles, texts, metadata and order stay. Texts are split into chunks anew, and documents with their own vectors
// are encoded from their texts. If enc has no tokens, terms are numbered anew.
//
// Other processes may search and write meanwhile: Reembed waits for them and includes their changes. It opens the old
// database only for moments. After an error or a kill the same call continues and repeats at most 256 documents.
// store.Folder.DropNext removes an interrupted attempt.
//
// It uses these fields of o: AcceptModel, Alpha, ChunkOverlap, ChunkTokens, Index, Lambda, Local, Logger,
// MaxMemoryMiB, MemoryMiB, NoSync, Progress, TokenBits, TokenPool and TokenStates ("" means as in the old database,
// TokenStatesAuto for TokenStatesOn).
//
// Errors: ErrInvalid for a database without an encoder, or one of this encoder already; ErrInvalid, in a
// *DocumentError, for a document without text; *encoder.MismatchError if the interrupted call had another encoder;
// ErrLocked for a second call at the same time; ErrNoDatabase; ErrCorrupt; ErrNoSpace; those of enc and ctx. Cost: the
// encoding, and disk space for a second database.
func Reembed(ctx context.Context, dir string, enc encoder.Encoder, o Options) (ReembedReport, error) {
	dir, err := fault.Folder(dir)
	if err != nil {
		return ReembedReport{}, err
	}
	if ok, err := store.Folder(dir).Exists(); err != nil {
		return ReembedReport{}, err
	} else if !ok {
		return ReembedReport{}, fmt.Errorf("database %s: %w", dir, ErrNoDatabase)
	}
	r := &reembedder{dir: dir, enc: enc, o: o}
	visit := func(ctx context.Context, readOnly bool, do func(*store.Store) error) error {
		st, err := r.open(ctx, readOnly)
		if err != nil {
			return err
		}
		err = do(st)
		return errors.Join(err, st.Close())
	}
	r.read = func(ctx context.Context, do func(*store.Store) error) error { return visit(ctx, true, do) }
	r.handOver = func(ctx context.Context, last func(*store.Store) error) error {
		return visit(ctx, false, func(st *store.Store) error {
			return st.HandOver(ctx, func() error { return last(st) })
		})
	}
	if err := r.run(ctx); err != nil {
		return r.rep, err
	}
	return r.rep, r.takeOver()
}

// Reembed does the same as the function Reembed for an open database, while its searches and writes continue. At the
// end it closes the Engine, as Close does; open the database again with enc. After an error the Engine stays open.
func (e *Engine) Reembed(ctx context.Context, enc encoder.Encoder, o Options) (ReembedReport, error) {
	if e.o.InMemory {
		return ReembedReport{}, fmt.Errorf("%w: a database in memory is not re-embedded; open a new one with the other encoder", ErrInvalid)
	}
	r := &reembedder{
		dir: e.dir, enc: enc, o: o,
		read: func(_ context.Context, do func(*store.Store) error) error { return do(e.st) },
		handOver: func(ctx context.Context, last func(*store.Store) error) error {
			return e.st.HandOver(ctx, func() error { return last(e.st) })
		},
	}
	if err := e.reembed(ctx, r); err != nil {
		return r.rep, err
	}
	e.replaced.Store(true)
	if err := e.Close(); err != nil {
		return r.rep, err // the next opening finishes what is decided
	}
	return r.rep, r.takeOver()
}

// reembed is the part of Reembed that is a call of the engine.
func (e *Engine) reembed(ctx context.Context, r *reembedder) (err error) {
	ctx, done, err := e.write(ctx)
	if err != nil {
		return err
	}
	defer done(&err)
	r.o.Local = r.o.Local || e.o.Local
	return r.run(ctx)
}

// A Reembed catches up in rounds before it locks out writers: until a round finds few documents, or this
// number of rounds has passed.
const (
	fewDocuments = 200
	mostRounds   = 20
)

// lockedPause is the pause between two attempts to open a locked database.
const lockedPause = 50 * time.Millisecond

// open opens the old database, and waits while another process has it open.
func (r *reembedder) open(ctx context.Context, readOnly bool) (*store.Store, error) {
	for {
		st, err := store.Open(r.dir, store.Options{ReadOnly: readOnly, MemoryMiB: r.o.storeMiB(), Logger: r.o.Logger})
		switch {
		case readOnly && errors.Is(err, store.ErrUnclean):
			readOnly = false
		case !errors.Is(err, ErrLocked):
			return st, err
		default:
			r.report("wait", 0, 0)
			select {
			case <-time.After(lockedPause):
			case <-ctx.Done():
				return nil, fmt.Errorf("waiting for the database: %w (%w)", ctx.Err(), err)
			}
		}
	}
}

// run does all but the last step.
func (r *reembedder) run(ctx context.Context) (err error) {
	if err := r.o.Validate(); err != nil {
		return err
	}
	if r.enc == nil {
		return fmt.Errorf("%w: no encoder to change to", ErrInvalid)
	}
	if err := intake.CheckEncoder(r.enc); err != nil {
		return err
	}
	r.report("reembed", 0, 0)
	if err := r.start(ctx); err != nil {
		return err
	}
	open := true
	closeNext := func() error {
		open = false
		return r.next.Close()
	}
	defer func() {
		if open {
			err = errors.Join(err, closeNext())
		}
	}()
	for range mostRounds {
		r.met = 0
		if err := r.follow(ctx, r.read); err != nil {
			return err
		}
		if err := r.settle(ctx); err != nil {
			return err
		}
		if r.met < fewDocuments {
			break
		}
	}
	hit(ctx, "reembed-settled")
	err = r.handOver(ctx, func(st *store.Store) error {
		hit(ctx, "reembed-alone")
		if err := r.follow(ctx, func(_ context.Context, do func(*store.Store) error) error { return do(st) }); err != nil {
			return err
		}
		r.rep.Documents = r.next.st.Len()
		if n := st.Len(); n != r.rep.Documents {
			return fmt.Errorf("%w: %d documents were encoded, of %d", ErrCorrupt, r.rep.Documents, n)
		}
		for variant := range st.Manifest().Bridges {
			r.rep.Bridges = append(r.rep.Bridges, variant)
		}
		slices.Sort(r.rep.Bridges)
		if err := closeNext(); err != nil {
			return err
		}
		hit(ctx, "reembed-closed")
		return nil
	})
	if err == nil {
		hit(ctx, "reembed-decided")
	}
	return err
}

// takeOver moves the completed database into place. If another process opened the database first, that
// process has done so.
func (r *reembedder) takeOver() error {
	if err := store.Folder(r.dir).TakeOver(); err != nil && !errors.Is(err, ErrLocked) {
		return err
	}
	return nil
}

// start opens or creates the new database, and refuses documents that cannot be encoded.
func (r *reembedder) start(ctx context.Context) (err error) {
	var old store.Manifest
	var at store.Source
	ofCode := false
	err = r.read(ctx, func(st *store.Store) error {
		old = st.Manifest()
		view, err := st.Snapshot()
		if err != nil {
			return err
		}
		defer view.Close()
		at = store.Source{UUID: old.UUID, Seq: view.Seq(), History: view.History(), Next: 1}
		r.total = view.Len()
		if r.o.TokenStates == "" {
			r.o.TokenStates = TokenStatesOff
			if tokensOf(st) != TokenStatesOff { // a model that gives none does without
				r.o.TokenStates, ofCode = TokenStatesAuto, tokensOf(st) == TokenStatesOn || st.BasisCount() > 0
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	r.o.Index = cmp.Or(r.o.Index, old.Index)
	r.o.Kind = cmp.Or(r.o.Kind, old.Kind)
	if len(old.Encoder) == 0 {
		return fmt.Errorf("%w: database %s was never written to; open it with the new encoder", ErrInvalid, r.dir)
	}
	if r.rep.From, err = intake.StoredFingerprint(old); err != nil {
		return err
	}
	r.rep.To = r.enc.Fingerprint()
	if r.rep.From.Model == "" {
		return fmt.Errorf("%w: database %s holds vectors alone, of no model that another could take the place of; make a new database with the model, and add the texts to it", ErrInvalid, r.dir)
	}
	if r.rep.From.Probed() && r.rep.To.Probed() && intake.CheckSpace("database", metric.Metric(old.Metric), r.rep.From, r.rep.To) == nil {
		return fmt.Errorf("%w: database %s holds the vectors of %s already", ErrInvalid, r.dir, r.rep.To.Model)
	}
	o := r.o
	o.Dim, o.ReadOnly, o.MustExist, o.Metric, o.Language, o.Progress = 0, false, false, old.Metric, old.Language, r.heard
	o.Local = o.Local || state.SavedLocal(r.dir)
	r.rep.Local = o.Local
	next := store.Folder(r.dir).Next()
	there, err := store.Folder(next).Exists()
	if err != nil {
		return err
	}
	defer func() {
		if err != nil && !there { // nothing was encoded
			err = errors.Join(err, store.Folder(r.dir).DropNext())
		}
	}()
	if r.next, err = Open(ctx, next, r.enc, o); err != nil {
		if other, ok := errors.AsType[*encoder.MismatchError](err); ok {
			err = fmt.Errorf("a change to %s is under way: go on with that model, or drop what was encoded (store.Folder.DropNext): %w", other.Want.Model, err)
		}
		return err
	}
	r.next.tokens.ofCode = ofCode
	if err = r.begin(ctx, at); err == nil {
		err = r.checkTexts(ctx)
	}
	if err != nil {
		err = errors.Join(err, r.next.Close())
	}
	return err
}

// begin continues an interrupted call, or starts anew.
func (r *reembedder) begin(ctx context.Context, at store.Source) error {
	found := r.next.st.Manifest().Source
	r.rep.Found = r.next.st.Len()
	if found == nil && r.rep.Found == 0 {
		return r.note(ctx, at)
	}
	refuse := fmt.Errorf("%w: what lies in %s was not encoded from database %s as it is; drop it (store.Folder.DropNext)", ErrInvalid, r.next.dir, r.dir)
	if found == nil || found.UUID != at.UUID || found.Seq > at.Seq {
		return refuse
	}
	r.at = *found
	return r.read(ctx, func(st *store.Store) error {
		view, err := st.Snapshot()
		if err != nil {
			return err
		}
		defer view.Close()
		h, ok, err := view.HistoryAt(found.Seq)
		if err == nil && ok && found.History != (store.History{}) && h != found.History {
			err = refuse
		}
		return err
	})
}

// checkTexts refuses documents that have no text, before anything is encoded.
func (r *reembedder) checkTexts(ctx context.Context) error {
	return r.read(ctx, func(st *store.Store) error {
		n := 0
		return st.ScanDocuments(ctx, r.at.Next, func(_ uint64, d *store.Document) error {
			if n++; n%4096 == 0 {
				r.report("read", n, r.total)
			}
			return hasText(n-1, d)
		})
	})
}

// heard receives the progress of the new database while a page is encoded.
func (r *reembedder) heard(p Progress) {
	if p.Stage == "encode" {
		r.report("reembed", r.next.st.Len()+p.Done, r.total)
	}
}

// settle waits until the new database has built the state that its first search would wait for.
func (r *reembedder) settle(ctx context.Context) error {
	done := make(chan error, 1)
	go func() { done <- r.next.Flush(ctx) }()
	tick := time.NewTicker(time.Second / 2)
	defer tick.Stop()
	for {
		select {
		case err := <-done:
			return err
		case <-tick.C:
			if m := r.next.db.Maintenance(); m.Task != "" {
				r.report(m.Task, m.Done, m.Total)
			}
		}
	}
}
