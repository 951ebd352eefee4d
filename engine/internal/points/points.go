// Package points is what Backends share whose engine keeps each passage as an object with a UUID, and
// has no transactions.
package points

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"slices"

	"github.com/lexsem/lexsem/engine"
)

// ID is the engine's id of a passage. Those of a document lie one behind the other, and
// documents in the order of the digests of their ids.
func ID(id engine.PassageID) string {
	sum := sha256.Sum256([]byte(id.ID))
	return UUID([12]byte(sum[:12]), uint32(id.Chunk))
}

// UUID is one of 96 bits and a number.
func UUID(bits [12]byte, n uint32) string {
	h := hex.EncodeToString(binary.BigEndian.AppendUint32(bits[:], n))
	return h[:8] + "-" + h[8:12] + "-" + h[12:16] + "-" + h[16:20] + "-" + h[20:]
}

// Between are the ids between which a scan goes: from the first on, which no passage has, and up to before the
// second, "" for no end.
func Between(o engine.ScanOptions) (from, end string) {
	parts := max(o.Parts, 1)
	bound := func(part int) string {
		var bits [12]byte
		binary.BigEndian.PutUint32(bits[:], uint32(uint64(part)<<32/uint64(parts)))
		return UUID(bits, 0)
	}
	from = bound(o.Part)
	if o.Part+1 < parts {
		end = bound(o.Part + 1)
	}
	if o.After != "" {
		from = max(from, ID(engine.PassageID{ID: o.After, Chunk: 1<<32 - 1}))
	}
	return from, end
}

// Keeper is what a Backend does by passages.
type Keeper struct {
	Name   string
	Fetch  func(ctx context.Context, ids []engine.PassageID, vectors bool) ([]*engine.Passage, error) // as engine.Backend has it
	Note   func(ctx context.Context, n int) error                                                     // counts n writes that are to be made
	Remove func(ctx context.Context, ids []engine.PassageID) error                                    // whether they are there or not
}

// firsts returns the first passages of documents, in the order of ids; nil for none.
func (k Keeper) firsts(ctx context.Context, ids []string, vectors bool) ([]*engine.Passage, error) {
	first := make([]engine.PassageID, len(ids))
	for i, id := range ids {
		first[i].ID = id
	}
	return k.Fetch(ctx, first, vectors)
}

// rest appends the passages of a document from number n up to before chunks.
func rest(to []engine.PassageID, id string, n, chunks int) []engine.PassageID {
	for ; n < chunks; n++ {
		to = append(to, engine.PassageID{ID: id, Chunk: n})
	}
	return to
}

// Documents is engine.Backend's.
func (k Keeper) Documents(ctx context.Context, ids []string) ([][]engine.Passage, error) {
	firsts, err := k.firsts(ctx, ids, true)
	if err != nil {
		return nil, err
	}
	var more []engine.PassageID
	for _, p := range firsts {
		if p != nil {
			more = rest(more, p.ID, 1, p.Chunks)
		}
	}
	others, err := k.Fetch(ctx, more, true)
	if err != nil {
		return nil, err
	}
	out := make([][]engine.Passage, len(ids))
	for i, p := range firsts {
		if p == nil {
			continue
		}
		n := max(0, p.Chunks-1)
		for _, p := range append([]*engine.Passage{p}, others[:n]...) {
			if p == nil { // a Put that has failed left the document in part
				break
			}
			out[i] = append(out[i], *p)
		}
		others = others[n:]
	}
	return out, nil
}

// Clear is the beginning of engine.Backend's Put: it counts the writes, and removes the passages that documents had more
// of before, so that none of an older version stays behind whatever fails.
func (k Keeper) Clear(ctx context.Context, docs [][]engine.Passage, fresh bool) error {
	ids := make([]string, len(docs))
	for i, ps := range docs {
		ids[i] = ps[0].ID
	}
	before, err := k.firsts(ctx, ids, false)
	if err != nil {
		return err
	}
	var gone []engine.PassageID
	passages := 0
	for i, ps := range docs {
		passages += len(ps)
		if before[i] == nil {
			continue
		}
		if fresh {
			return fmt.Errorf("%s: document %q: %w", k.Name, ids[i], engine.ErrExists)
		}
		gone = rest(gone, ids[i], len(ps), before[i].Chunks)
	}
	if passages == 0 {
		return ctx.Err()
	}
	if err := k.Note(ctx, passages+len(gone)); err != nil {
		return err
	}
	return k.Remove(ctx, gone)
}

// Delete is engine.Backend's. First chunks go last: what fails may be tried again.
func (k Keeper) Delete(ctx context.Context, ids []string) (int, error) {
	firsts, err := k.firsts(ctx, slices.Compact(slices.Sorted(slices.Values(ids))), false)
	if err != nil {
		return 0, err
	}
	var first, more []engine.PassageID
	for _, p := range firsts {
		if p != nil {
			first, more = append(first, p.PassageID), rest(more, p.ID, 1, p.Chunks)
		}
	}
	if len(first) == 0 {
		return 0, ctx.Err()
	}
	if err := k.Note(ctx, len(first)+len(more)); err != nil {
		return 0, err
	}
	if err := k.Remove(ctx, more); err != nil {
		return 0, err
	}
	return len(first), k.Remove(ctx, first)
}
