package engine

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/lexsem/lexsem/encoder"
	"github.com/lexsem/lexsem/store"
)

// ReembedReport tells what Reembed did.
type ReembedReport struct {
	// Of this call: what Add tells of the documents that were encoded, Deleted ones
	// that had been encoded before they went, and Found documents that an interrupted
	// call had encoded already.
	AddResult
	Deleted, Found int
	Documents      int                 // in the database now
	From, To       encoder.Fingerprint // the encoders
	// Bridges are the fitted ones that are gone, as they were of the old vectors: fit
	// them again. Local says that local bridges were made anew.
	Bridges []string
	Local   bool
}

// Reembed gives every document of the database in dir the vectors of another encoder.
// A new database is filled beside the old one, in a folder of its own below it, and
// takes its place in one step at the end; until then, and after any error, the old one
// is as it was. Documents are cut into chunks as the new encoder reads; ids, titles,
// texts, metadata and order stay. Where enc has no tokens, terms are numbered anew. A
// document that brought its own vector is encoded from its text like any other.
//
// It opens the old database for moments only: for reading for each page of documents,
// and for writing at the end. Other processes search and write in between, and it waits
// for them; documents that they add, replace or delete are followed. What was encoded
// stays after an error: the same call goes on there, DropReembed removes it.
//
// Of o, TokenStates ("" is what the old database does, TokenStatesAuto for TokenStatesOn), TokenBits, TokenPool, Index, ChunkTokens, ChunkOverlap, NoSync, MemoryMiB, MaxMemoryMiB, Local, Lambda, Alpha,
// AcceptModel, Logger and Progress are used. enc is not closed. Errors: ErrInvalid for a
// database of vectors alone, or of this encoder already; a *DocumentError with
// ErrInvalid for a document without text; *encoder.MismatchError where an interrupted
// call had another encoder; ErrLocked for a second call beside the first; ErrNoDatabase,
// ErrCorrupt, ErrNoSpace, those of enc and ctx. Cost: the encoding, and once more the
// space of the database. What a kill or an error can undo is one page, 256 documents.
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

// Reembed is the function Reembed for an open database: searches and writes of this
// Engine go on beside it. At the end the Engine is closed, and the database is to be
// opened again with enc; calls that run meanwhile end as Close says. After an error
// the Engine stays open.
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

// DropReembed removes what an interrupted Reembed has left for going on. Errors:
// ErrLocked while one runs, ErrForeign, those of the operating system.
func DropReembed(dir string) error { return store.DropNext(dir) }
