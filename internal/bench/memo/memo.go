// Package memo keeps encodings: of queries in memory for a run, and all of them in a folder for the next run.
package memo

import (
	"context"
	"sync"

	"github.com/lexsem/lexsem/encoder"
)

// memo remembers the queries that were encoded in this run: fits with one seed
// draw the same training queries, which are then encoded once. Passages and
// everything else go to the encoder below.
type memo struct {
	encoder.Encoder
	mu   sync.Mutex
	seen map[string]encoder.Output
}

// New caches queries in memory only.
func New(enc encoder.Encoder) encoder.Encoder {
	return &memo{Encoder: enc, seen: map[string]encoder.Output{}}
}

// Encode implements encoder.Encoder. It caches only dense vectors of queries, since the other tensors
// are hundreds of times as large. Calls are serialised.
func (m *memo) Encode(ctx context.Context, role encoder.Role, in []encoder.Input, need encoder.Need) ([]encoder.Output, error) {
	texts, err := encoder.TextsOf(in)
	if role != encoder.Query || need != encoder.NeedDense || err != nil {
		return m.Encoder.Encode(ctx, role, in, need)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	var missing []string
	asked := map[string]struct{}{}
	for _, t := range texts {
		_, known := m.seen[t]
		if _, twice := asked[t]; !known && !twice {
			missing, asked[t] = append(missing, t), struct{}{}
		}
	}
	if len(missing) > 0 {
		fresh, err := m.Encoder.Encode(ctx, role, encoder.Texts(missing...), need)
		if err != nil {
			return nil, err
		}
		for i, o := range fresh {
			m.seen[missing[i]] = o
		}
	}
	out := make([]encoder.Output, len(in))
	for i, t := range texts {
		out[i] = copyDense(m.seen[t])
	}
	return out, ctx.Err()
}

// copyDense copies the vector, which the caller of Encode owns and may change.
func copyDense(o encoder.Output) encoder.Output {
	o.Dense = append([]float32(nil), o.Dense...)
	o.Tokens.IDs = append([]int32(nil), o.Tokens.IDs...)
	o.Tokens.Special = append([]bool(nil), o.Tokens.Special...)
	o.Tokens.Offsets = append([]encoder.Span(nil), o.Tokens.Offsets...)
	return o
}

// Open wraps enc with a cache. The encodings are kept in the folder dir for the next run, with token
// states of passages in one byte a component (encoder.Cache). Queries are also kept in memory for this
// run. With dir "" only the cache in memory is used. close writes the rest; enc stays open.
func Open(enc encoder.Encoder, dir string) (cached encoder.Encoder, close func() error, err error) {
	close = func() error { return nil }
	if dir != "" {
		disk, err := encoder.NewCache(Lent{enc}, dir, encoder.CacheOptions{})
		if err != nil {
			return nil, nil, err
		}
		enc, close = disk, disk.Close
	}
	return New(enc), close, nil
}

// Lent wraps an encoder that belongs to the caller of Run: its users cannot close it.
type Lent struct{ encoder.Encoder }

// Close does nothing.
func (Lent) Close() error { return nil }
