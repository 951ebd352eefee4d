package engine

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/lexsem/lexsem/encoder"
	"github.com/lexsem/lexsem/store"
)

// ReembedReport reports what Reembed did.
type ReembedReport struct {
	// AddResult counts the documents that this call encoded. Deleted counts encoded documents that were deleted
	// meanwhile, Found those that an interrupted call had already encoded.
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
// store.DropNext removes an interrupted attempt.
//
// Of o it uses AcceptModel, Alpha, ChunkOverlap, ChunkTokens, Index, Lambda, Local, Logger, MaxMemoryMiB, MemoryMiB,
// NoSync, Progress, TokenBits, TokenPool and TokenStates ("" means as in the old database, TokenStatesAuto for
// TokenStatesOn).
//
// Errors: ErrInvalid for a database without an encoder, or one of this encoder already; ErrInvalid, in a
// *DocumentError, for a document without text; *encoder.MismatchError if the interrupted call had another encoder;
// ErrLocked for a second call at the same time; ErrNoDatabase; ErrCorrupt; ErrNoSpace; those of enc and ctx. Cost: the
// encoding, and disk space for a second database.
func Reembed(ctx context.Context, dir string, enc encoder.Encoder, o Options) (ReembedReport, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return ReembedReport{}, err
	}
	if ok, err := store.Exists(dir); err != nil {
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
