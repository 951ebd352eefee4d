package weaviate

import (
	"context"
	"fmt"
	"slices"

	"github.com/lexsem/lexsem/engine"
	"github.com/lexsem/lexsem/engine/remote"
)

// firsts returns the first passages of documents, in the order of ids; nil for missing ones.
func (b *Backend) firsts(ctx context.Context, ids []string, vectors bool) ([]*remote.Passage, error) {
	first := make([]remote.PassageID, len(ids))
	for i, id := range ids {
		first[i].ID = id
	}
	return b.Fetch(ctx, first, vectors)
}

// appendRest appends the passages of a document from number n up to, but not including, chunks.
func appendRest(to []remote.PassageID, id string, n, chunks int) []remote.PassageID {
	for ; n < chunks; n++ {
		to = append(to, remote.PassageID{ID: id, Chunk: n})
	}
	return to
}

// Documents implements remote.Backend.
func (b *Backend) Documents(ctx context.Context, ids []string) ([][]remote.Passage, error) {
	firsts, err := b.firsts(ctx, ids, true)
	if err != nil {
		return nil, err
	}
	var more []remote.PassageID
	for _, p := range firsts {
		if p != nil {
			more = appendRest(more, p.ID, 1, p.Chunks)
		}
	}
	others, err := b.Fetch(ctx, more, true)
	if err != nil {
		return nil, err
	}
	out := make([][]remote.Passage, len(ids))
	for i, p := range firsts {
		if p == nil {
			continue
		}
		n := max(0, p.Chunks-1)
		for _, p := range append([]*remote.Passage{p}, others[:n]...) {
			if p == nil { // a Put that has failed left the document in part
				break
			}
			out[i] = append(out[i], *p)
		}
		others = others[n:]
	}
	return out, nil
}

// clear is the first step of Put: it counts the writes, and removes surplus passages of the previous
// versions, so that none of them stays after a failure.
func (b *Backend) clear(ctx context.Context, docs [][]remote.Passage, fresh bool) error {
	ids := make([]string, len(docs))
	for i, ps := range docs {
		ids[i] = ps[0].ID
	}
	before, err := b.firsts(ctx, ids, false)
	if err != nil {
		return err
	}
	var gone []remote.PassageID
	passages := 0
	for i, ps := range docs {
		passages += len(ps)
		if before[i] == nil {
			continue
		}
		if fresh {
			return fmt.Errorf("%s: document %q: %w", b.Name(), ids[i], engine.ErrExists)
		}
		gone = appendRest(gone, ids[i], len(ps), before[i].Chunks)
	}
	if passages == 0 {
		return ctx.Err()
	}
	if err := b.note(ctx, passages+len(gone)); err != nil {
		return err
	}
	return b.remove(ctx, gone)
}

// Delete implements remote.Backend. It removes first chunks last, so that a failed call can be repeated.
func (b *Backend) Delete(ctx context.Context, ids []string) (int, error) {
	firsts, err := b.firsts(ctx, slices.Compact(slices.Sorted(slices.Values(ids))), false)
	if err != nil {
		return 0, err
	}
	var first, more []remote.PassageID
	for _, p := range firsts {
		if p != nil {
			first, more = append(first, p.PassageID), appendRest(more, p.ID, 1, p.Chunks)
		}
	}
	if len(first) == 0 {
		return 0, ctx.Err()
	}
	if err := b.note(ctx, len(first)+len(more)); err != nil {
		return 0, err
	}
	if err := b.remove(ctx, more); err != nil {
		return 0, err
	}
	return len(first), b.remove(ctx, first)
}
