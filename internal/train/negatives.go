package train

import (
	"context"
	"fmt"
	"sync"
)

// Ranks in the dense search from which hard negatives are drawn (Sec. 4.2 of the paper):
// nearer passages are too often right answers themselves.
const (
	negativesFrom = 20
	negativesTo   = 200
)

// mine draws the negatives of every query: from the hard ones, and uniformly from the
// corpus if these do not suffice. No negative has the text of the target.
func mine(ctx context.Context, q *queries, set *passages, o Options) ([]int32, error) {
	k := o.Negatives
	mined := make([]int32, q.len()*k)
	const slice = 256
	var failed error
	var once sync.Once
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	err := each(ctx, o.Workers, (q.len()+slice-1)/slice, func(_, b int) {
		for i := b * slice; i < min((b+1)*slice, q.len()); i++ {
			var hard []int
			if o.HardNegatives != nil {
				var err error
				if hard, err = o.HardNegatives(ctx, q.vector(i), negativesFrom, negativesTo); err != nil {
					once.Do(func() { failed = err; cancel(err) })
					return
				}
			}
			rng := random(o.Seed, "negatives", fmt.Sprint(i))
			rng.Shuffle(len(hard), func(a, b int) { hard[a], hard[b] = hard[b], hard[a] })
			out := mined[i*k : i*k]
			for _, h := range hard {
				if len(out) < k && h >= 0 && h < len(set.rep) && set.rep[h] != q.target[i] {
					out = append(out, set.rep[h])
				}
			}
			for len(out) < k {
				if r := int32(rng.IntN(len(set.reps))); r != q.target[i] {
					out = append(out, r)
				}
			}
		}
	})
	if failed != nil {
		return nil, fmt.Errorf("mine hard negatives: %w", failed)
	}
	return mined, err
}
