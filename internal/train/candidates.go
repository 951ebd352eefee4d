package train

import (
	"context"
	"slices"

	"github.com/lexsem/lexsem/internal/vec"
)

// candidates are the passages that queries are contrasted with, in the form that the two
// products of a step read.
type candidates struct {
	n        int
	scores   vec.Packed // [n × d], for scores = out · candidatesᵀ
	gradient vec.Packed // [n × d], for dout = dscores · candidates
}

// pack takes vectors [n × d].
func (c *candidates) pack(ctx context.Context, vectors []float32, n, d, workers int) error {
	c.n = n
	return each(ctx, workers, 2, func(_, i int) {
		if i == 0 {
			c.scores.PackNT(vectors, n, d)
		} else {
			c.gradient.PackNN(vectors, n, d)
		}
	})
}

// gather sets t.step to the candidates of one step, each distinct text once: the targets
// of the batch and the mined negatives of its queries. It rewrites target to positions
// among them.
func (t *trainer) gather(ctx context.Context, batch, target []int32) error {
	chosen := slices.Clone(target)
	k := t.o.Negatives
	for _, r := range batch {
		chosen = append(chosen, t.mined[int(r)*k:(int(r)+1)*k]...)
	}
	slices.Sort(chosen)
	chosen = slices.Compact(chosen)
	t.vectors = t.vectors[:0]
	for _, r := range chosen {
		t.vectors = append(t.vectors, t.set.corpus.Vector(t.set.reps[r])...)
	}
	for i, r := range target {
		at, _ := slices.BinarySearch(chosen, r)
		target[i] = int32(at)
	}
	return t.candidates.pack(ctx, t.vectors, len(chosen), t.q.dim, t.o.Workers)
}
