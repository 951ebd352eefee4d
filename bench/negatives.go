package bench

import (
	"context"
	"sync"

	"github.com/lexsem/lexsem/index"
)

// hardNegatives gives train.Options.HardNegatives over the passages of s. Its index, a
// graph, is made at the first call, since few corpora are large enough to need it.
func (s *Setting) hardNegatives() func(ctx context.Context, query []float32, from, to int) ([]int, error) {
	graph := sync.OnceValues(func() (index.Index, error) {
		ix, err := newIndex(index.KindHNSWInt8, s.Encoder.Dim(), s.Seed)
		if err != nil {
			return nil, err
		}
		s.Report(Progress{Stage: "index what negatives are drawn from", Total: len(s.Passages)})
		if err := s.fill(ix); err != nil {
			return nil, err
		}
		s.Report(Progress{Stage: "index what negatives are drawn from", Done: len(s.Passages), Total: len(s.Passages)})
		return ix, nil
	})
	return func(ctx context.Context, query []float32, from, to int) ([]int, error) {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		ix, err := graph()
		if err != nil {
			return nil, err
		}
		near, err := ix.Search(nil, query, index.SearchOptions{K: to, Ef: to})
		if err != nil {
			return nil, err
		}
		var out []int
		for _, n := range near[min(from, len(near)):] {
			out = append(out, int(n.ID))
		}
		return out, nil
	}
}
