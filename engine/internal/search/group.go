package search

import (
	"context"
	"slices"
	"sort"

	"github.com/lexsem/lexsem/engine/fusion"
	"github.com/lexsem/lexsem/internal/chunk"
	"github.com/lexsem/lexsem/internal/inverted"
	"github.com/lexsem/lexsem/internal/metadata"
	"github.com/lexsem/lexsem/internal/relevance"
	"github.com/lexsem/lexsem/internal/text"
)

// Found is one hit before its document is read.
type Found struct {
	fusion.Candidate
	Probability float64
	evidence    relevance.Evidence
	Duplicates  []uint64 // ordinals of the documents that were folded into it
}

// near is the minimum share of word pairs that near-duplicates have in common (Jaccard's coefficient of the
// sets; Broder's resemblance of shingles of two). One different word in fifty gives 0.92.
const near = 0.8

// Rank runs the retrievers and makes hits of their candidates: the best chunk of each document, or every
// chunk if the query asks for it, and only the best of near-duplicates if the query asks for that. As there
// are then fewer hits than candidates, it searches deeper until there are enough or no more candidates. It
// leaves out the hits that the query's Offset skips. It refuses a page beyond the candidate pool of the
// earlier pages, since a larger pool may have another order.
func (r *Run) Rank(ctx context.Context) ([]Found, error) {
	if r.fields.sort == nil {
		hits, err := r.rank(ctx)
		return hits[min(r.Q.Offset, len(hits)):], err
	}
	end := r.Plan.K
	r.Plan.K, r.Plan.Depth = r.pool(), minDepth // the same for all pages
	if r.Q.Offset > 0 && end > r.Plan.K {
		return nil, BeyondPages(r.Q.Offset, end-r.Q.Offset, r.Plan.K)
	}
	hits, err := r.rank(ctx)
	if err == nil {
		err = r.sorted(ctx, hits)
	}
	end = min(end, len(hits))
	return hits[min(r.Q.Offset, end):end], err
}

// rank is Rank without sorting and without the query's Offset.
func (r *Run) rank(ctx context.Context) ([]Found, error) {
	page := r.Q.Offset > 0 && r.Plan.pooled() && r.fields.sort == nil
	depth := r.Plan.Depth
	if page {
		depth = minDepth
	}
	for ; ; depth *= 4 {
		cs, all, err := r.Candidates(ctx, depth)
		if err != nil {
			return nil, err
		}
		good := r.good(cs)
		hits, err := r.group(ctx, good)
		if err != nil {
			return nil, err
		}
		if len(hits) == 0 && (all || depth >= r.chunks) && r.meeting != nil && r.unquote() {
			depth = r.Plan.Depth / 4
			continue
		}
		enough := len(hits) == r.Plan.K || len(good) < len(cs) || r.complete(hits)
		if all = all || depth >= r.chunks; page && !all && (!enough || r.Plan.K > PageEnd) {
			return nil, BeyondPages(r.Q.Offset, r.Plan.K-r.Q.Offset, min(len(hits), PageEnd))
		}
		if enough || all || r.fields.group != "" && depth >= maxGrouped {
			return hits, nil
		}
	}
}

// complete says that hits are all documents that there are: deeper there are only more chunks of them.
func (r *Run) complete(hits []Found) bool {
	return !r.Q.PerChunk && r.S != nil && len(hits) > 0 && len(hits) == r.Facts.Filtered
}

// shareWords says that some candidate has a word of the query.
func shareWords(cs []fusion.Candidate) bool {
	return slices.ContainsFunc(cs, func(c fusion.Candidate) bool { return c.Presence > 0 })
}

// found is a hit with its probability to be relevant, 0 where it is not known: for a query without a text or with a vector of its
// own, for models to which the constants were not fitted or whose cosines are unknown, and while a better hit
// may have no vector yet.
// Words that no candidate has, such as those of another language, say nothing beside a vector.
func (r *Run) found(c fusion.Candidate, shared bool) Found {
	f := Found{Candidate: c}
	dense, lexical := r.Plan.Dense, r.Plan.Lexical
	lexical = lexical && (shared || !dense)
	if r.Plan.Listed || r.Q.Image != nil || dense && (r.Q.Vector != nil || r.Unrelated == 0 || !relevance.Fitted(r.Model) || r.deferred()) {
		return f
	}
	f.evidence = relevance.Evidence{Dense: dense, Lexical: lexical, Cosine: c.Dense, Unrelated: r.Unrelated, Presence: c.Presence, Unknown: r.Facts.Unknown}
	f.Probability = relevance.Probability(f.evidence)
	return f
}

// likely is the probability of a hit whose text is known. Of words that stand in the name and the fields of its file alone, its
// vector knows nothing.
func (f Found) likely(r *Run, p Passage) float64 {
	if slices.Contains(r.asked, f.Ord) && f.Probability > 0 { // whatever is in it
		f.evidence.Presence, f.evidence.Unknown = 1, 1
		return relevance.Probability(f.evidence)
	}
	const long = 64 << 10 // its analysis might outlast the context
	if f.Probability == 0 || f.Presence == 0 || len(p.Text) > long {
		return f.Probability
	}
	name, more := metadata.WordsOf(p.Metadata)
	if p.Chunk > 0 {
		more = name // of a document without a title, as chunk.WithFileWords has it
	}
	if name == "" || p.Chunk > 0 && chunk.TitleEnd(p.Title) > 0 {
		return f.Probability
	}
	of, own := r.Analyse(more), []text.Term(nil)
	n, alone := 0, 0
	for _, t := range r.Terms {
		if t.Beside {
			continue
		}
		has := func(o text.Term) bool { return o.Text == t.Text }
		if n++; !slices.ContainsFunc(of, has) {
			continue
		}
		if own == nil {
			own = r.Analyse(chunk.Passage(p.Title, p.Text))
		}
		if !slices.ContainsFunc(own, has) {
			alone++
		}
	}
	if alone == 0 {
		return f.Probability
	}
	f.evidence.Unknown = max(f.evidence.Unknown, float64(alone)/float64(n))
	return relevance.Probability(f.evidence)
}

// good returns the ranked candidates that have at least the requested score.
func (r *Run) good(cs []fusion.Candidate) []fusion.Candidate {
	least := r.Q.MinScore
	if least == 0 {
		return cs
	}
	return cs[:sort.Search(len(cs), func(i int) bool { return float32(cs[i].Score) < least })]
}

// group makes at most K hits of ranked candidates.
func (r *Run) group(ctx context.Context, cs []fusion.Candidate) ([]Found, error) {
	k := r.Plan.K
	hits := make([]Found, 0, min(k, len(cs)))
	documents := make(map[uint64]struct{}, k)
	var folds *inverted.Folds
	folded := map[uint64]struct{}{} // documents that are named as duplicates of some hit
	if r.Q.Collapse {
		folds = inverted.NewFolds(near)
	}
	var pairs []uint64
	groups, err := r.groups(ctx, cs)
	if err != nil {
		return nil, err
	}
	shared := shareWords(cs)
	for i, c := range cs {
		if (r.Q.Collapse || i%scored == 0) && ctx.Err() != nil {
			return nil, ctx.Err()
		}
		ord := chunk.Ord(c.Ord)
		if _, again := documents[ord]; again && !r.Q.PerChunk {
			continue
		}
		if r.Q.Collapse {
			var err error
			if pairs, err = r.lexicon.PairNumbers(pairs[:0], c.Ord); err != nil {
				return nil, err
			}
			if i, ok := folds.Find(pairs); ok {
				documents[ord] = struct{}{}
				h := &hits[i]
				if _, named := folded[ord]; chunk.Ord(h.Ord) != ord && !(named && contains(h.Duplicates, ord)) {
					h.Duplicates = append(h.Duplicates, ord)
					folded[ord] = struct{}{}
				}
				continue
			}
		}
		if len(hits) == k {
			if r.Q.Collapse { // later ones may still be duplicates of these
				continue
			}
			break
		}
		documents[ord] = struct{}{}
		if full, err := groups.full(c); err != nil {
			return nil, err
		} else if full {
			continue
		}
		if r.Q.Collapse {
			folds.Add(pairs)
			pairs = nil // it is kept
		}
		hits = append(hits, r.found(c, shared))
	}
	return hits, nil
}

func contains(ords []uint64, ord uint64) bool {
	for _, o := range slices.Backward(ords) { // most were named just before
		if o == ord {
			return true
		}
	}
	return false
}
