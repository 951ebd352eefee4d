package engine

import (
	"slices"

	"github.com/lexsem/lexsem/engine/fusion"
	"github.com/lexsem/lexsem/engine/internal/chunk"
)

// found is one hit before its document is read.
type found struct {
	fusion.Candidate
	duplicates []uint64 // ordinals of the documents that were folded into it
}

// near is the least share of their word pairs that near-duplicates have in
// common (Jaccard's coefficient of the sets; Broder's resemblance of shingles
// of two). One other word among fifty leaves 0.92.
const near = 0.8

// rank runs the legs and makes hits of their candidates: the best chunk of each
// document unless the query asks for every chunk, and of near-duplicates the
// best one where it asks for that. As that leaves fewer hits than candidates, it
// looks deeper until there are enough or nothing is left.
func (s *search) rank() ([]found, error) {
	for depth := s.plan.depth; ; depth *= 4 {
		cs, all, err := s.candidates(depth)
		if err != nil {
			return nil, err
		}
		hits := s.e.group(cs, s.plan.k, s.q)
		if len(hits) == s.plan.k || all || depth >= s.e.vectors.Len() {
			return hits, nil
		}
	}
}

// group makes at most k hits of ranked candidates.
func (e *Engine) group(cs []fusion.Candidate, k int, q Query) []found {
	hits := make([]found, 0, min(k, len(cs)))
	documents := make(map[uint64]struct{}, k)
	var pairs [][]uint64 // of the hits
	for _, c := range cs {
		if !q.PerChunk {
			if _, again := documents[chunk.Ord(c.Ord)]; again {
				continue
			}
		}
		if q.Collapse {
			these := e.words.PairNumbers(nil, c.Ord)
			if i := slices.IndexFunc(pairs, func(p []uint64) bool { return resemblance(p, these) >= near }); i >= 0 {
				documents[chunk.Ord(c.Ord)] = struct{}{}
				if h := &hits[i]; chunk.Ord(h.Ord) != chunk.Ord(c.Ord) && !slices.Contains(h.duplicates, chunk.Ord(c.Ord)) {
					h.duplicates = append(h.duplicates, chunk.Ord(c.Ord))
				}
				continue
			}
			if len(hits) < k {
				pairs = append(pairs, these)
			}
		}
		if len(hits) == k {
			if q.Collapse { // later ones may still be duplicates of these
				continue
			}
			break
		}
		documents[chunk.Ord(c.Ord)] = struct{}{}
		hits = append(hits, found{Candidate: c})
	}
	return hits
}

// resemblance is Jaccard's coefficient of two ascending sets; 0 for empty ones.
func resemblance(a, b []uint64) float64 {
	both := 0
	for i, j := 0, 0; i < len(a) && j < len(b); {
		switch {
		case a[i] == b[j]:
			both++
			i++
			j++
		case a[i] < b[j]:
			i++
		default:
			j++
		}
	}
	if both == 0 {
		return 0
	}
	return float64(both) / float64(len(a)+len(b)-both)
}
