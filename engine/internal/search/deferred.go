package search

import (
	"context"

	"github.com/lexsem/lexsem/engine/fusion"
)

// While some chunks have no vector yet, a hybrid search ranks them together with those that have one. Their cosine and
// their scores of tokens and impacts are predicted from their words, by a regression on term recall over the candidates of the lexical
// retriever that have vectors. With a cosine of 0, all of them would rank after the first encoded documents.

// line is a quantity that is a linear function of term recall.
type line struct{ at, slope float64 }

// flat is the ridge of the regression: with few candidates it reduces the slope.
const flat = 0.1

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
	var n, x, xx float64
	var y, xy [3]float64
	for _, c := range cs {
		if _, ok := words[c.Ord]; !ok || c.Waiting {
			continue
		}
		n, x, xx = n+1, x+c.Presence, xx+c.Presence*c.Presence
		for i, v := range [3]float64{c.Dense, c.Tokens, c.Sparse} {
			y[i], xy[i] = y[i]+v, xy[i]+v*c.Presence
		}
	}
	r.foretold = [3]line{{at: r.Unrelated}, {at: r.Unrelated}}
	if n == 0 {
		return
	}
	for i := range r.foretold {
		slope := max(0, (xy[i]-x*y[i]/n)/(xx-x*x/n+flat))
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
