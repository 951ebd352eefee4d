package bench

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/lexsem/lexsem/engine"
	"github.com/lexsem/lexsem/internal/bench/parallel"
)

// HybridReranked is the hybrid with a second stage, like the engine with Options.Reranker: the
// reranker of the run reorders the first passages.
var _ = RegisterSystem(SystemKind{
	Name: "hybrid+rerank", Usage: "hybrid+rerank[:LEG]",
	Doc: "the hybrid, its first passages ordered anew by the reranker that the run is given; the dense leg is rlr unless named",
	Make: func(arg string) (System, error) {
		first, err := hybrid.Make(arg)
		if err != nil {
			return System{}, err
		}
		return System{
			Name: strings.Replace(first.Name, hybrid.Name, "hybrid+rerank", 1), Need: first.Need, Reranks: true,
			Prepare: func(ctx context.Context, s *Setting) (Retriever, *Fit, error) {
				if s.Reranker == nil {
					return nil, nil, errNoReranker
				}
				r, fit, err := first.Prepare(ctx, s)
				if err != nil {
					return nil, nil, err
				}
				if s.of != nil {
					r = bestChunks{r, s.of}
				}
				return rerankedRetriever{r, s.Reranker, cmp.Or(s.RerankDepth, engine.DefaultRerank), s.Targets.Texts}, fit, nil
			},
		}, nil
	},
})

var errNoReranker = fmt.Errorf("%w: system hybrid+rerank needs a reranker; name one (--rerank)", ErrOption)

// rerankedRetriever sorts the first hits of another retriever by the scores of a reranker.
type rerankedRetriever struct {
	first    Retriever
	reranker engine.Reranker
	depth    int
	texts    []string // of the targets
}

func (r rerankedRetriever) bytes() int64 { return bytesOf(r.first) }

// Retrieve implements Retriever. The scores of its hits express only their order, since the reranker
// scores only the first hits.
func (r rerankedRetriever) Retrieve(ctx context.Context, questions []Question, k int) ([][]Hit, error) {
	all, err := r.first.Retrieve(ctx, questions, max(k, r.depth))
	if err != nil {
		return nil, err
	}
	err = parallel.Each(ctx, len(questions), func(i int) error {
		hits := all[i]
		first := hits[:min(r.depth, len(hits))]
		texts := make([]string, len(first))
		for j, h := range first {
			texts[j] = r.texts[h.Target]
		}
		scores, err := engine.Rerank(ctx, r.reranker, questions[i].Text, texts)
		if err != nil {
			return err
		}
		for j, s := range scores {
			first[j].Score = s
		}
		slices.SortStableFunc(first, func(a, b Hit) int { return cmp.Compare(b.Score, a.Score) })
		for j := range hits {
			hits[j].Score = float64(len(hits) - j)
		}
		all[i] = hits[:min(k, len(hits))]
		return nil
	})
	return all, err
}
