package bench

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/lexsem/lexsem/encoder"
	"github.com/lexsem/lexsem/engine/fusion"
	"github.com/lexsem/lexsem/internal/bench/constants"
	"github.com/lexsem/lexsem/internal/bench/parallel"
	"github.com/lexsem/lexsem/internal/late"
	"github.com/lexsem/lexsem/internal/ridge"
	"github.com/lexsem/lexsem/modulate"
)

// Tokens is late interaction (internal/late). Alone it scans the token states of all passages. After
// another system, as in dense+tokens, it adds a term to the scores of its candidates.
var _ = RegisterSystem(SystemKind{
	Name:  "tokens",
	Usage: "tokens[:OPTIONS], SYSTEM+tokens[:OPTIONS]",
	Doc:   "token states of passages, all scanned, or added to the candidates of a system; options are weight= and states=, joined by /; states= are those of the query: plain, shift (as the vector moves), each (as if it were the vector) or own (by the factors of its token alone)",
	Make: func(arg string) (System, error) {
		o, err := parseTokens(arg)
		if err != nil {
			return System{}, err
		}
		if o.states != "plain" {
			return System{}, fmt.Errorf("%w: tokens:%s: there is no vector or bridge to move states by; ask for SYSTEM+tokens:states=%s", ErrOption, arg, o.states)
		}
		name := "tokens"
		if arg != "" {
			name += ":" + arg
		}
		return System{
			Name: name, Need: encoder.NeedDense | encoder.NeedHidden,
			Prepare: func(ctx context.Context, s *Setting) (Retriever, *Fit, error) {
				r, err := s.tokenScorer(ctx, o, nil)
				if err != nil {
					return nil, nil, err
				}
				return tokenScan{r}, nil, nil
			},
		}, nil
	},
})

// tokenOptions shape the term.
type tokenOptions struct {
	weight float64 // γ; -1 says the one that was chosen
	states string  // of the query: one of tokenStates
}

// parseTokens reads NAME=VALUE/NAME=VALUE.
func parseTokens(arg string) (tokenOptions, error) {
	o := tokenOptions{weight: -1, states: "plain"}
	if arg == "" {
		return o, nil
	}
	for _, part := range strings.Split(arg, "/") {
		name, value, _ := strings.Cut(part, "=")
		var err error
		switch name {
		case "weight":
			if o.weight, err = strconv.ParseFloat(value, 64); err == nil && !(o.weight >= 0 && o.weight <= 1000) {
				err = strconv.ErrRange
			}
		case "states":
			if o.states = value; !slices.Contains(tokenStates, value) {
				err = strconv.ErrSyntax
			}
		default:
			err = strconv.ErrSyntax
		}
		if err != nil {
			return o, fmt.Errorf("%w: tokens:%s: %q (%w); use weight=1/states=plain, or one of these", ErrOption, arg, part, err)
		}
	}
	return o, nil
}

// Weights of the token score (docs/method.md): in a fusion, which already scores words, and with a dense retriever
// alone.
const besideWords, besideVectors = fusion.DefaultTokens, 1

// guard is the number of query tokens from which on the weight falls as their number grows.
const guard = 16

// cutTokens splits SYSTEM+tokens:OPTIONS.
func cutTokens(name string) (system, options string, ok bool) {
	at := strings.LastIndex(name, "+tokens")
	if at < 0 {
		return "", "", false
	}
	rest := name[at+len("+tokens"):]
	if rest != "" && rest[0] != ':' {
		return "", "", false
	}
	return name[:at], strings.TrimPrefix(rest, ":"), true
}

// tokensBehind is the system called full: SYSTEM with the token score.
func tokensBehind(full, system, options string) (System, error) {
	base, err := ParseSystem(system)
	if err != nil {
		return System{}, err
	}
	o, err := parseTokens(options)
	if err != nil {
		return System{}, err
	}
	if o.states == "own" && !base.scales {
		return System{}, noFactors(base.Name)
	}
	read := base.Constants
	if slices.Contains(read, "presence") {
		read = append(slices.Clone(read), constants.Tokens)
	}
	return System{
		Name: full, Constants: read, Need: base.Need | encoder.NeedHidden,
		Prepare: func(ctx context.Context, s *Setting) (Retriever, *Fit, error) {
			r, fit, err := base.Prepare(ctx, s)
			if err != nil {
				return nil, nil, err
			}
			leg, ok := r.(candidateRetriever)
			if dense, alone := r.(denseRetriever); alone {
				leg, ok = oneLeg{dense}, true
			}
			if !ok {
				return nil, nil, fmt.Errorf("%w: %s has no scores that tokens could be added to; use dense, a stack of variants, rlr-local or a fusion", ErrOption, base.Name)
			}
			scorer, err := s.tokenScorer(ctx, o, r)
			if err != nil {
				return nil, nil, err
			}
			return tokenRetriever{leg, scorer}, fit, nil
		},
	}, nil
}

// candidateRetriever is a system that returns candidates with absolute scores.
type candidateRetriever interface {
	Retriever
	// candidates returns the candidates of each question that legs of a depth name, in any order, with
	// their scores.
	candidates(ctx context.Context, questions []Question, depth int) ([][]fusion.Candidate, error)
}

func (r fusedRetriever) candidates(ctx context.Context, questions []Question, depth int) ([][]fusion.Candidate, error) {
	return r.fuseAll(ctx, questions, depth)
}

// oneLeg makes a dense leg a system.
type oneLeg struct{ denseRetriever }

func (r oneLeg) bytes() int64 { return bytesOf(r.denseRetriever) }

func (r oneLeg) candidates(ctx context.Context, questions []Question, depth int) ([][]fusion.Candidate, error) {
	near, err := r.Retrieve(ctx, questions, depth)
	out := make([][]fusion.Candidate, len(near))
	for i, hits := range near {
		for _, h := range hits {
			out[i] = append(out[i], fusion.Candidate{Ord: uint64(h.Target), Score: h.Score})
		}
	}
	return out, err
}

// tokenScorer scores passages by their token states.
type tokenScorer struct {
	tokenOptions
	codes  *tokenCodes
	scale  float64 // of the weight, as the fusion scales what vectors give
	sums   *ridge.Sums
	dim    int
	vector func(dst []float32, q Question) []float32 // that moves the states of the query; nil where they are plain
	scaler modulate.TokenScaler                      // that multiplies them
}

func (s *Setting) tokenScorer(ctx context.Context, o tokenOptions, leg Retriever) (tokenScorer, error) {
	r := tokenScorer{tokenOptions: o, dim: s.Encoder.Dim(), scale: 1}
	if f, ok := leg.(fusedRetriever); ok && f.scale > 0 {
		r.scale = f.scale
	}
	if _, one := leg.(denseRetriever); r.weight < 0 {
		r.weight = besideWords
		if one {
			r.weight = besideVectors
		}
	}
	if v, ok := s.Constants[constants.Tokens]; ok {
		r.weight = v
	}
	if o.states != "plain" {
		if f, ok := leg.(fusedRetriever); ok {
			leg = f.dense
		}
		v, ok := leg.(vectorRetriever)
		if !ok {
			return r, fmt.Errorf("%w: states=%s needs a system of one query vector", ErrOption, o.states)
		}
		r.vector, r.scaler = v.vector, v.scaler
	}
	var err error
	if r.codes, err = s.tokenCodes(ctx); err != nil {
		return r, err
	}
	r.sums, err = s.corpusSums(ctx)
	return r, err
}

// answer sets the token score of each candidate for a question, times the share from query.
func (r tokenScorer) answer(ctx context.Context, q Question, cs []fusion.Candidate) error {
	query, counts, err := r.query(q)
	if err != nil {
		return err
	}
	codes, scores := make([][]byte, len(cs)), make([]late.Match, len(cs))
	for j, c := range cs {
		codes[j] = r.codes.codes[c.Ord]
	}
	if err := query.ScoreAll(ctx, scores, codes); err != nil {
		return err
	}
	for j := range cs {
		cs[j].Tokens = counts * fusion.Answered(scores[j], cs[j].Match)
	}
	return nil
}

// query prepares a question, and returns the share of its token score that counts: less for unknown tokens
// and long questions.
func (r tokenScorer) query(q Question) (*late.Query, float64, error) {
	tokens := q.Output.Tokens
	weights, n := make([]float32, len(tokens.IDs)), 0
	for i, id := range tokens.IDs {
		weights[i] = float32(r.sums.IDF(id))
		if !tokens.Special[i] {
			n++
		}
	}
	states, err := r.moved(q)
	if err != nil {
		return nil, 0, fmt.Errorf("the tokens of %q: %w", q.Text, err)
	}
	query, err := late.NewQuery(states, tokens.Special, weights, r.codes.basis)
	if err != nil {
		return nil, 0, fmt.Errorf("the tokens of %q: %w", q.Text, err)
	}
	counts := 1 - tokens.Unknown()
	if n > guard {
		counts *= float64(guard) / float64(n)
	}
	return query, counts, nil
}

// tokenRetriever adds the term to the candidates of a system.
type tokenRetriever struct {
	leg    candidateRetriever
	scorer tokenScorer
}

func (r tokenRetriever) bytes() int64 { return bytesOf(r.leg) + r.scorer.codes.bytes() }

func (r tokenRetriever) Retrieve(ctx context.Context, questions []Question, k int) ([][]Hit, error) {
	all, err := r.candidates(ctx, questions, max(fusionDepth, 2*k))
	out := make([][]Hit, len(all))
	for i, cs := range all {
		hits := make([]Hit, len(cs))
		for j, c := range cs {
			hits[j] = Hit{Target: int(c.Ord), Score: c.Score}
		}
		out[i] = bestHits(hits, k)
	}
	return out, err
}

// candidates implements candidateRetriever.
func (r tokenRetriever) candidates(ctx context.Context, questions []Question, depth int) ([][]fusion.Candidate, error) {
	all, err := r.leg.candidates(ctx, questions, depth)
	if err != nil {
		return nil, err
	}
	return all, parallel.Each(ctx, len(questions), func(i int) error {
		if err := r.scorer.answer(ctx, questions[i], all[i]); err != nil {
			return err
		}
		for j, c := range all[i] {
			all[i][j].Score += r.scorer.weight * r.scorer.scale * c.Tokens
		}
		return nil
	})
}

// tokenScan scores all passages.
type tokenScan struct{ scorer tokenScorer }

func (r tokenScan) bytes() int64 { return r.scorer.codes.bytes() }

func (r tokenScan) Retrieve(ctx context.Context, questions []Question, k int) ([][]Hit, error) {
	out := make([][]Hit, len(questions))
	err := parallel.Each(ctx, len(questions), func(i int) error {
		query, _, err := r.scorer.query(questions[i])
		if err != nil {
			return err
		}
		scores := make([]late.Match, len(r.scorer.codes.codes))
		if err := query.ScoreAll(ctx, scores, r.scorer.codes.codes); err != nil {
			return err
		}
		hits := make([]Hit, len(scores))
		for j, s := range scores {
			hits[j] = Hit{Target: j, Score: s.Whole}
		}
		out[i] = bestHits(hits, k)
		return nil
	})
	return out, err
}

// bestHits sorts hits, best first, ties by target, and returns the first k.
func bestHits(hits []Hit, k int) []Hit {
	slices.SortFunc(hits, func(a, b Hit) int {
		switch {
		case a.Score != b.Score && a.Score > b.Score:
			return -1
		case a.Score != b.Score:
			return 1
		}
		return a.Target - b.Target
	})
	return hits[:min(k, len(hits))]
}
