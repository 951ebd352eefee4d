package train

import (
	"context"
	"fmt"

	"github.com/lexsem/lexsem/modulate"
)

// touch gives a row of W to every token that can occur in a lexical vector of the
// queries, even with weight 0. Error: that of ctx, checked before each query; or of Touch.
func touch(ctx context.Context, p *modulate.Projection, q *queries, b *modulate.Bridge) error {
	seen := make([]bool, b.Columns())
	var ids []int32
	add := func(w modulate.Lexical) error {
		for _, id := range w.IDs {
			if id < 0 || int(id) >= len(seen) {
				return fmt.Errorf("the encoder gave a token outside its vocabulary: %w", p.Touch(id))
			}
			if !seen[id] {
				seen[id] = true
				ids = append(ids, id)
			}
		}
		return nil
	}
	var states []float32
	var w modulate.Lexical
	from, to := q.modulated()
	for i := from; i < to; i++ {
		if err := ctx.Err(); err != nil {
			return err
		}
		switch q.keeps {
		case keepsWeights:
			w = q.lexical(i)
		case keepsStates:
			w = b.Weigh(w.Emptied(), q.input(i, &states))
		case keepsNothing:
			w = b.Weigh(w.Emptied(), q.input(i, nil))
		}
		if err := add(w); err != nil {
			return err
		}
		if q.even && len(ids) > 0 {
			break
		}
	}
	return p.Touch(ids...)
}
