package search

import (
	"github.com/lexsem/lexsem/engine/internal/state"
	"github.com/lexsem/lexsem/internal/chunk"
)

// filtered holds the documents that pass a query's filter, in the form of index.SearchOptions. The zero value
// means no filter.
type filtered struct {
	allow  func(id uint64) bool
	among  func(yield func(id uint64) bool)
	chunks int
}

// matches are the documents that met a filter, by ordinal.
type matches interface {
	Allow(ord uint64) bool
	All(yield func(ord uint64) bool)
	Len() int
}

func newFiltered(s *state.State, m matches) filtered {
	one := s.Chunks() == s.View.Len() // of each document
	return filtered{
		allow: func(id uint64) bool { return m.Allow(chunk.Ord(id)) },
		among: func(yield func(id uint64) bool) {
			m.All(func(ord uint64) bool {
				if !yield(chunk.ID(ord, 0)) {
					return false
				}
				for n := 1; !one && s.Vectors.Has(chunk.ID(ord, n)); n++ {
					if !yield(chunk.ID(ord, n)) {
						return false
					}
				}
				return true
			})
		},
		chunks: chunksOf(s, m.Len()),
	}
}

// chunksOf estimates the number of chunks of docs documents, from the average of all.
func chunksOf(s *state.State, docs int) int {
	if all := s.View.Len(); all > 0 && all < s.Chunks() {
		return docs * s.Chunks() / all
	}
	return docs
}
