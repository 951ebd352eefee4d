package engine

import (
	"fmt"
	"strings"

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
	fusion         Fusion
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
	_, err := q.Fusion.fill()
	return p, err
}

// allowed returns the filter's verdict on units, nil where every document may
// be found, and how many documents that are. The caller holds mu.
func (e *Engine) allowed(f Filter) (func(uint64) bool, int, error) {
	if f.IsZero() {
		return nil, e.view.Len(), nil
	}
	m, err := e.metadata.Match(f)
	if err != nil {
		return nil, 0, err
	}
	return func(unit uint64) bool { return m.Allow(ordOf(unit)) }, m.Len(), nil
}

// candidates runs the legs of p over what allow lets through and returns what
// they name, ranked; all says that there is nothing else to be found. The caller
// holds mu.
func (e *Engine) candidates(p plan, q Query, dense denseLeg, allow func(uint64) bool, t *timer) (cs []Candidate, all bool, err error) {
	if p.dense {
		if cs, err = dense.nearest(p.depth, q.Ef, allow); err != nil {
			return nil, false, err
		}
		all = len(cs) < p.depth
		t.done("dense")
	}
	if !p.lexical {
		return cs, all, nil
	}
	terms := e.words.analyzer.Terms(nil, q.Text)
	best, err := e.words.Search(nil, terms, p.depth, allow)
	if err != nil {
		return nil, false, err
	}
	t.done("lexical")
	if !p.dense {
		for _, s := range best {
			cs = append(cs, Candidate{Ord: s.ID, BM25: s.Score, Score: s.Score})
		}
		return cs, len(best) < p.depth, e.complete(cs, nil, terms)
	}
	known := make(map[uint64]struct{}, len(cs))
	for _, c := range cs {
		known[c.Ord] = struct{}{}
	}
	for _, s := range best {
		if _, ok := known[s.ID]; !ok {
			cs = append(cs, Candidate{Ord: s.ID})
		}
	}
	if len(cs) == 0 {
		return nil, true, nil
	}
	if err := e.complete(cs, dense, terms); err != nil {
		return nil, false, err
	}
	if err := p.fusion.Fuse(cs); err != nil {
		return nil, false, err
	}
	t.done("fuse")
	return cs, all, nil
}

// complete gives every candidate the scores of both legs: one that a leg did
// not name has a true score there, not zero.
func (e *Engine) complete(cs []Candidate, dense denseLeg, terms []text.Term) error {
	ords := make([]uint64, len(cs))
	for i, c := range cs {
		ords[i] = c.Ord
	}
	if dense != nil {
		if err := dense.score(cs); err != nil {
			return err
		}
	}
	scores := make([]float64, len(cs))
	if err := e.words.Scores(scores, terms, ords); err != nil {
		return err
	}
	ub := e.words.UB(terms)
	for i, s := range scores {
		cs[i].BM25 = s
		cs[i].Coverage = inverted.Coverage(s, ub)
	}
	if err := e.words.Pairs(scores, terms, ords); err != nil {
		return err
	}
	for i, s := range scores {
		cs[i].Pair = s
	}
	return nil
}
