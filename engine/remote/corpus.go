package remote

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/lexsem/lexsem/engine"
	"github.com/lexsem/lexsem/engine/fusion"
	"github.com/lexsem/lexsem/engine/internal/search"
	"github.com/lexsem/lexsem/internal/chunk"
	"github.com/lexsem/lexsem/internal/fault"
	"github.com/lexsem/lexsem/internal/inverted"
	"github.com/lexsem/lexsem/internal/metadata"
	"github.com/lexsem/lexsem/internal/text"
	"github.com/lexsem/lexsem/internal/value"
)

// corpus answers one query's requests to a Backend; both retrievers use it concurrently.
type corpus struct {
	b       Backend
	f       engine.Filter
	asked   []text.Term
	analyse func(string) []text.Term
	parts   bool // there are more passages than documents

	mu     sync.Mutex // guards what is below
	scorer *inverted.Scorer
	pairs  inverted.Pairs
	ids    map[uint64]PassageID
	seen   map[uint64]seen
	meta   map[uint64]map[string]any // of documents, by ordinal: those that Values has fetched
}

// seen holds what is known about a passage.
type seen struct {
	terms  string
	cosine float64
	dense  bool // cosine is known
}

var _ search.Corpus = (*corpus)(nil)

// see records a candidate, and returns its id in this search: a chunk id with an ordinal derived from the
// document's id. The caller holds mu, or is the only user.
func (c *corpus) see(p Candidate, dense bool) uint64 {
	ord := ordinalOf(p.ID)
	for {
		if other, ok := c.ids[chunk.ID(ord, 0)]; ok && other.ID != p.ID {
			ord = (ord + 1) & ordinals // two ids of one ordinal
			continue
		}
		break
	}
	id := chunk.ID(ord, p.Chunk)
	if p.Chunk > 0 { // the document keeps its ordinal
		c.ids[chunk.ID(ord, 0)] = PassageID{ID: p.ID}
	}
	c.ids[id] = p.PassageID
	s := c.seen[id]
	s.terms = p.Terms
	if dense {
		s.cosine, s.dense = p.Cosine, true
	}
	c.seen[id] = s
	return id
}

// document is the id of the document of an ordinal.
func (c *corpus) document(ord uint64) string { return c.ids[chunk.ID(ord, 0)].ID }

const ordinals = 1<<44 - 1

// ordinalOf is a number that depends only on the id.
func ordinalOf(id string) uint64 {
	h := uint64(14695981039346656037)
	for i := range len(id) {
		h = (h ^ uint64(id[i])) * 1099511628211
	}
	return (h ^ h>>44) & ordinals
}

func (c *corpus) Nearest(ctx context.Context, vector []float32, k int) ([]fusion.Candidate, error) {
	named, err := c.b.Nearest(ctx, vector, k, c.f)
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	cs := make([]fusion.Candidate, len(named))
	for i, p := range named {
		cs[i].Ord = c.see(p, true)
		cs[i].Dense, cs[i].Score = p.Cosine, p.Cosine
	}
	fusion.Sort(cs, fusion.Dense)
	return cs, nil
}

func (c *corpus) Cosines(ctx context.Context, vector []float32, cs []fusion.Candidate) error {
	var lack []int
	var ids []PassageID
	c.mu.Lock()
	for i := range cs {
		if s := c.seen[cs[i].Ord]; s.dense {
			cs[i].Dense = s.cosine
		} else {
			lack, ids = append(lack, i), append(ids, c.ids[cs[i].Ord])
		}
	}
	c.mu.Unlock()
	if len(ids) == 0 {
		return nil
	}
	cosines, err := c.b.Cosines(ctx, vector, ids)
	if err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for i, at := range lack {
		x := cosines[i]
		if x != x { // deleted meanwhile: it ranks last, and is not there when hits are fetched
			x = -1
		}
		cs[at].Dense = x
		s := c.seen[cs[at].Ord]
		s.cosine, s.dense = x, true
		c.seen[cs[at].Ord] = s
	}
	return nil
}

func (c *corpus) SearchMatches(ctx context.Context, _ []text.Term, k int, _ func(uint64) bool) ([]uint64, []inverted.Match, error) {
	if len(c.asked) == 0 {
		return nil, nil, ctx.Err()
	}
	terms := make([]WeightedTerm, len(c.asked))
	for i, t := range c.asked {
		terms[i] = WeightedTerm{t.Text, float64(t.Weight)}
	}
	// It requests more than k: engines store lengths coarsely, so their order is only near that of the true
	// scores, which are computed here.
	named, err := c.b.Matching(ctx, terms, k+k/8+20, c.f)
	if err != nil {
		return nil, nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	best := make([]fusion.Candidate, len(named))
	for i, p := range named {
		best[i].Ord = c.see(p, false)
		best[i].Match = c.scorer.Match(p.Terms)
		best[i].Score = best[i].BM25
	}
	fusion.Sort(best, fusion.Lexical)
	best = best[:min(k, len(best))]
	ids, matches := make([]uint64, len(best)), make([]inverted.Match, len(best))
	for i, b := range best {
		ids[i], matches[i] = b.Ord, b.Match
	}
	return ids, matches, nil
}

func (c *corpus) Match(ctx context.Context, dst []inverted.Match, _ []text.Term, ids []uint64) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	for i, id := range ids {
		if i%64 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		dst[i] = c.scorer.Match(c.seen[id].terms)
	}
	return nil
}

// Around fetches the passages beside candidates, if some document has several.
func (c *corpus) Around(ctx context.Context, dst []float64, _ []text.Term, of []inverted.Neighbours) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.parts {
		return nil
	}
	var lack []PassageID
	var as []uint64
	for _, ids := range of {
		for _, id := range ids[1:] {
			if _, ok := c.seen[id]; !ok {
				lack, as = append(lack, PassageID{c.document(chunk.Ord(id)), chunk.Number(id)}), append(as, id)
				c.seen[id] = seen{} // absent, unless it is fetched
			}
		}
	}
	if len(lack) > 0 {
		passages, err := c.b.Fetch(ctx, lack, false)
		if err != nil {
			return err
		}
		for i, p := range passages {
			if p != nil {
				c.ids[as[i]], c.seen[as[i]] = p.PassageID, seen{terms: p.Terms}
			}
		}
	}
	return c.scorer.Around(ctx, dst, of, func(id uint64) string { return c.seen[id].terms })
}

func (c *corpus) PairNumbers(dst []uint64, id uint64) ([]uint64, error) {
	return c.pairs.Numbers(dst, c.seen[id].terms), nil
}

// Values fetches the metadata of candidates.
func (c *corpus) Values(ctx context.Context, path string, cs []fusion.Candidate) (func(uint64, func(value.Kind, []byte)) error, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	var ids []PassageID
	var ords []uint64
	for _, one := range cs {
		ord := chunk.Ord(one.Ord)
		if _, ok := c.meta[ord]; !ok {
			ids, ords = append(ids, c.ids[one.Ord]), append(ords, ord)
			c.meta[ord] = nil
		}
	}
	if len(ids) > 0 {
		passages, err := c.b.Fetch(ctx, ids, false)
		if err != nil {
			return nil, err
		}
		for i, p := range passages {
			if p == nil { // deleted meanwhile
				continue
			}
			if c.meta[ords[i]], err = metadata.Parse([]byte(p.Metadata)); err != nil {
				return nil, fmt.Errorf("%w: metadata of %q in %s: %v", engine.ErrCorrupt, fault.Clip(p.ID), c.b.Name(), err)
			}
		}
	}
	return func(ord uint64, do func(value.Kind, []byte)) error {
		value.Each(c.meta[ord], path, do)
		return nil
	}, nil
}

// Meeting fetches the titles of candidates if a clause needs them.
func (c *corpus) Meeting(ctx context.Context, cs []fusion.Candidate, clauses []search.Clause) ([]fusion.Candidate, error) {
	titles := make([]string, len(cs))
	if slices.ContainsFunc(clauses, func(cl search.Clause) bool { return cl.Title }) {
		ids := make([]PassageID, len(cs))
		c.mu.Lock()
		for i := range cs {
			ids[i] = c.ids[cs[i].Ord]
		}
		c.mu.Unlock()
		passages, err := c.b.Fetch(ctx, ids, false)
		if err != nil {
			return nil, err
		}
		for i, p := range passages {
			if p != nil { // else it was deleted meanwhile
				titles[i] = chunk.Title(p.Title, []byte(p.Metadata))
			}
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	var met []fusion.Candidate
	for i, one := range cs {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if c.meets(clauses, c.seen[one.Ord].terms, titles[i]) {
			met = append(met, one)
		}
	}
	return met, nil
}

// meets reports whether a chunk meets all clauses; spelled has its terms, which begin with those of its title.
func (c *corpus) meets(clauses []search.Clause, spelled, title string) bool {
	terms := inverted.Unspell(spelled)
	for _, cl := range clauses {
		in := terms
		if cl.Title {
			in = c.analyse(title)
		}
		if cl.In(in) == cl.Not {
			return false
		}
	}
	return true
}
