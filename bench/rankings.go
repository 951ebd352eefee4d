package bench

import (
	"cmp"
	"slices"
)

// Ranked is one passage of a ranking. A higher score is better.
type Ranked struct {
	ID          string
	Score       float64
	Probability float64 // engine.Hit.Probability; 0 where there is none
}

// Rankings are the results of one system: query id → passages, best first. A query without an entry
// has no hits.
type Rankings map[string][]Ranked

// Rank sorts hits by falling score, and ties by falling passage id, as trec_eval does when it reads a
// run. NaN comes last.
func Rank(hits []Ranked) {
	slices.SortFunc(hits, func(a, b Ranked) int {
		// cmp.Compare puts NaN below every number.
		if c := cmp.Compare(b.Score, a.Score); c != 0 {
			return c
		}
		return cmp.Compare(b.ID, a.ID)
	})
}
