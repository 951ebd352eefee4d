package engine

import (
	"context"

	"github.com/lexsem/lexsem/engine/internal/search"
	"github.com/lexsem/lexsem/engine/internal/state"
	"github.com/lexsem/lexsem/internal/metadata"
)

// In a database of source code, TokenStatesAuto gives its files no token states: they take five times the space of the
// source, and its ranking by names finds as much without them. Files of other kinds there have them. Where the files
// that are stored have some, of KeepTokenStates or an earlier program, new ones get them, too.

// codeSample is the number of stored files that decide this.
const codeSample = 256

// sparesCode reports whether new files of source code get no token states in a state; fresh are the documents of the
// first commit.
func (e *Engine) sparesCode(ctx context.Context, s *state.State, fresh []*record) (bool, error) {
	if e.tokenMode() != TokenStatesAuto || e.tokens.ofCode {
		return false, nil
	}
	k, err := e.kindOf(ctx, s)
	if s.Live.Len() == 0 && e.kind.stored == KindAuto {
		source := 0
		for _, r := range fresh {
			if r.source {
				source++
			}
		}
		k = autoKind(source, 0, len(fresh))
	}
	if err != nil || k != KindCode {
		return false, err
	}
	source, err := s.Match(ctx, ofSource)
	if err != nil {
		return false, err
	}
	seen, with := 0, 0
	for ord := range source.All {
		if s.Tokens.Has(ord) { // its first chunk
			with++
		}
		if seen++; seen == codeSample {
			break
		}
	}
	return 2*with <= seen, nil
}

// bareDocuments says which documents of a state have no token states because new ones would have none.
func (e *Engine) bareDocuments(ctx context.Context, s *state.State) (func(ord uint64) bool, error) {
	spares, err := e.sparesCode(ctx, s, nil)
	if err != nil || !spares {
		return func(uint64) bool { return false }, err
	}
	source, err := s.Match(ctx, ofSource)
	return source.Allow, err
}

// spare marks those of the records that get no token states.
func (e *Engine) spare(ctx context.Context, records ...*record) error {
	some := false
	for _, r := range records {
		m, err := metadata.Parse(r.Metadata)
		r.source = err == nil && search.OfSource(m)
		some = some || r.source
	}
	if !some {
		return nil
	}
	ref := e.db.Acquire()
	if ref == nil {
		return ErrClosed
	}
	defer ref.Release()
	spares, err := e.sparesCode(ctx, ref.Value, records)
	for _, r := range records {
		r.bare = spares && r.source
	}
	return err
}
