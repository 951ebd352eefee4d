package bench

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

func newMemo(enc encoder.Encoder) *memo {
	return &memo{Encoder: enc, seen: map[string]encoder.Output{}}
}

// Encode implements encoder.Encoder. Only dense vectors are remembered: the
// other tensors are hundreds of times as large.
func (m *memo) Encode(ctx context.Context, role encoder.Role, texts []string, need encoder.Need) ([]encoder.Output, error) {
	if role != encoder.Query || need != encoder.NeedDense {
		return m.Encoder.Encode(ctx, role, texts, need)
	}
	out := make([]encoder.Output, len(texts))
	var missing []string
	var at []int
	m.mu.Lock()
	for i, t := range texts {
		if o, ok := m.seen[t]; ok {
			out[i] = copyDense(o)
		} else {
			missing, at = append(missing, t), append(at, i)
		}
	}
	m.mu.Unlock()
	if len(missing) == 0 {
		return out, ctx.Err()
	}
	fresh, err := m.Encoder.Encode(ctx, role, missing, need)
	if err != nil {
		return nil, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	for j, o := range fresh {
		m.seen[missing[j]] = copyDense(o)
		out[at[j]] = o
	}
	return out, nil
}

// copyDense copies what the caller of Encode owns and may change.
func copyDense(o encoder.Output) encoder.Output {
	o.Dense = append([]float32(nil), o.Dense...)
	o.Tokens.IDs = append([]int32(nil), o.Tokens.IDs...)
	o.Tokens.Special = append([]bool(nil), o.Tokens.Special...)
	o.Tokens.Offsets = append([]encoder.Span(nil), o.Tokens.Offsets...)
	return o
}
