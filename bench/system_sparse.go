package bench

import (
	"context"
	"fmt"
	"time"

	"github.com/lexsem/lexsem/encoder"
	"github.com/lexsem/lexsem/internal/bench/parallel"
	"github.com/lexsem/lexsem/internal/bench/process"
	"github.com/lexsem/lexsem/internal/inverted"
	"github.com/lexsem/lexsem/modulate"
)

// Sparse searches lexical vectors without any dense vector. One variant weighs queries and passages,
// and the score is the inner product of the weights, from the inverted index (Table 4 of the paper).
// sparse:mlm, -softmax and -exact use the encoder's own logits. So an ONNX model like SPLADE, whose
// logits are pooled over the tokens, is searched as in its training.
var _ = RegisterSystem(SystemKind{
	Name:  "sparse",
	Usage: "sparse:VARIANT",
	Doc:   "inner product of lexical weights, without a dense vector",
	Make: func(arg string) (System, error) {
		v, err := modulate.Lookup(arg)
		if err != nil {
			return System{}, fmt.Errorf("%w: sparse:%s: %w", ErrUnknownName, arg, err)
		}
		if v.Weigh == nil {
			return System{}, fmt.Errorf("%w: sparse:%s: %s has no lexical vector; name a variant that is fitted", ErrUnknownName, arg, v.Name)
		}
		name := "sparse:" + v.Name
		return System{
			Name: name,
			Need: v.Need | encoder.NeedDense,
			Prepare: func(ctx context.Context, s *Setting) (Retriever, *Fit, error) {
				return prepareSparse(ctx, s, v)
			},
		}, nil
	},
})

func prepareSparse(ctx context.Context, s *Setting, v modulate.Variant) (Retriever, *Fit, error) {
	began, cpu := time.Now(), process.CPUTime()
	fit := &Fit{Passages: s.Targets.Len()}
	weigh, err := sparseWeigher(ctx, s, v, fit)
	if err != nil {
		return nil, nil, err
	}
	x, err := inverted.NewSparse(s.Encoder.VocabSize())
	if err != nil {
		return nil, nil, err
	}
	e := x.Edit()
	r := &sparseRetriever{weigh: weigh}
	err = s.eachPassages(ctx, v.Need|encoder.NeedDense, func(at int, part []encoder.Output) error {
		for i, out := range part {
			if err := e.Add(uint64(at+i), r.weights(out)); err != nil {
				return err
			}
		}
		s.Report(Progress{Stage: "weigh " + v.Name, Done: at + len(part), Total: len(s.Passages)})
		return nil
	})
	if err != nil {
		return nil, nil, err
	}
	r.index = e.Done()
	fit.Seconds, fit.CPUSeconds = time.Since(began).Seconds(), (process.CPUTime() - cpu).Seconds()
	return r, fit, nil
}

// sparseWeigher makes the weigher of a variant. Its parameters are the initial ones. Only a variant
// that reads hidden states (SLR) gets fitted ones.
func sparseWeigher(ctx context.Context, s *Setting, v modulate.Variant, fit *Fit) (modulate.Weigher, error) {
	var parts modulate.Parts
	var err error
	if v.ReadsSums {
		if parts.Sums, err = s.corpusSums(ctx); err != nil {
			return nil, err
		}
	}
	stack, err := modulate.ParseStack(v.Name)
	if err != nil {
		return nil, err
	}
	if v.Need&encoder.NeedHidden != 0 {
		if parts.Weights, err = s.fitStack(ctx, stack, fit); err != nil {
			return nil, err
		}
	} else if v.Start != nil {
		if parts.Weights, err = stack.Start(s.Encoder.Dim(), s.Encoder.VocabSize(), 1, parts); err != nil {
			return nil, err
		}
	}
	return v.Weigh(parts)
}

// sparseRetriever answers by the inner product of lexical vectors.
type sparseRetriever struct {
	index *inverted.Sparse
	weigh modulate.Weigher
}

func (r *sparseRetriever) weights(out encoder.Output) []inverted.Weighted {
	lex := r.weigh.Weigh(modulate.Lexical{}, inputOf(Question{Output: out}))
	ws := make([]inverted.Weighted, len(lex.IDs))
	for i, id := range lex.IDs {
		ws[i] = inverted.Weighted{Term: id, Weight: lex.Weights[i]}
	}
	return ws
}

// Retrieve implements Retriever.
func (r *sparseRetriever) Retrieve(ctx context.Context, questions []Question, k int) ([][]Hit, error) {
	out := make([][]Hit, len(questions))
	err := parallel.Each(ctx, len(questions), func(i int) error {
		best, err := r.index.Search(ctx, nil, r.weights(questions[i].Output), k, nil)
		out[i] = hitsOf(best)
		return err
	})
	return out, err
}
