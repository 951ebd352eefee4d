package bench

import (
	"context"
	"fmt"
	"time"

	"github.com/lexsem/lexsem/encoder"
	"github.com/lexsem/lexsem/index/inverted"
)

// BM25 ranks by words alone: stemmed English, k1 1.2, b 0.75. Documents
// without a word of the query are not in its answer.
var BM25 = RegisterSystem(SystemKind{
	Name: "bm25", Usage: "bm25", Doc: "words alone (stemmed, k1 1.2, b 0.75)",
	Make: func(arg string) (System, error) {
		if arg != "" {
			return System{}, fmt.Errorf("%w: bm25 takes no argument, not %q", ErrUnknownName, arg)
		}
		return System{Name: "bm25", Need: encoder.NeedDense, Prepare: prepareBM25}, nil
	},
})

func prepareBM25(ctx context.Context, s *Setting) (Retriever, *Fit, error) {
	began, cpu := time.Now(), cpuTime()
	l, err := s.lexicon(ctx)
	if err != nil {
		return nil, nil, err
	}
	f := &Fit{Passages: s.Targets.Len(), Seconds: time.Since(began).Seconds(), CPUSeconds: (cpuTime() - cpu).Seconds()}
	return bm25Retriever{l}, f, nil
}

type bm25Retriever struct{ l *lexicon }

func (r bm25Retriever) Retrieve(ctx context.Context, questions []Question, k int) ([][]Hit, error) {
	out := make([][]Hit, len(questions))
	err := parallel(ctx, len(questions), func(i int) error {
		best, err := r.l.Search(nil, r.l.analyzer.Terms(nil, questions[i].Text), k, nil)
		out[i] = hitsOf(best)
		return err
	})
	return out, err
}

func hitsOf(best []inverted.Scored) []Hit {
	hits := make([]Hit, len(best))
	for i, b := range best {
		hits[i] = Hit{Target: int(b.ID), Score: b.Score}
	}
	return hits
}
