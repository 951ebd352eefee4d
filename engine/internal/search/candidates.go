package search

import (
	"context"

	"github.com/lexsem/lexsem/engine/fusion"
	"github.com/lexsem/lexsem/internal/chunk"
	"github.com/lexsem/lexsem/internal/inverted"
	"github.com/lexsem/lexsem/internal/text"
)

// Candidates runs both retrievers in parallel to a depth, and returns their candidates, ranked, with the
// scores of both. all reports that there are no other candidates. Each retriever also computes the word
// matches of its candidates. The step "lexical" is the time by which that retriever took longer than the
// dense one.
func (r *Run) Candidates(ctx context.Context, depth int) (cs []fusion.Candidate, all bool, err error) {
	if r.Plan.Listed {
		cs, all, err = r.listed(ctx, depth)
	} else if cs, all, err = r.candidates(ctx, depth); err == nil && r.meeting != nil {
		cs, err = r.meeting(ctx, cs)
	}
	if err == nil {
		err = r.boost(ctx, cs)
	}
	if err == nil {
		cs, err = r.certain(ctx, cs)
	}
	return cs, all, err
}

func (r *Run) candidates(ctx context.Context, depth int) (cs []fusion.Candidate, all bool, err error) {
	switch {
	case r.dense == nil:
		return r.byWords(ctx, depth)
	case !r.Plan.Lexical:
		return r.byVector(ctx, depth)
	}
	return r.byBoth(ctx, depth)
}

// byWords returns the candidates of the lexical leg alone.
func (r *Run) byWords(ctx context.Context, depth int) ([]fusion.Candidate, bool, error) {
	if len(r.exacts()) > 0 { // whichever hits are asked for, certain decides by the same
		depth = max(depth, minDepth)
	}
	cs, err := r.words(ctx, depth)
	if err != nil {
		return nil, false, err
	}
	all := len(cs) < depth
	r.step("lexical")
	more, err := r.favoured(ctx, cs)
	if err == nil {
		err = r.match(ctx, more)
	}
	for _, c := range more {
		if c.BM25 > 0 {
			c.Score = fusion.Lexical(c)
			cs = append(cs, c)
		}
	}
	return cs, all, err
}

// byVector returns the candidates of the dense leg alone.
func (r *Run) byVector(ctx context.Context, depth int) ([]fusion.Candidate, bool, error) {
	cs, err := r.dense.nearest(ctx, depth, r.Q.Ef, r.filter)
	if err != nil {
		return nil, false, err
	}
	all := len(cs) < depth
	r.step("dense")
	more, err := r.favoured(ctx, cs)
	if err == nil {
		err = r.score(ctx, more)
	}
	if err != nil {
		return nil, false, err
	}
	for _, c := range more {
		if c.Score = c.Dense; !c.Waiting {
			cs = append(cs, c)
		}
	}
	return cs, all, r.rescore(ctx, cs)
}

// byBoth returns the fused candidates of both legs.
func (r *Run) byBoth(ctx context.Context, depth int) ([]fusion.Candidate, bool, error) {
	words := beside(func() ([]fusion.Candidate, error) { return r.words(ctx, depth) })
	defer words() // it reads the state, which is the caller's no longer than this call
	cs, err := r.dense.nearest(ctx, depth, r.Q.Ef, r.filter)
	if err != nil {
		return nil, false, err
	}
	all := len(cs) < depth
	if err := r.match(ctx, cs); err != nil {
		return nil, false, err
	}
	r.step("dense")
	best, err := words()
	if err != nil {
		return nil, false, err
	}
	r.step("lexical")
	if r.deferred() { // the dense leg does not name all that there is
		all = all && len(best) < depth
	}
	known := make(map[uint64]struct{}, len(cs))
	for _, c := range cs {
		known[c.Ord] = struct{}{}
	}
	for _, b := range best {
		if !has(known, b.Ord) {
			cs, known[b.Ord] = append(cs, b), struct{}{}
		}
	}
	weighed, err := r.byImpacts(ctx, depth, known)
	if err != nil {
		return nil, false, err
	}
	cs = append(cs, weighed...)
	more, err := r.favoured(ctx, cs)
	if err != nil {
		return nil, false, err
	}
	cs = append(cs, more...)
	defining, err := r.defining(ctx, cs)
	if err != nil {
		return nil, false, err
	}
	cs = append(cs, defining...)
	if err := r.match(ctx, cs[len(cs)-len(more)-len(defining):]); err != nil {
		return nil, false, err
	}
	if err := r.score(ctx, cs); err != nil {
		return nil, false, err
	}
	if err := r.fuse(ctx, cs, best); err != nil {
		return nil, false, err
	}
	r.step("fuse")
	return cs, all, r.byFiles(ctx, cs, true)
}

// fuse ranks candidates that have the scores of both retrievers. From best, if not nil, it learns the cosines of chunks
// without vectors.
func (r *Run) fuse(ctx context.Context, cs, best []fusion.Candidate) error {
	if err := r.matchTokens(ctx, cs); err != nil {
		return err
	}
	if err := r.matchImpacts(ctx, cs); err != nil {
		return err
	}
	if best != nil {
		r.learn(best, cs)
	}
	r.foretell(cs)
	return r.Plan.Fusion.FuseAround(cs, neighbours, func(dst []float64, of []inverted.Neighbours) error {
		return r.lexicon.Around(ctx, dst, r.Terms, of)
	})
}

// neighbours are a chunk and the ones before and after it.
func neighbours(id uint64) inverted.Neighbours {
	ord, n := chunk.Ord(id), chunk.Number(id)
	return inverted.Neighbours{id, chunk.ID(ord, n+1), chunk.ID(ord, max(n, 1)-1)}
}

// lexicon holds the words of the searched chunks: *inverted.Words, or a Corpus.
type lexicon interface {
	SearchMatches(ctx context.Context, terms []text.Term, k int, allow func(id uint64) bool) ([]uint64, []inverted.Match, error)
	Match(ctx context.Context, dst []inverted.Match, terms []text.Term, ids []uint64) error
	Around(ctx context.Context, dst []float64, terms []text.Term, of []inverted.Neighbours) error
	PairNumbers(dst []uint64, id uint64) ([]uint64, error)
}

// words returns the candidates of the lexical retriever with their scores, best first.
func (r *Run) words(ctx context.Context, depth int) ([]fusion.Candidate, error) {
	ids, matches, err := r.lexicon.SearchMatches(ctx, r.Terms, depth, r.filter.allow)
	cs := make([]fusion.Candidate, len(ids))
	for i, m := range matches {
		cs[i] = fusion.Candidate{Ord: ids[i], Match: m}
		cs[i].Score = fusion.Lexical(cs[i])
	}
	return cs, err
}

// beside starts f in a goroutine, and returns a function that waits for its result.
func beside[T any](f func() (T, error)) func() (T, error) {
	var v T
	var err error
	done := make(chan struct{})
	go func() {
		defer close(done)
		v, err = f()
	}()
	return func() (T, error) {
		<-done
		return v, err
	}
}

// order gives candidates the scores of both retrievers, and ranks them by the one that the plan chose.
func (r *Run) order(ctx context.Context, cs []fusion.Candidate) error {
	if len(cs) == 0 {
		return nil
	}
	if r.Plan.Listed {
		for i := range cs {
			cs[i].Score = r.unranked()
		}
		return nil
	}
	if r.dense != nil {
		if err := r.score(ctx, cs); err != nil {
			return err
		}
	}
	if r.Plan.Lexical {
		if err := r.match(ctx, cs); err != nil {
			return err
		}
	}
	if r.dense != nil && r.Plan.Lexical {
		if err := r.fuse(ctx, cs, nil); err != nil {
			return err
		}
		return r.byFiles(ctx, cs, false)
	}
	if r.late != nil {
		return r.rescore(ctx, cs)
	}
	by := fusion.Dense
	if r.Plan.Lexical {
		by = fusion.Lexical
	}
	for i := range cs {
		cs[i].Score = by(cs[i])
	}
	fusion.Sort(cs, by)
	return nil
}

// match gives every candidate its lexical scores: a candidate that only the dense retriever found has true
// scores, not zero.
func (r *Run) match(ctx context.Context, cs []fusion.Candidate) error {
	ids := make([]uint64, len(cs))
	for i, c := range cs {
		ids[i] = c.Ord
	}
	matches := make([]inverted.Match, len(cs))
	if err := r.lexicon.Match(ctx, matches, r.Terms, ids); err != nil {
		return err
	}
	for i, m := range matches {
		cs[i].Match = m
	}
	return nil
}
