package bench

import (
	"context"

	"github.com/lexsem/lexsem/encoder"
)

// Dense is the encoder alone: the cosine of query and passage vector. Every other system is compared
// with it.
var _ = RegisterSystem(SystemKind{
	Name:  "dense",
	Usage: "dense",
	Doc:   "the encoder alone",
	Make: func(arg string) (System, error) {
		if err := noArgument(arg); err != nil {
			return System{}, err
		}
		return System{
			Name: "dense",
			Need: encoder.NeedDense,
			Prepare: func(_ context.Context, s *Setting) (Retriever, *Fit, error) {
				return vectorRetriever{setting: s, vector: func(dst []float32, q Question) []float32 {
					return append(dst, q.Output.Dense...)
				}}, nil, nil
			},
		}, nil
	},
})
