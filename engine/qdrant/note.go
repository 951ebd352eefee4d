package qdrant

import (
	"context"
	"math/rand/v2"
)

// note is a point that counts writes: how many its one writer has made. Its id is a number, so that it stands in
// front of all passages; it has no vector, so that no search finds it.
type note struct {
	id uint64
	n  int64
}

// note counts n writes before they are made, in a note that no other call is writing: so the sum of all grows with
// each, and two writers need not agree. A note whose write has failed is left as it may be.
func (b *Backend) note(ctx context.Context, n int) error {
	own := b.take()
	own.n += int64(n)
	if err := b.store(ctx, []point{{own.id, map[string]any{}, object{"n": own.n}}}); err != nil {
		return err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.free = append(b.free, own)
	return nil
}

// take returns a note that is free, or a new one.
func (b *Backend) take() note {
	b.mu.Lock()
	defer b.mu.Unlock()
	if last := len(b.free) - 1; last >= 0 {
		own := b.free[last]
		b.free = b.free[:last]
		return own
	}
	return note{id: rand.Uint64() >> 1}
}
