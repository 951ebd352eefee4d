package search

import (
	"context"

	"github.com/lexsem/lexsem/engine/fusion"
)

// While some chunks have no vector yet, a hybrid search ranks them together with those that have one. Their cosine and
// scores of tokens and impacts are predicted from their words, by a regression on term recall over the candidates of the lexical
// retriever that have vectors. With a cosine of 0, all of them would rank after the first encoded documents. In a large
// folder none of these candidates has a vector for a long time; then the usual lines serve.

// line is a quantity that is a linear function of term recall.
type line struct{ at, slope float64 }

// usual are the lines of cosine and token score over the candidates of the queries that files.go names, on the scale where
// unrelated texts have 0. They are two more candidates of each regression, at recall 0 and 1, of usualWeight each. While
// the first 3 % of the files have vectors, nDCG@10 of the queries is .852 with them and .823 without; weights of 1 and 4
// are no better while 30 or 60 % have vectors.
var usual = [2]line{{at: 0.2, slope: 0.1}, {at: 0.32, slope: 0.3}}

const usualWeight = 0.25

// deferred reports whether some chunks of the state have no vector yet.
func (r *Run) deferred() bool { return r.S != nil && r.S.Encoded() < r.S.Chunks() }

// score gives candidates the score of the dense retriever, and marks those without a vector.
func (r *Run) score(ctx context.Context, cs []fusion.Candidate) error {
	n := len(cs)
	if r.deferred() {
		n = 0
		for i := range cs { // those with a vector to the front
			if cs[i].Waiting = !r.S.Vectors.Has(cs[i].Ord); !cs[i].Waiting {
				cs[i], cs[n] = cs[n], cs[i]
				n++
			}
		}
	}
	return r.dense.score(ctx, cs[:n])
}

// learn fits the regression lines of a query to scored candidates; named are those that the lexical retriever
// found.
func (r *Run) learn(named, cs []fusion.Candidate) {
	if !r.deferred() {
		return
	}
	words := make(map[uint64]struct{}, len(named))
	for _, c := range named {
		words[c.Ord] = struct{}{}
	}
	n, x, xx := 2*usualWeight, usualWeight, usualWeight
	var y, xy [3]float64 // of impacts, unrelated texts have 0 and no usual line
	for i, u := range usual {
		at, slope := r.Unrelated+(1-r.Unrelated)*u.at, (1-r.Unrelated)*u.slope
		y[i], xy[i] = usualWeight*(2*at+slope), usualWeight*(at+slope)
	}
	for _, c := range cs {
		if _, ok := words[c.Ord]; !ok || c.Waiting {
			continue
		}
		n, x, xx = n+1, x+c.Presence, xx+c.Presence*c.Presence
		for i, v := range [3]float64{c.Dense, c.Tokens, c.Sparse} {
			y[i], xy[i] = y[i]+v, xy[i]+v*c.Presence
		}
	}
	for i := range r.foretold {
		slope := max(0, (xy[i]-x*y[i]/n)/(xx-x*x/n))
		r.foretold[i] = line{y[i]/n - slope*x/n, slope}
	}
}

// foretell gives candidates without vectors the predicted scores.
func (r *Run) foretell(cs []fusion.Candidate) {
	for i := range cs {
		c := &cs[i]
		if !c.Waiting {
			continue
		}
		c.Dense = r.foretold[0].at + r.foretold[0].slope*c.Presence
		if r.late != nil {
			c.Tokens = r.foretold[1].at + r.foretold[1].slope*c.Presence
		}
		if len(r.impacts) > 0 {
			c.Sparse = r.foretold[2].at + r.foretold[2].slope*c.Presence
		}
	}
}
