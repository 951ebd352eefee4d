// Package search answers queries over one state of a database, or over documents that another engine keeps.
// [Decide] makes the query plan: mode, retrievers and modulation. [Run.Begin] filters and modulates ([Run.Over]
// for another engine), [Run.Rank] runs the retrievers, fuses their candidates and makes hits. A Run is for one
// goroutine. The package takes no lock and does not change a state.
//
// A query passes require.go (operators), plan.go, modulated.go and variant.go (its vector), candidates.go (retrievers),
// tokens.go, files.go, deferred.go and boost.go (what changes scores), group.go and fields.go (which become hits, in
// which order), and answer.go.
package search

import (
	"cmp"
	"fmt"
	"math"
	"strings"

	"github.com/lexsem/lexsem/engine/filter"
	"github.com/lexsem/lexsem/engine/fusion"
	"github.com/lexsem/lexsem/engine/internal/state"
	"github.com/lexsem/lexsem/internal/fault"
	"github.com/lexsem/lexsem/internal/metric"
)

// Modes of a query.
const (
	Auto    = "auto"
	Dense   = "dense"
	Lexical = "lexical"
	Hybrid  = "hybrid"
)

// Limits of a query.
const (
	MaxK     = 10_000
	DefaultK = 10
	MaxQuery = 64 << 10 // bytes of its text: all of it is analysed, however little of it the encoder reads
)

// minDepth is the minimum number of candidates that each retriever of a hybrid search returns; all of them
// get the scores of both.
const minDepth = 200

// PageEnd is the last hit that pages can reach if hits come from a pool of candidates, unless the pool has
// all matches.
const PageEnd = minDepth / 2

// BeyondPages is the error of a page beyond the last hit that pages can reach.
func BeyondPages(offset, k, last int) error {
	return fmt.Errorf("%w: offset %d with k = %d: pages of this search end at hit %d, as later ones could repeat or miss hits; ask for all at once with offset 0 and a larger k, narrow the search with a filter, or use mode %s or %s",
		fault.ErrInvalid, offset, k, last, Dense, Lexical)
}

// Query has the same fields as engine.Query, which documents them.
type Query struct {
	Text               string
	Image              []byte
	Picture            bool
	Vector             []float32
	Like, Unlike       []string
	K, Offset          int
	MinScore           float32
	Variant, Mode      string
	Fusion             fusion.Options
	Filter             filter.Filter
	PerChunk, Collapse bool
	Rerank, Ef         int
	Exact, Spans       bool
	Places, Plain      bool
	Boost              string
	Sort, GroupBy      string
	PerGroup           int
}

// HasText reports whether there is more than white space to look for.
func (q Query) HasText() bool { return strings.TrimSpace(q.Text) != "" }

// Plan describes how a query will be answered.
type Plan struct {
	Mode           string // never Auto
	Dense, Lexical bool   // the legs
	K, Depth       int    // hits, those that Offset leaves out included, and candidates of each leg
	Fusion         fusion.Options
	Way            Way  // of the dense leg
	Tokens         bool // candidates are compared token by token
	Listed         bool // there is nothing to rank by: the query only excludes
	Boosted        bool // metadata change the scores

	metric metric.Metric
}

// Decide reads the operators of a query, and plans the rest. tokens is the argument of the function Decide. It
// needs By and AnalyseQuery.
func (r *Run) Decide(q Query, tokens bool) (err error) {
	r.typed = q.Text
	if r.Q, r.Clauses, err = Read(q, r.AnalyseQuery); err != nil {
		return err
	}
	if r.fields, err = readFields(q); err != nil {
		return err
	}
	if err = r.sought(); err != nil {
		return err
	}
	excludes := len(r.Clauses) > 0 && !r.Q.HasText() && (q.Vector == nil || q.Mode == Lexical)
	if r.Q.Places { // there is nothing to rank by
		excludes, q.Mode = true, Lexical
	}
	switch {
	case excludes:
	case len(r.Clauses) > 0 && !r.Q.HasText() && q.Mode == Hybrid: // of a vector and what the text excludes
		q = r.Q
		q.Mode = Dense
	default:
		q = r.Q
	}
	r.Plan, err = Decide(r.By, q, tokens)
	if len(r.fields.boosts) > 0 {
		r.Plan.Boosted, r.Plan.Depth = true, max(minDepth, 2*r.Plan.K)
	}
	if excludes {
		r.Plan.Listed, r.Plan.Dense, r.Plan.Lexical, r.Plan.Tokens = true, false, false, false
	}
	return err
}

// Decide checks a query and decides mode, retrievers and variant. No other code decides this. tokens says
// that passages can be compared token by token.
func Decide(by *state.Modulation, q Query, tokens bool) (Plan, error) {
	p := Plan{Mode: q.Mode, K: q.K, Fusion: q.Fusion}
	p.K = cmp.Or(p.K, DefaultK)
	if p.K < 0 || p.K > MaxK {
		return p, fmt.Errorf("%w: k = %d; use 1 to %d", fault.ErrInvalid, q.K, MaxK)
	}
	if p.Mode == "" || p.Mode == Auto {
		p.Mode = Hybrid
		if !q.HasText() && q.Vector != nil {
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
	if p.Lexical && !q.HasText() {
		return p, fmt.Errorf("%w: mode %s needs a text to look for", fault.ErrInvalid, p.Mode)
	}
	if q.Offset < 0 || q.Offset > MaxK-p.K {
		return p, fmt.Errorf("%w: offset %d with k = %d; use 0 or more, together at most %d", fault.ErrInvalid, q.Offset, p.K, MaxK)
	}
	if q.Ef < 0 {
		return p, fmt.Errorf("%w: ef = %d; use a positive number, or 0 for the index's default", fault.ErrInvalid, q.Ef)
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
	if err := p.fuse(by.Metric); err != nil {
		return p, err
	}
	if p.Tokens = tokens && p.compares(q); !p.Tokens {
		p.Fusion.Tokens = -1
	} else if !p.Lexical {
		p.Depth = max(minDepth, 2*p.K)
	}
	if !p.Dense {
		return p, nil
	}
	var err error
	p.Way, err = resolve(by, q.Variant, need{beside: p.Lexical})
	return p, err
}

// fuse chooses the fusion if the query names none. Calibrated and convex fusion weigh cosines, which are in
// [-1, 1]; other scores are fused only by their ranks.
func (p *Plan) fuse(m metric.Metric) error {
	p.metric = m
	f := &p.Fusion
	var err error
	switch {
	case f.Kind == "" && m.Directions():
		f.Kind = fusion.Calibrated
	case f.Kind == "":
		f.Kind = fusion.RRF
		if max(f.Presence, f.Near, f.Beta, f.Pair, f.Title, f.Tokens, f.Reach, f.LexicalShare) > 0 {
			err = m.Needs("weights of scores")
		}
	case f.Kind != fusion.RRF:
		err = m.Needs("fusion " + f.Kind)
	}
	if err != nil {
		err = fmt.Errorf("%w, or use fusion %s", err, fusion.RRF)
	}
	return err
}

// pooled reports whether the hits are the best of more candidates, so that their order depends on the number
// of candidates.
func (p Plan) pooled() bool { return p.Dense && p.Lexical || p.Tokens || p.Boosted }

// compares reports whether candidates are compared token by token if possible: in calibrated fusion unless
// the query declines it, and in a dense search if the query requests it. A query with its own vector has no
// matching tokens.
func (p Plan) compares(q Query) bool {
	switch {
	case !p.Dense || !q.HasText() || q.Vector != nil || q.Fusion.Tokens < 0:
		return false
	case p.Lexical:
		return p.Fusion.Kind == fusion.Calibrated
	}
	return q.Fusion.Tokens > 0
}

// Single decides the modulation of a query that must have one vector for all passages.
func Single(by *state.Modulation, variant string) (Way, error) {
	return resolve(by, variant, need{single: true})
}

// Default is the variant of a query with the given mode that names no variant.
func Default(by *state.Modulation, mode string) string {
	return best(by, need{beside: mode != Dense})
}

// Terms returns the summands of a candidate's score in a plan.
func (p Plan) Terms(c fusion.Candidate) []fusion.Term {
	switch {
	case p.Listed && p.Boosted:
		return []fusion.Term{{Name: "unranked", Weight: 1, Value: 1}}
	case !p.Lexical && p.Tokens:
		return []fusion.Term{{Name: p.metric.String(), Weight: 1, Value: c.Dense}, {Name: "tokens", Weight: p.Fusion.Tokens, Value: c.Tokens}}
	case !p.Lexical:
		return []fusion.Term{{Name: p.metric.String(), Weight: 1, Value: c.Dense}}
	case !p.Dense:
		return []fusion.Term{{Name: "bm25", Weight: 1, Value: c.BM25}}
	}
	return p.Fusion.Terms(c)
}
