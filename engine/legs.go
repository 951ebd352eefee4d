package engine

import (
	"context"
	"fmt"
	"strings"

	"github.com/lexsem/lexsem/engine/fusion"
	"github.com/lexsem/lexsem/engine/internal/chunk"
	"github.com/lexsem/lexsem/index/inverted"
	"github.com/lexsem/lexsem/internal/text"
)

// Modes of a Query.
const (
	// ModeAuto is hybrid for a query with text, dense for one that is only a
	// vector. It is the default.
	ModeAuto = "auto"
	// ModeDense ranks by the cosine of the (modulated) query vector alone.
	ModeDense = "dense"
	// ModeLexical ranks by BM25 alone; it needs no encoder, and finds only
	// documents with a word of the query.
	ModeLexical = "lexical"
	// ModeHybrid fuses both legs.
	ModeHybrid = "hybrid"
)

// plan says which legs a query runs on.
type plan struct {
	mode           string
	dense, lexical bool
	k, depth       int // hits, and candidates of each leg
	fusion         fusion.Options
}

// minDepth is the least number of candidates that each leg of a hybrid search
// names; all of them get the scores of both legs.
const minDepth = 200

// plan checks a query and chooses its legs.
func (e *Engine) plan(q Query) (plan, error) {
	p := plan{mode: q.Mode, k: q.K}
	if p.k == 0 {
		p.k = defaultK
	}
	if p.k < 0 || p.k > MaxK {
		return p, fmt.Errorf("%w: k = %d; use 1 to %d", ErrInvalid, q.K, MaxK)
	}
	hasText := strings.TrimSpace(q.Text) != ""
	if p.mode == "" || p.mode == ModeAuto {
		p.mode = ModeHybrid
		if !hasText && q.Vector != nil {
			p.mode = ModeDense
		}
	}
	switch p.mode {
	case ModeDense:
		p.dense = true
	case ModeLexical:
		p.lexical = true
	case ModeHybrid:
		p.dense, p.lexical = true, true
	default:
		return p, fmt.Errorf("%w: mode %q; use %s, %s, %s or %s", ErrInvalid, q.Mode, ModeAuto, ModeDense, ModeLexical, ModeHybrid)
	}
	if p.lexical && !hasText {
		return p, fmt.Errorf("%w: mode %s needs a text to look for", ErrInvalid, p.mode)
	}
	p.depth = p.k
	if p.dense && p.lexical {
		p.depth = max(minDepth, 2*p.k)
	}
	p.fusion = q.Fusion
	return p, q.Fusion.Check()
}

// allowed returns the filter's verdict on chunks, nil where every document may
// be found, and how many documents that are. The caller holds mu.
func (e *Engine) allowed(ctx context.Context, f Filter) (func(uint64) bool, int, error) {
	if f.IsZero() {
		return nil, e.view.Len(), nil
	}
	m, err := e.metadata.Match(ctx, f)
	if err != nil {
		return nil, 0, err
	}
	return func(id uint64) bool { return m.Allow(chunk.Ord(id)) }, m.Len(), nil
}

// candidates runs the legs to a depth and returns what they name, with the
// scores of both and ranked; all says that there is nothing else to be found.
func (s *search) candidates(depth int) (cs []fusion.Candidate, all bool, err error) {
	if s.plan.dense {
		if cs, err = s.dense.nearest(depth, s.q.Ef, s.allow); err != nil {
			return nil, false, err
		}
		all = len(cs) < depth
		s.timer.done("dense")
	}
	if !s.plan.lexical {
		return cs, all, nil
	}
	best, err := s.e.words.Search(nil, s.terms, depth, s.allow)
	if err != nil {
		return nil, false, err
	}
	s.timer.done("lexical")
	if !s.plan.dense {
		all = len(best) < depth
	}
	known := make(map[uint64]struct{}, len(cs))
	for _, c := range cs {
		known[c.Ord] = struct{}{}
	}
	for _, b := range best {
		if _, ok := known[b.ID]; !ok {
			cs = append(cs, fusion.Candidate{Ord: b.ID})
		}
	}
	if err := s.order(cs); err != nil {
		return nil, false, err
	}
	s.timer.done("fuse")
	return cs, all, nil
}

// order gives candidates the scores of both legs, and ranks them by the one
// that the plan ranks by.
func (s *search) order(cs []fusion.Candidate) error {
	if len(cs) == 0 {
		return nil
	}
	if s.dense != nil {
		if err := s.dense.score(cs); err != nil {
			return err
		}
	}
	if s.plan.lexical {
		if err := s.e.lexical(cs, s.terms); err != nil {
			return err
		}
	}
	if s.plan.dense && s.plan.lexical {
		return s.plan.fusion.Fuse(cs)
	}
	by := fusion.Dense
	if s.plan.lexical {
		by = fusion.Lexical
	}
	for i := range cs {
		cs[i].Score = by(cs[i])
	}
	fusion.Sort(cs, by)
	return nil
}

// lexical gives every candidate its lexical scores: one that only the dense leg
// has named has true scores, not zero.
func (e *Engine) lexical(cs []fusion.Candidate, terms []text.Term) error {
	ords := make([]uint64, len(cs))
	for i, c := range cs {
		ords[i] = c.Ord
	}
	matches := make([]inverted.Match, len(cs))
	if err := e.words.Match(matches, terms, ords); err != nil {
		return err
	}
	for i, m := range matches {
		cs[i].Match = m
	}
	return nil
}

// terms are the summands of a candidate's score in a plan.
func (p plan) terms(c fusion.Candidate) []fusion.Term {
	switch {
	case !p.lexical:
		return []fusion.Term{{Name: "cosine", Weight: 1, Value: c.Dense}}
	case !p.dense:
		return []fusion.Term{{Name: "bm25", Weight: 1, Value: c.BM25}}
	}
	return p.fusion.Terms(c)
}
