package bench

import (
	"cmp"
	"slices"
)

// Ranked is one passage of an answer; a higher score is better.
type Ranked struct {
	ID    string
	Score float64
}

// Rankings are the answers of one system: query id → passages, best first.
// A query without an entry was answered with nothing.
type Rankings map[string][]Ranked

// Rank sorts hits by falling score, ties by rising passage id, so that every
// system breaks ties alike. A score that is not a number comes last.
func Rank(hits []Ranked) {
	slices.SortFunc(hits, func(a, b Ranked) int {
		// cmp.Compare puts NaN below every number.
		if c := cmp.Compare(b.Score, a.Score); c != 0 {
			return c
		}
		return cmp.Compare(a.ID, b.ID)
	})
}
