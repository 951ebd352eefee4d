package bench

import (
	"context"
	"fmt"
	"slices"

	"github.com/lexsem/lexsem/encoder"
	"github.com/lexsem/lexsem/engine/fusion"
	"github.com/lexsem/lexsem/internal/bench/constants"
	"github.com/lexsem/lexsem/internal/bench/parallel"
	"github.com/lexsem/lexsem/internal/inverted"
)

// Fusions of a dense retriever with BM25, with the engine's formulas and defaults. The part after the
// colon names the dense retriever, which the engine may not have: hybrid:rlr+slr after a fit to clean passages.
var (
	_ = registerFusion("hybrid", "rlr", fusion.Calibrated, "calibrated fusion with BM25, as the engine does")
	_ = registerFusion("rrf", "dense", fusion.RRF, "reciprocal-rank fusion with BM25")
	_ = registerFusion("convex", "dense", fusion.Convex, "min-max convex sum with BM25")
)

func registerFusion(name, leg, kind, doc string) SystemKind {
	return RegisterSystem(SystemKind{
		Name: name, Usage: name + "[:LEG]", Doc: doc + "; the dense leg is " + leg + " unless named",
		Make: func(arg string) (System, error) {
			full := name
			if arg == "" {
				arg = leg
			} else {
				full = name + ":" + arg
			}
			dense, err := ParseSystem(arg)
			if err != nil {
				return System{}, err
			}
			s := fusionSystem(full, dense, kind)
			s.Constants = append(slices.Clone(constants.OfFusion[kind]), dense.Constants...)
			return s, nil
		},
	})
}

// fusionDepth is the number of candidates per leg, as in the engine.
const fusionDepth = 200

func fusionSystem(name string, dense System, kind string) System {
	return System{
		Name: name,
		Need: dense.Need | encoder.NeedDense, fuses: true,
		Prepare: func(ctx context.Context, s *Setting) (Retriever, *Fit, error) {
			leg, fit, err := dense.Prepare(ctx, s)
			if err != nil {
				return nil, nil, err
			}
			v, ok := leg.(denseRetriever)
			if !ok {
				return nil, nil, fmt.Errorf("%w: %s has no query vectors; fuse dense, rlr-local or a stack of variants", ErrOption, dense.Name)
			}
			if err := s.measure(ctx); err != nil {
				return nil, nil, err
			}
			l, err := s.lexicon(ctx)
			if err != nil {
				return nil, nil, err
			}
			return fusedRetriever{v, l, s.of, fusion.Options{Kind: kind}.Calibrate(s.unrelated), s.Constants}, fit, nil
		},
	}
}

// denseRetriever is a dense retriever that finds candidates and can score any passage.
type denseRetriever interface {
	Retriever
	// scores writes the score of each of the targets ids into dst.
	scores(dst []float32, q Question, ids []uint64) error
}

// fusedRetriever answers as the engine's hybrid search does.
type fusedRetriever struct {
	dense     denseRetriever
	words     *lexicon
	of        []int // text of each chunk; nil where every text is one
	fusion    fusion.Options
	constants constants.Values // in place of those of fusion
}

func (r fusedRetriever) bytes() int64 { return bytesOf(r.dense) + r.words.Bytes() }

func (r fusedRetriever) Retrieve(ctx context.Context, questions []Question, k int) ([][]Hit, error) {
	out, err := r.ranked(ctx, questions, max(fusionDepth, 2*k))
	for i, hits := range out {
		out[i] = hits[:min(k, len(hits))]
	}
	return out, err
}

// ranked are all candidates that legs of this depth find, best first.
func (r fusedRetriever) ranked(ctx context.Context, questions []Question, depth int) ([][]Hit, error) {
	all, err := r.gather(ctx, questions, depth)
	if err != nil {
		return nil, err
	}
	out := make([][]Hit, len(all))
	return out, parallel.Each(ctx, len(all), func(i int) error {
		err := r.fuse(ctx, r.constants, all[i], questions[i])
		out[i] = bestOf(all[i], len(all[i]))
		return err
	})
}

// bestOf returns the first k of the ranked candidates.
func bestOf(cs []fusion.Candidate, k int) []Hit {
	hits := make([]Hit, min(k, len(cs)))
	for i := range hits {
		hits[i] = Hit{Target: int(cs[i].Ord), Score: cs[i].Score}
	}
	return hits
}

// gather returns, for each question, the candidates that legs of this depth find, with the scores of
// both legs.
func (r fusedRetriever) gather(ctx context.Context, questions []Question, depth int) ([][]fusion.Candidate, error) {
	near, err := r.dense.Retrieve(ctx, questions, depth)
	if err != nil {
		return nil, err
	}
	out := make([][]fusion.Candidate, len(questions))
	err = parallel.Each(ctx, len(questions), func(i int) (err error) {
		out[i], err = r.joined(ctx, questions[i], near[i], depth)
		return err
	})
	return out, err
}

// joined returns the candidates of both legs, each with both scores.
func (r fusedRetriever) joined(ctx context.Context, q Question, near []Hit, depth int) ([]fusion.Candidate, error) {
	terms := r.words.analyzer.Asked(nil, q.Text)
	best, err := r.words.Search(ctx, nil, terms, depth, nil)
	if err != nil {
		return nil, err
	}
	seen := make(map[int]struct{}, len(near))
	cs := make([]fusion.Candidate, 0, len(near)+len(best))
	ids := make([]uint64, 0, len(near)+len(best))
	for _, h := range append(near, hitsOf(best)...) {
		if _, twice := seen[h.Target]; !twice {
			seen[h.Target] = struct{}{}
			cs = append(cs, fusion.Candidate{Ord: uint64(h.Target)})
			ids = append(ids, uint64(h.Target))
		}
	}
	cosines, matches := make([]float32, len(ids)), make([]inverted.Match, len(ids))
	if err := r.dense.scores(cosines, q, ids); err != nil {
		return nil, err
	}
	if err := r.words.Match(ctx, matches, terms, ids); err != nil {
		return nil, err
	}
	for i := range cs {
		cs[i].Dense, cs[i].Match = float64(cosines[i]), matches[i]
	}
	return cs, nil
}
