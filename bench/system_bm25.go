package bench

import (
	"context"
	"fmt"
	"time"

	"github.com/lexsem/lexsem/encoder"
	"github.com/lexsem/lexsem/internal/bench/parallel"
	"github.com/lexsem/lexsem/internal/bench/process"
	"github.com/lexsem/lexsem/internal/inverted"
	"github.com/lexsem/lexsem/internal/text"
)

// BM25 ranks by words alone: stemmed, k1 1.2, b 0.75. It returns only documents with a word of
// the query. bm25:okapi keeps function words and uses k1 1.5, like baselines made with the rank_bm25
// package over stemmed words. The BM25 of CapRetrieval's paper uses Porter stems and no function
// words: docs/runs/capretrieval-words.json.
var _ = RegisterSystem(SystemKind{
	Name: "bm25", Usage: "bm25[:okapi]", Doc: "words alone (stemmed, k1 1.2, b 0.75; okapi: function words kept, k1 1.5)",
	Make: func(arg string) (System, error) {
		switch arg {
		case "":
			return System{Name: "bm25", Need: encoder.NeedDense, Prepare: prepareBM25((*Setting).lexicon)}, nil
		case "okapi":
			return System{Name: "bm25:okapi", Need: encoder.NeedDense, Prepare: prepareBM25(func(s *Setting, ctx context.Context) (*lexicon, error) {
				return s.newLexicon(ctx, text.Options{Language: s.Language, Stem: true}, inverted.Options{K1: 1.5, B: .75})
			})}, nil
		}
		return System{}, fmt.Errorf("%w: bm25 takes okapi or nothing after the colon, not %q", ErrUnknownName, arg)
	},
})

func prepareBM25(words func(*Setting, context.Context) (*lexicon, error)) func(context.Context, *Setting) (Retriever, *Fit, error) {
	return func(ctx context.Context, s *Setting) (Retriever, *Fit, error) {
		began, cpu := time.Now(), process.CPUTime()
		l, err := words(s, ctx)
		if err != nil {
			return nil, nil, err
		}
		f := &Fit{Passages: s.Targets.Len(), Seconds: time.Since(began).Seconds(), CPUSeconds: (process.CPUTime() - cpu).Seconds()}
		return bm25Retriever{l}, f, nil
	}
}

type bm25Retriever struct{ l *lexicon }

func (r bm25Retriever) bytes() int64 { return r.l.Bytes() }

func (r bm25Retriever) Retrieve(ctx context.Context, questions []Question, k int) ([][]Hit, error) {
	out := make([][]Hit, len(questions))
	err := parallel.Each(ctx, len(questions), func(i int) error {
		best, err := r.l.Search(ctx, nil, r.l.analyzer.Asked(nil, questions[i].Text), k, nil)
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
