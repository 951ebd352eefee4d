package bench

import (
	"context"
	"fmt"
	"time"

	"github.com/lexsem/lexsem/encoder"
	"github.com/lexsem/lexsem/index/inverted"
	"github.com/lexsem/lexsem/modulate"
)

// Sparse is the comparison of Table 4 of the paper turned to our own lexical
// vectors: learned sparse retrieval, which scores a passage by the inner
// product of its lexical vector with the query's (SPLADE's score) and has no
// dense part. A variant must read no more than tokens and the dense vector,
// which is what is kept of passages.
var Sparse = RegisterSystem(SystemKind{
	Name:  "sparse",
	Usage: "sparse:VARIANT",
	Doc:   "inner product of lexical vectors, without the dense one (ablation)",
	Make: func(arg string) (System, error) {
		v, err := modulate.Lookup(arg)
		if err != nil {
			return System{}, fmt.Errorf("%w: sparse:%s: %w", ErrUnknownName, arg, err)
		}
		if v.Weigh == nil || v.Need&(encoder.NeedHidden|encoder.NeedLogits) != 0 {
			return System{}, fmt.Errorf("%w: sparse:%s: its lexical vector cannot be made of a stored passage; name slr, slr-idf or clr", ErrUnknownName, arg)
		}
		return System{Name: "sparse:" + v.Name, Need: v.Need | encoder.NeedDense,
			Prepare: func(ctx context.Context, s *Setting) (Retriever, *Fit, error) { return prepareSparse(ctx, s, v) }}, nil
	},
})

func prepareSparse(ctx context.Context, s *Setting, v modulate.Variant) (Retriever, *Fit, error) {
	began, cpu := time.Now(), cpuTime()
	fit := Fit{Passages: s.Targets.Len()}
	parts := modulate.Parts{}
	var err error
	if v.ReadsSums || v.Start != nil {
		if parts.Sums, err = s.corpusSums(ctx); err != nil {
			return nil, nil, err
		}
	}
	if v.Start != nil {
		if parts.Weights, err = s.fitStack(ctx, v.Name, parts.Sums, &fit); err != nil {
			return nil, nil, err
		}
	}
	weigher, err := v.Weigh(parts)
	if err != nil {
		return nil, nil, fmt.Errorf("lexical vectors of %s: %w", v.Name, err)
	}
	index, err := inverted.NewSparse(s.Encoder.VocabSize(), "")
	if err != nil {
		return nil, nil, err
	}
	for i, p := range s.Passages {
		if i%encodeBatch == 0 && ctx.Err() != nil {
			return nil, nil, ctx.Err()
		}
		if err := index.Add(uint64(i), weighted(weigher, p)); err != nil {
			return nil, nil, fmt.Errorf("indexing the lexical vectors: %w", err)
		}
	}
	fit.Seconds, fit.CPUSeconds = time.Since(began).Seconds(), (cpuTime() - cpu).Seconds()
	return sparseRetriever{index, weigher}, &fit, nil
}

func weighted(w modulate.Weigher, o encoder.Output) []inverted.Weighted {
	l := w.Weigh(modulate.Lexical{}, modulate.Input{Tokens: o.Tokens, Dense: o.Dense})
	out := make([]inverted.Weighted, len(l.IDs))
	for i, id := range l.IDs {
		out[i] = inverted.Weighted{Term: id, Weight: l.Weights[i]}
	}
	return out
}

type sparseRetriever struct {
	index   *inverted.Sparse
	weigher modulate.Weigher
}

func (r sparseRetriever) Retrieve(ctx context.Context, questions []Question, k int) ([][]Hit, error) {
	out := make([][]Hit, len(questions))
	err := parallel(ctx, len(questions), func(i int) error {
		best, err := r.index.Search(nil, weighted(r.weigher, questions[i].Output), k, nil)
		out[i] = hitsOf(best)
		return err
	})
	return out, err
}
