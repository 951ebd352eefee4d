package bench

import (
	"context"

	"github.com/lexsem/lexsem/encoder"
	"github.com/lexsem/lexsem/engine/fusion"
	"github.com/lexsem/lexsem/internal/bench/vectors"
)

// Feedback searches twice: the query vector is moved towards the first hit of the hybrid, modulated as
// usual, and searched by the hybrid again.
var _ = registerFused("feedback", "rlr", "hybrid, asked again with 0.8 of the query and 0.2 of its first answer", func(s *Setting, r fusedRetriever) Retriever {
	r.rank = func(cs []fusion.Candidate, unknown float64) error {
		return fusion.Options{Unknown: unknown}.Calibrate(s.unrelated).Fuse(cs)
	}
	r.scale = fusion.Scale(s.unrelated)
	return feedbackRetriever{r, s.Passages}
})

// feedbackShare is the first answer's share of the vector that asks again.
const feedbackShare = 0.2

type feedbackRetriever struct {
	fusedRetriever
	passages []encoder.Output
}

// Retrieve implements Retriever. It costs two hybrid searches.
func (r feedbackRetriever) Retrieve(ctx context.Context, questions []Question, k int) ([][]Hit, error) {
	again, err := r.drawn(ctx, questions)
	if err != nil {
		return nil, err
	}
	return r.fusedRetriever.Retrieve(ctx, again, k)
}

// candidates implements candidateRetriever: those of the second search.
func (r feedbackRetriever) candidates(ctx context.Context, questions []Question, depth int) ([][]fusion.Candidate, error) {
	again, err := r.drawn(ctx, questions)
	if err != nil {
		return nil, err
	}
	return r.fusedRetriever.candidates(ctx, again, depth)
}

// drawn returns the questions with their vectors for the second search.
func (r feedbackRetriever) drawn(ctx context.Context, questions []Question) ([]Question, error) {
	first, err := r.fusedRetriever.Retrieve(ctx, questions, 1)
	if err != nil {
		return nil, err
	}
	again := make([]Question, len(questions))
	for i, q := range questions {
		again[i] = q
		if len(first[i]) == 0 {
			continue
		}
		again[i].Output.Dense = drawn(q.Output.Dense, r.passages[first[i][0].Target].Dense)
	}
	return again, nil
}

// drawn is the direction of 0.8 q + 0.2 p, or q if the two cancel out.
func drawn(q, p []float32) []float32 {
	out := make([]float32, len(q))
	for j, x := range p {
		out[j] = (1-feedbackShare)*q[j] + feedbackShare*x
	}
	if !vectors.Normalize(out) {
		return q
	}
	return out
}
