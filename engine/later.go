package engine

import (
	"context"
	"errors"
	"fmt"

	"github.com/lexsem/lexsem/engine/internal/chunk"
	"github.com/lexsem/lexsem/engine/internal/state"
	"github.com/lexsem/lexsem/internal/progress"
	"github.com/lexsem/lexsem/store"
)

// Documents with WordsFirst are stored without vectors. The maintainer calls encodeDeferred, which makes those of some
// documents and stores new versions of them, until all have theirs.

// later is what encodeDeferred, which runs once at a time, remembers.
type later struct {
	from   uint64           // documents of lower ordinals have their vectors
	failed map[uint64]error // by ordinal: the encoder takes all others first
}

// defers says why a document cannot be stored before its vectors, or nil.
func (e *Engine) defers(image bool) error {
	if image {
		return fmt.Errorf("%w: an image has no words before it is encoded; leave WordsFirst out", ErrInvalid)
	}
	return e.metric.Needs("storing words first")
}

// editsFirst has the passages of edited texts made at once, where they are few, and else of these texts all later: a
// document has the vectors of all its passages, or none.
func (e *Engine) editsFirst(records []record) {
	few := 0
	each := func(do func(r *record)) {
		for i := range records {
			if r := &records[i]; r.later && r.part {
				do(r)
			}
		}
	}
	each(func(r *record) {
		for _, row := range r.Rows {
			if row.Vector == nil {
				few++
			}
		}
	})
	each(func(r *record) {
		if r.later = few > firstWindow; !r.later {
			return
		}
		r.part = false
		for i, row := range r.Rows {
			r.Rows[i] = store.Row{Start: row.Start, End: row.End}
		}
	})
}

// mayDefer remembers, before the first document is stored without vectors, that some are.
func (e *Engine) mayDefer(ctx context.Context, records []record) error {
	for i := range records {
		if records[i].Deferred() && !e.st.Manifest().Deferred {
			return e.st.SetManifest(ctx, func(m *store.Manifest) error { m.Deferred = true; return nil })
		}
	}
	return nil
}

// encodeDeferred makes vectors that a state lacks: of as many documents as the encoder is handed at once. A document that
// the encoder refuses is tried again when all others have their vectors, and is an error then.
func (e *Engine) encodeDeferred(ctx context.Context, s *state.State) (worked bool, err error) {
	records, err := e.deferredOf(ctx, s)
	if err != nil {
		return false, err
	}
	if len(records) == 0 {
		for _, err := range e.later.failed {
			e.later.failed = nil
			return false, err
		}
		return false, nil
	}
	ctx = progress.With(ctx, func(string, int, int) {}) // the maintainer tells of it
	err = e.encode(ctx, records)
	var one *DocumentError
	if errors.As(err, &one) && ctx.Err() == nil {
		if e.later.failed == nil {
			e.later.failed = map[uint64]error{}
		}
		e.later.failed[records[one.Position].of] = err
		return true, nil
	}
	if err != nil {
		return false, err
	}
	if _, err := e.stageAs(ctx, records, true, false); err != nil {
		return false, err
	}
	e.codeWaiting(ctx)
	return true, nil
}

// deferredOf reads the first documents without vectors.
func (e *Engine) deferredOf(ctx context.Context, s *state.State) (records []record, err error) {
	texts, size, first := 0, 0, true
	for ord := range s.Live.All {
		if ord%1024 == 0 && ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if ord < e.later.from || s.Vectors.Has(chunk.ID(ord, 0)) {
			continue
		}
		if first {
			first, e.later.from = false, ord
		}
		if e.later.failed[ord] != nil {
			continue
		}
		d, err := s.View.Get(ord)
		if err != nil {
			return nil, state.Missing(err)
		}
		if !d.Deferred() { // the index lacks what is stored, which Verify and the next opening find
			continue
		}
		records = append(records, record{Document: *d, of: ord})
		texts, size = texts+len(d.Rows), size+len(d.Text)
		if texts >= e.window() || size >= pageBytes {
			break
		}
	}
	return records, nil
}
