// Package engine is lexsem's public API: a database of documents that is
// searched by meaning with queries that know their own words.
//
// An Engine keeps documents, their vectors and their tokens in a store on
// disk (the truth), a vector index and the sums of the closed-form bridge in
// memory (derived from it), and fitted bridges as files. Queries are modulated
// before they meet the index; passages never are, so one index serves every
// variant.
//
// Promises: an acknowledged write survives a killed process always, and a
// power cut unless Options.NoSync is set; an Add of any size is atomic;
// searching while writing is safe and sees one committed state; damage is
// reported as a typed error or repaired from the stored vectors.
package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"

	"github.com/lexsem/lexsem/encoder"
	"github.com/lexsem/lexsem/engine/internal/chunk"
	"github.com/lexsem/lexsem/index"
	"github.com/lexsem/lexsem/modulate"
	"github.com/lexsem/lexsem/store"
)

// metric is the distance of every database: cosine, since modulation is
// defined on unit vectors.
const metric = "cosine"

// Engine is an open database. All methods are safe for concurrent use; writes
// are serialised, searches run beside them.
type Engine struct {
	dir    string
	o      Options
	enc    encoder.Encoder // checked; nil if opened without one
	chunks chunk.Splitter
	fp     encoder.Fingerprint
	st     *store.Store

	apply      sync.Mutex   // held from commit to application, so that changes are applied in order
	mu         sync.RWMutex // guards the derived state below; searches hold it shared
	vectors    *vectors
	graphAbove int               // AutoHNSW, but in tests
	mapped     []*store.Snapshot // what vectors use the memory of; closed at the end
	sums       *sums
	local      *local
	words      *words
	metadata   *metadataColumns
	seq        uint64      // commit that the derived state is at
	view       *store.View // the documents of that commit
	mask       *mask       // what the vector index holds beyond it; nil for nothing

	behind error // why a commit could not be applied; ends all searches and saving

	saved   uint64 // commit of the derived snapshot files; guarded by apply
	pending int    // changes applied since; guarded by apply

	bridges  map[string]*bridge // by canonical name; guarded by mu
	standard string             // the variant fitted last; guarded by mu
	auto     string             // what the last fit chose for queries that name no variant; guarded by mu
	modMu    sync.Mutex
	mods     map[string]modulate.Modulator // made so far, for bridges and sums in use

	fits    chan struct{} // holds a value while a fit runs
	closeMu sync.RWMutex  // held shared by every call, exclusively by Close
	closed  bool
}

// Open opens or creates the database in dir. enc must be the encoder the
// database was filled with (else *encoder.MismatchError); nil opens an
// existing one for Get, Delete, Stats and searches by vector. The encoder is
// not closed by Close.
//
// Opening costs the reading of the derived snapshots and the replay of what
// came after them; without usable snapshots, one scan of all vectors.
func Open(ctx context.Context, dir string, enc encoder.Encoder, o Options) (*Engine, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	if o.MustExist || o.ReadOnly || enc == nil {
		if ok, err := store.Exists(dir); err != nil {
			return nil, err
		} else if !ok {
			return nil, fmt.Errorf("database %s: %w; create it with index, or check the path", dir, ErrNotFound)
		}
	}
	st, err := store.Open(dir, store.Options{NoSync: o.NoSync, ReadOnly: o.ReadOnly, MemoryMiB: o.MemoryMiB, Logger: o.Logger})
	if err != nil {
		return nil, err
	}
	e := &Engine{dir: dir, o: o, st: st, graphAbove: AutoHNSW, fits: make(chan struct{}, 1)}
	if enc != nil {
		e.enc = checked{enc}
	}
	if err := e.start(ctx); err != nil {
		return nil, errors.Join(err, st.Close(), e.unmap())
	}
	return e, nil
}

// start binds the encoder to the database and builds the derived state.
func (e *Engine) start(ctx context.Context) error {
	m := e.st.Manifest()
	switch {
	case len(m.Encoder) > 0:
		if err := json.Unmarshal(m.Encoder, &e.fp); err != nil {
			return fmt.Errorf("%w: encoder fingerprint in the manifest of %s: %v", store.ErrCorrupt, e.dir, err)
		}
		if e.enc != nil {
			if err := encoder.Check("database "+e.dir, e.fp, e.enc.Fingerprint()); err != nil {
				return err
			}
		}
	case e.enc == nil:
		return fmt.Errorf("database %s was never written to: %w", e.dir, ErrNoEncoder)
	default:
		e.fp = e.enc.Fingerprint()
		raw, err := json.Marshal(e.fp)
		if err != nil {
			return fmt.Errorf("encoder fingerprint: %w", err)
		}
		if err := e.st.SetManifest(ctx, func(m *store.Manifest) error {
			m.Dim, m.Metric, m.Encoder, m.Language = e.fp.Dim, metric, raw, e.o.Language
			return nil
		}); err != nil {
			return err
		}
	}
	e.chunks = chunk.New(e.enc, e.o.ChunkTokens, e.o.ChunkOverlap)
	if err := e.newParts(); err != nil {
		return err
	}
	if err := e.openDerived(ctx); err != nil {
		return err
	}
	return e.loadBridges()
}

// newParts makes the parts of derived state, still without content.
func (e *Engine) newParts() error {
	language := e.st.Manifest().Language
	if e.o.Language != "" && e.o.Language != language && !(language == "" && e.o.Language == "en") {
		return fmt.Errorf("%w: database %s holds texts in language %q, not %q; open it without a language or build it anew", ErrInvalid, e.dir, language, e.o.Language)
	}
	kind := e.o.Index
	if kind == "" {
		kind = index.KindFlatInt8
		if e.st.Len() > e.graphAbove || e.grown() {
			kind = index.KindHNSWInt8
		}
	}
	e.vectors = &vectors{name: kind, dim: e.fp.Dim}
	e.metadata = &metadataColumns{}
	e.sums = &sums{dim: e.fp.Dim, vocab: e.fp.VocabSize}
	e.local = &local{dim: e.fp.Dim, vocab: e.fp.VocabSize, vector: func(ord uint64) []float32 { return e.vectors.Vector(ord) }}
	var err error
	e.words, err = newWords(language)
	return err
}

// Close waits for running calls, saves derived state and releases everything.
// Further calls return ErrClosed; a second Close does nothing.
func (e *Engine) Close() error {
	e.closeMu.Lock()
	defer e.closeMu.Unlock()
	if e.closed {
		return nil
	}
	e.closed = true
	var err error
	if !e.o.ReadOnly && e.behind == nil {
		err = e.saveDerived(context.Background())
	}
	e.view.Close()
	return errors.Join(err, e.st.Close(), e.unmap())
}

// use marks a call as running; the returned function ends it.
func (e *Engine) use() (func(), error) {
	e.closeMu.RLock()
	if e.closed {
		e.closeMu.RUnlock()
		return nil, ErrClosed
	}
	return e.closeMu.RUnlock, nil
}

// fail marks the derived state as unusable.
func (e *Engine) fail(err error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.behind = fmt.Errorf("%w: %w", ErrBehind, err)
}

func (e *Engine) warn(msg string, args ...any) {
	if e.o.Logger != nil {
		e.o.Logger.Warn(msg, args...)
	}
}
