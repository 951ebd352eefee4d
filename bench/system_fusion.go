package bench

import (
	"cmp"
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
// colon names the dense retriever: hybrid:rlr+slr.
var (
	hybrid = registerFusion("hybrid", "rlr", fusion.Options{}, "calibrated fusion with BM25, as the engine does")
	_      = registerFusion("coverage", "rlr", fusion.Options{Presence: -1, Near: -1, Beta: 1, Title: -1}, "the sum of cosine, coverage and pair bonus")
	_      = registerFusion("rrf", "dense", fusion.Options{Kind: fusion.RRF}, "reciprocal-rank fusion with BM25")
	_      = registerFusion("convex", "dense", fusion.Options{Kind: fusion.Convex}, "min-max convex sum with BM25")
)

func registerFusion(name, leg string, f fusion.Options, doc string) SystemKind {
	names := constants.OfFusion[cmp.Or(f.Kind, fusion.Calibrated)]
	if f.Presence < 0 {
		names = nil
	}
	return registerFused(name, leg, doc, func(s *Setting, r fusedRetriever) Retriever {
		f := f
		if names != nil && cmp.Or(f.Kind, fusion.Calibrated) == fusion.Calibrated {
			f, r.scale = f.Calibrate(s.unrelated), fusion.Scale(s.unrelated)
		}
		r.rank = func(cs []fusion.Candidate, unknown float64) error { return fuse(s.Constants, f, cs, unknown) }
		r.fuseBy = func(c constants.Values, cs []fusion.Candidate, unknown float64) error { return fuse(c, f, cs, unknown) }
		return r
	}, names...)
}

// registerFused registers the systems NAME and NAME:LEG. They retrieve with the retriever that with
// makes of both legs and the constants.
func registerFused(name, leg, doc string, with func(*Setting, fusedRetriever) Retriever, constants ...string) SystemKind {
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
			s := fusionSystem(full, dense, with)
			s.Constants = append(slices.Clone(constants), dense.Constants...)
			return s, nil
		},
	})
}

// fusionDepth is the number of candidates per leg, as in the engine.
const fusionDepth = 200

func fusionSystem(name string, dense System, with func(*Setting, fusedRetriever) Retriever) System {
	return System{
		Name: name,
		Need: dense.Need | encoder.NeedDense, scales: dense.scales,
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
			return with(s, fusedRetriever{dense: v, words: l}), fit, nil
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
	dense denseRetriever
	words *lexicon
	// rank sets the scores of candidates and sorts them; unknown is the share of the
	// query that the encoder does not know. Safe for concurrent use.
	rank func(cs []fusion.Candidate, unknown float64) error
	// fuseBy ranks with other constants; it is nil if the fusion has none.
	fuseBy func(c constants.Values, cs []fusion.Candidate, unknown float64) error
	scale  float64 // fusion.Scale of the encoder, 0 where the fusion has none
}

func (r fusedRetriever) bytes() int64 { return bytesOf(r.dense) + r.words.Bytes() }

func (r fusedRetriever) Retrieve(ctx context.Context, questions []Question, k int) ([][]Hit, error) {
	fused, err := r.fuseAll(ctx, questions, max(fusionDepth, 2*k))
	out := make([][]Hit, len(fused))
	for i, cs := range fused {
		out[i] = bestOf(cs, k)
	}
	return out, err
}

// bestOf returns the first k of the ranked candidates.
func bestOf(cs []fusion.Candidate, k int) []Hit {
	hits := make([]Hit, min(k, len(cs)))
	for i := range hits {
		hits[i] = Hit{Target: int(cs[i].Ord), Score: cs[i].Score}
	}
	return hits
}

// fuseAll ranks, for each question, all candidates that legs of this depth find.
func (r fusedRetriever) fuseAll(ctx context.Context, questions []Question, depth int) ([][]fusion.Candidate, error) {
	all, err := r.gather(ctx, questions, depth)
	if err != nil {
		return nil, err
	}
	return all, parallel.Each(ctx, len(all), func(i int) error { return r.rank(all[i], questions[i].Output.Tokens.Unknown()) })
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
