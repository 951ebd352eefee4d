package weaviate

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/lexsem/lexsem/engine/remote"
	"github.com/lexsem/lexsem/internal/rest"
)

// Weaviate 1.35.2 stops in the middle of a batch when its client disconnects. Its passages are then stored and found
// by words, but their vectors are not in the graph. If such a passage is sent again unchanged, or with the same
// vector, the server assumes that its vector is present (compareObjsForInsertStatus in its shard_write_put.go). So
// each write is checked.

// settle returns when stored passages are in the graph of vectors. Missing ones are stored with a slightly different
// vector (the next float32 in one component) and then with their own. So the server sees a change both times, and no
// passage is ever missing.
func (b *Backend) settle(ctx context.Context, all []stored) error {
	for some := range slices.Chunk(all, page) {
		keys := make([]string, len(some))
		for i, s := range some {
			keys[i] = s.ID
		}
		err := rest.Retry(ctx, b.o.Patience, func(int) (again bool, err error) {
			lack, err := b.lacking(ctx, keys)
			if err != nil || len(lack) == 0 {
				return false, err
			}
			var lost, other []stored
			for _, s := range some {
				if lack[s.ID] {
					lost = append(lost, s)
					s.Vectors = map[string][]float32{vectorName: beside(s.Vectors[vectorName])}
					other = append(other, s)
				}
			}
			for _, again := range [][]stored{other, lost} {
				if err := b.send(ctx, again, len(again)); err != nil {
					return false, err
				}
			}
			return true, fmt.Errorf("%s: %w: document %q is stored, but not in its graph of vectors", b.Name(), ErrServer, lost[0].Properties.ID)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// beside is a slightly different vector: its first component is the next float32.
func beside(v []float32) []float32 {
	v = slices.Clone(v)
	v[0] = math.Nextafter32(v[0], 2)
	return v
}

// lacking returns which stored passages are not in the graph of vectors; none while the server still has vectors
// to add, which it does after writes under ASYNC_INDEXING. It checks one copy of each shard.
func (b *Backend) lacking(ctx context.Context, keys []string) (map[string]bool, error) {
	if b.dim.Load() == 0 {
		if _, err := b.Info(ctx); err != nil {
			return nil, err
		}
	}
	some := make([]float32, b.dim.Load())
	some[0] = 1
	arguments := fmt.Sprintf("%s,limit:%d%s", near(some), len(keys), named(keys).argument())
	found, err := b.get(ctx, arguments, "_additional{id}")
	if err != nil {
		return nil, err
	}
	lack := make(map[string]bool, len(keys))
	for _, key := range keys {
		lack[key] = true
	}
	for _, h := range found {
		delete(lack, h.Additional.ID)
	}
	if len(lack) == 0 {
		return nil, nil
	}
	var out struct {
		Nodes []struct {
			Shards []struct{ VectorQueueLength int }
		}
	}
	if err := b.c.Call(ctx, "GET", "/v1/nodes/"+b.o.Class+"?output=verbose", nil, &out); err != nil {
		return nil, err
	}
	for _, n := range out.Nodes {
		for _, s := range n.Shards {
			if s.VectorQueueLength > 0 {
				return nil, nil
			}
		}
	}
	return lack, nil
}

// Unsettled implements remote.Unsettler.
func (b *Backend) Unsettled(ctx context.Context, ids []remote.PassageID) ([]remote.PassageID, error) {
	var out []remote.PassageID
	for some := range slices.Chunk(ids, page) {
		keys := make([]string, len(some))
		for i, id := range some {
			keys[i] = uuidOf(id)
		}
		lack, err := b.lacking(ctx, keys)
		if err != nil {
			return nil, err
		}
		for i, id := range some {
			if lack[keys[i]] {
				out = append(out, id)
			}
		}
	}
	return out, ctx.Err()
}
