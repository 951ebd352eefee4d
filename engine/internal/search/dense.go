package search

import (
	"context"

	"github.com/lexsem/lexsem/engine/fusion"
	"github.com/lexsem/lexsem/engine/internal/state"
	"github.com/lexsem/lexsem/index"
)

// leg is the dense retriever of one prepared query.
type leg interface {
	// nearest returns the k best chunks that met the filter, if any, best first,
	// with Dense and Score set. ef is read by approximate indexes.
	nearest(ctx context.Context, k, ef int, f filtered) ([]fusion.Candidate, error)
	// score sets Dense of each candidate.
	score(ctx context.Context, cs []fusion.Candidate) error
	// vectorFor is the vector that a chunk's Dense compares it with; score
	// has been asked for the chunk.
	vectorFor(id uint64) []float32
}

// oneVector is the dense retriever of a query with one vector for all documents.
type oneVector struct {
	s      *state.State
	vector []float32
}

func (l oneVector) nearest(ctx context.Context, k, ef int, f filtered) ([]fusion.Candidate, error) {
	near, err := l.s.Vectors.Search(make([]index.Neighbor, 0, min(k, l.s.Chunks())), l.vector,
		index.SearchOptions{K: k, Ef: ef, Allow: f.allow, Among: f.among, Allowed: f.chunks, Visible: l.s.Sees, Ctx: ctx})
	if err != nil {
		return nil, err
	}
	cs := make([]fusion.Candidate, len(near))
	for i, n := range near {
		score := l.s.Metric.Score(n.Distance)
		cs[i] = fusion.Candidate{Ord: n.ID, Dense: score, Score: score}
	}
	return cs, nil
}

// scored is the number of candidates scored between two looks at the context.
const scored = 256

func (l oneVector) score(ctx context.Context, cs []fusion.Candidate) error {
	ids, distance := make([]uint64, 0, scored), make([]float32, scored)
	for len(cs) > 0 {
		if err := ctx.Err(); err != nil {
			return err
		}
		n := min(scored, len(cs))
		ids = ids[:0]
		for _, c := range cs[:n] {
			ids = append(ids, c.Ord)
		}
		if err := l.s.Vectors.Scores(distance[:n], l.vector, ids); err != nil {
			return err
		}
		for i, d := range distance[:n] {
			cs[i].Dense = l.s.Metric.Score(d)
		}
		cs = cs[n:]
	}
	return nil
}

func (l oneVector) vectorFor(uint64) []float32 { return l.vector }
