package search

import (
	"context"

	"github.com/lexsem/lexsem/engine/fusion"
	"github.com/lexsem/lexsem/internal/value"
	"github.com/lexsem/lexsem/modulate"
)

// Corpus answers the requests of one query to chunks in another engine; it includes the
// filter of the query. Both retrievers use it concurrently. Its ids have the order and
// structure of chunk ids (package chunk).
type Corpus interface {
	// Nearest returns the k best chunks by the cosine with vector, best first, with Dense
	// and Score set.
	Nearest(ctx context.Context, vector []float32, k int) ([]fusion.Candidate, error)
	// Cosines sets Dense of chunks that either leg has named, or Place.
	Cosines(ctx context.Context, vector []float32, cs []fusion.Candidate) error
	// Meeting returns the candidates with a chunk that meets all clauses.
	Meeting(ctx context.Context, cs []fusion.Candidate, clauses []Clause) ([]fusion.Candidate, error)
	// Values reads the values at a path of the metadata of candidates' documents, each time it is called: of calls do with
	// each value of a document.
	Values(ctx context.Context, path string, cs []fusion.Candidate) (of func(ord uint64, do func(k value.Kind, text []byte)) error, err error)
	lexicon
}

// Over prepares the retrievers of a query over chunks in another engine, and modulates
// with the available bridges. chunks is the number of chunks.
func (r *Run) Over(ctx context.Context, c Corpus, chunks int, o modulate.RLROptions, step func(string)) error {
	r.set(ctx, o, step)
	r.lexicon, r.chunks = c, chunks
	r.fields.values = c.Values
	if len(r.Clauses) > 0 {
		r.meeting = func(ctx context.Context, cs []fusion.Candidate) ([]fusion.Candidate, error) {
			return c.Meeting(ctx, cs, r.Clauses)
		}
		r.chunks = min(chunks, MaxK) // there is no filter that looks for them
	}
	r.Plan.Tokens, r.Plan.Fusion.Tokens = false, -1
	if !r.Plan.Dense {
		return nil
	}
	vector, err := r.modulate(r.Plan.Way)
	if err != nil {
		return err
	}
	r.dense = elsewhere{c, vector}
	step("modulate")
	return nil
}

// elsewhere is the dense leg over a Corpus.
type elsewhere struct {
	c      Corpus
	vector []float32
}

func (l elsewhere) nearest(ctx context.Context, k, _ int, _ filtered) ([]fusion.Candidate, error) {
	return l.c.Nearest(ctx, l.vector, k)
}

func (l elsewhere) score(ctx context.Context, cs []fusion.Candidate) error {
	return l.c.Cosines(ctx, l.vector, cs)
}

func (l elsewhere) vectorFor(uint64) []float32 { return l.vector }
