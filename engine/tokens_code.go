package engine

import (
	"context"

	"github.com/lexsem/lexsem/engine/internal/search"
	"github.com/lexsem/lexsem/engine/internal/state"
	"github.com/lexsem/lexsem/internal/metadata"
)

// In a database of source code, TokenStatesAuto gives new documents no token states: they would take some five times the space
// of the source, and its ranking by names finds about as much without them. Where most of the stored passages have some,
// from KeepTokenStates or an earlier program, new ones get them, too.

// sparesCode reports whether a state is such a database. If it is empty, the documents decide that come first.
func (e *Engine) sparesCode(ctx context.Context, s *state.State, first []record) (bool, error) {
	if e.tokenMode() != TokenStatesAuto || e.tokens.ofCode || 2*s.Tokens.Len() > s.Encoded() {
		return false, nil
	}
	if s.Live.Len() > 0 || e.kind.stored != KindAuto {
		k, err := e.kindOf(ctx, s)
		return k == KindCode, err
	}
	source := 0
	for i := range first {
		if m, err := metadata.Parse(first[i].Metadata); err == nil && search.OfSource(m) {
			source++
		}
	}
	return autoKind(source, 0, len(first)) == KindCode, nil
}
