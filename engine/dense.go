package engine

import (
	"github.com/lexsem/lexsem/index"

	"github.com/lexsem/lexsem/engine/fusion"
)

// denseLeg is the dense side of one query, ready to be asked. Whoever asks
// holds Engine.mu.
type denseLeg interface {
	// nearest returns the k best documents that allow lets through, best first,
	// with Dense and Score set. ef is read by approximate indexes.
	nearest(k, ef int, allow func(uint64) bool) ([]fusion.Candidate, error)
	// score sets Dense of each candidate.
	score(cs []fusion.Candidate) error
	// vectorFor is the vector that a chunk's Dense is the inner product with; score
	// has been asked for the chunk.
	vectorFor(id uint64) []float32
}

// oneVector is the dense leg of a query that has one vector for all documents.
type oneVector struct {
	index  index.Index
	vector []float32
	mask   *mask
}

func (l oneVector) nearest(k, ef int, allow func(uint64) bool) ([]fusion.Candidate, error) {
	near, err := l.index.Search(make([]index.Neighbor, 0, min(k, l.index.Len())), l.vector, index.SearchOptions{K: k, Ef: ef, Allow: l.mask.over(allow)})
	if err != nil {
		return nil, err
	}
	cs := make([]fusion.Candidate, len(near))
	for i, n := range near {
		score := 1 - float64(n.Distance)
		cs[i] = fusion.Candidate{Ord: n.ID, Dense: score, Score: score}
	}
	return cs, nil
}

func (l oneVector) score(cs []fusion.Candidate) error {
	ords, distance := make([]uint64, len(cs)), make([]float32, len(cs))
	for i, c := range cs {
		ords[i] = c.Ord
	}
	if err := l.index.Scores(distance, l.vector, ords); err != nil {
		return err
	}
	for i, d := range distance {
		cs[i].Dense = 1 - float64(d)
	}
	return nil
}

func (l oneVector) vectorFor(uint64) []float32 { return l.vector }
