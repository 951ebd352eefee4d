// Package search answers queries over one state of a database: it decides which
// legs a query runs on and how its vector is modulated, runs them, joins their
// candidates and makes hits of these. It takes no lock and changes nothing.
package search

import (
	"fmt"
	"math"

	"github.com/lexsem/lexsem/engine/filter"
	"github.com/lexsem/lexsem/engine/fusion"
	"github.com/lexsem/lexsem/engine/internal/fault"
	"github.com/lexsem/lexsem/engine/internal/state"
)

// Modes of a query.
const (
	Auto    = "auto"
	Dense   = "dense"
	Lexical = "lexical"
	Hybrid  = "hybrid"
)

// Limits of K.
const (
	MaxK     = 10_000
	DefaultK = 10
)

// minDepth is the least number of candidates that each leg of a hybrid search
// names; all of them get the scores of both legs.
const minDepth = 200

// Query is what a search needs to know of a query beside its text and vector.
type Query struct {
	HasText, HasVector bool
	K                  int // 0 means DefaultK
	Offset             int
	MinScore           float32 // 0 for none
	Mode, Variant      string
	Fusion             fusion.Options
	Filter             filter.Filter
	PerChunk, Collapse bool
	Ef                 int
}

// Plan is what was decided about a query.
type Plan struct {
	Mode           string // never Auto
	Dense, Lexical bool   // the legs
	K, Depth       int    // hits, those that Offset leaves out included, and candidates of each leg
	Fusion         fusion.Options
	Way            Way // of the dense leg
}

// Decide checks a query and decides mode, legs and variant. It is the one place
// that does.
func Decide(s *state.State, q Query) (Plan, error) {
	p := Plan{Mode: q.Mode, K: q.K, Fusion: q.Fusion}
	if p.K == 0 {
		p.K = DefaultK
	}
	if p.K < 0 || p.K > MaxK {
		return p, fmt.Errorf("%w: k = %d; use 1 to %d", fault.ErrInvalid, q.K, MaxK)
	}
	if p.Mode == "" || p.Mode == Auto {
		p.Mode = Hybrid
		if !q.HasText && q.HasVector {
			p.Mode = Dense
		}
	}
	switch p.Mode {
	case Dense:
		p.Dense = true
	case Lexical:
		p.Lexical = true
	case Hybrid:
		p.Dense, p.Lexical = true, true
	default:
		return p, fmt.Errorf("%w: mode %q; use %s, %s, %s or %s", fault.ErrInvalid, q.Mode, Auto, Dense, Lexical, Hybrid)
	}
	if p.Lexical && !q.HasText {
		return p, fmt.Errorf("%w: mode %s needs a text to look for", fault.ErrInvalid, p.Mode)
	}
	if q.Offset < 0 || q.Offset > MaxK-p.K {
		return p, fmt.Errorf("%w: offset %d with k = %d; use 0 or more, together at most %d", fault.ErrInvalid, q.Offset, p.K, MaxK)
	}
	if m := float64(q.MinScore); math.IsNaN(m) || math.IsInf(m, 0) {
		return p, fmt.Errorf("%w: minimal score %v; use a number, or 0 for none", fault.ErrInvalid, q.MinScore)
	}
	p.K += q.Offset
	p.Depth = p.K
	if p.Dense && p.Lexical {
		p.Depth = max(minDepth, 2*p.K)
	}
	if err := q.Fusion.Check(); err != nil {
		return p, err
	}
	if !p.Dense {
		return p, nil
	}
	var err error
	p.Way, err = resolve(s, q.Variant, need{beside: p.Lexical})
	return p, err
}

// Single decides the way of a query that must have one vector for all passages.
func Single(s *state.State, variant string) (Way, error) {
	return resolve(s, variant, need{single: true})
}

// Default is the variant of a query in mode that names none.
func Default(s *state.State, mode string) string {
	return best(s, need{beside: mode != Dense})
}

// Terms are the summands of a candidate's score in a plan.
func (p Plan) Terms(c fusion.Candidate) []fusion.Term {
	switch {
	case !p.Lexical:
		return []fusion.Term{{Name: "cosine", Weight: 1, Value: c.Dense}}
	case !p.Dense:
		return []fusion.Term{{Name: "bm25", Weight: 1, Value: c.BM25}}
	}
	return p.Fusion.Terms(c)
}
