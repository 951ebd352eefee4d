package engine

import (
	"context"
	"fmt"

	"github.com/lexsem/lexsem/encoder"
	"github.com/lexsem/lexsem/engine/internal/fitting"
	"github.com/lexsem/lexsem/engine/internal/search"
	"github.com/lexsem/lexsem/engine/internal/state"
	"github.com/lexsem/lexsem/internal/vec"
	"github.com/lexsem/lexsem/modulate"
)

// A query that names no variant gets what search.Default says. Measured on every
// corpus at hand local bridges find copied words better than any fitted bridge, and
// by the bound of their shift they leave questions in other words as they are
// (docs/method.md). A fit holds what it has fitted against them, on probes that it
// draws from the corpus; where they win, the closed forms go on serving.

// VariantScore is the share of held-out queries, in [0, 1], whose first hit is the passage they were drawn from.
type VariantScore struct {
	Variant string  `json:"variant"`
	Found   float64 `json:"found"`
}

// choose measures the local bridges and a bridge that is fitted, not saved yet, on
// probes drawn from c and returns the name of the better one; of equals that of the
// local bridges. Where there are none, they are built for this alone.
func (e *Engine) choose(ctx context.Context, c *corpus, seed uint64, fitted *modulate.Weights) (best string, scores []VariantScore, err error) {
	draw, enc := func(seed uint64) ([]string, []int, error) { return fitting.Probes(c, seed) }, e.enc
	if c.images {
		draw, enc = c.imageProbes, e.resolving(c.s)
	}
	texts, targets, err := draw(seed)
	if err != nil {
		return "", nil, err
	}
	s, err := e.db.WithLocal(ctx, c.s)
	if err != nil {
		return "", nil, err
	}
	need := encoder.NeedDense
	variants := []string{VariantLocal, fitted.Stack}
	plans := make([]search.Plan, len(variants))
	for i, v := range variants {
		scores = append(scores, VariantScore{Variant: v})
		if plans[i], err = search.Decide(&s.Modulation, search.Query{K: 1, Mode: ModeDense, Variant: v}, false); err != nil {
			return "", nil, err
		}
		need |= plans[i].Way.Need()
	}
	if plans[1].Way.With, err = modulate.NewStack(fitted.Stack, modulate.Parts{Sums: s.Sums, Weights: fitted, RLR: fitted.RLR}); err != nil {
		return "", nil, err
	}
	for at := 0; at < len(texts); at += encodeWindow {
		part := texts[at:min(at+encodeWindow, len(texts))]
		out, err := enc.Encode(ctx, encoder.Query, encoder.Texts(part...), need)
		if err != nil {
			return "", nil, fmt.Errorf("encoding probes: %w", err)
		}
		for i, o := range out {
			in := modulate.Input{Tokens: o.Tokens, Dense: o.Dense, Hidden: o.Hidden, Logits: o.Logits}
			for k, p := range plans {
				ok, err := e.findsFirst(ctx, s, p, in, c.Vector(targets[at+i]))
				if err != nil {
					return "", nil, err
				}
				if ok {
					scores[k].Found += 1 / float64(len(texts))
				}
			}
		}
	}
	best = variants[0]
	if scores[1].Found > scores[0].Found {
		best = variants[1]
	}
	return best, scores, nil
}

// findsFirst reports that a plan ranks a passage with the vector of target first.
func (e *Engine) findsFirst(ctx context.Context, s *state.State, p search.Plan, in modulate.Input, target []float32) (bool, error) {
	r, err := search.Begin(ctx, s, search.Query{}, p, in, nil, nil, e.rlr(), func(string) {})
	if err != nil {
		return false, err
	}
	cs, _, err := r.Candidates(ctx, 1)
	if err != nil || len(cs) == 0 {
		return false, err
	}
	return vec.Dot(s.Vector(cs[0].Ord), target) > 0.99999, nil
}
