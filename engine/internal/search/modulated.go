package search

import (
	"context"
	"errors"
	"math"
	"sync"

	"github.com/lexsem/lexsem/engine/fusion"
	"github.com/lexsem/lexsem/engine/internal/state"
	"github.com/lexsem/lexsem/internal/vec"
	"github.com/lexsem/lexsem/modulate"
)

// Modulate returns the one vector of a query, whose tokens come from text, and the changes that were made
// to it.
func Modulate(ctx context.Context, by *state.Modulation, w Way, text string, in modulate.Input, o modulate.RLROptions) ([]float32, Facts, error) {
	in.Ctx = ctx
	r := &Run{By: by, Q: Query{Text: text}, In: in, rlr: o}
	v, err := r.modulate(w)
	return v, r.Facts, err
}

func (r *Run) modulate(w Way) (vector []float32, err error) {
	vector = r.In.Dense
	f := &r.Facts
	f.Variant, f.Turned = w.Name, 1
	if w.Any {
		mod := w.With
		if mod == nil {
			if mod, f.Unfitted, err = Modulator(r.By, w.Stack, r.rlr); err != nil {
				return nil, err
			}
		}
		vector = mod.Modulate(make([]float32, 0, len(r.In.Dense)), r.lexical())
		f.Turned = vec.Dot(r.In.Dense, vector)
		if w.Stack.ReadsSums() {
			f.Stale, _ = r.By.Sums.Staleness()
			if err := r.sound(); err != nil {
				return nil, err
			}
		}
	}
	f.Tokens, f.Truncated = len(r.In.Tokens.IDs), r.In.Tokens.Truncated
	f.Lexical = len(r.lexical().Tokens.Lexical(nil))
	return vector, nil
}

// lexical is In as modulation uses it: punctuation has no lexical weight.
func (r *Run) lexical() modulate.Input {
	if r.spoken == nil {
		in := r.In
		in.Tokens = in.Tokens.Words(r.Q.Text)
		r.spoken = &in
	}
	return *r.spoken
}

// sound returns the error of a vector that was made with damaged sufficient statistics, since these report
// no errors themselves.
func (r *Run) sound() error { return errors.Join(r.In.Ctx.Err(), r.By.Sums.Err()) }

func (r *Run) localLeg(ctx context.Context, vector []float32, found int) (leg, error) {
	other := func() ([]float32, error) { return vector, nil }
	if !r.Plan.Way.Any {
		mod, _, err := Modulator(r.By, rlr, r.rlr)
		if err != nil {
			return nil, err
		}
		other = sync.OnceValues(func() ([]float32, error) { return mod.Modulate(nil, r.lexical()), r.sound() })
	}
	in := r.lexical()
	in.Dense = vector
	// The cells hold chunks.
	chunks, most := found, found
	if all := r.S.View.Len(); all < r.S.Chunks() {
		chunks, most = chunksOf(r.S, found), r.S.Chunks()
	}
	l, err := newLocalLeg(ctx, r.S, in, r.In.Dense, other, chunks, most)
	if err != nil {
		return nil, err
	}
	r.Facts.Turned, r.Facts.Cells = l.turned(), len(l.cells)
	return l, nil
}

// VectorFor is the vector that a candidate's Dense compares it with.
func (r *Run) VectorFor(id uint64) []float32 { return r.dense.vectorFor(id) }

// Attribute divides the modulated score of a candidate among the tokens: first the score of the stack,
// then the contribution of local bridges. whole reports that the parts add up to the score.
func (r *Run) Attribute(c fusion.Candidate, passage []float32) (a modulate.Attribution, whole bool, err error) {
	local, ok := r.dense.(*localLeg)
	if !r.Plan.Way.Any && !ok {
		return modulate.Attribution{Plain: c.Dense}, true, nil
	}
	a = modulate.Attribution{Plain: float64(vec.Dot(r.In.Dense, passage))}
	if r.Plan.Way.Any {
		mod, _, err := Modulator(r.By, r.Plan.Way.Stack, r.rlr)
		if err != nil {
			return a, false, err
		}
		attributor, ok := mod.(modulate.Attributor)
		if !ok {
			return a, false, nil
		}
		a = attributor.Attribute(r.lexical(), passage)
	}
	shares := make(map[int32]float64)
	if ok {
		if shares, err = local.shares(c.Ord, passage); err != nil {
			return a, false, err
		}
	}
	sum := a.Plain + a.Bias
	for i := range a.Tokens {
		t := &a.Tokens[i]
		t.Shift += shares[t.ID]
		delete(shares, t.ID)
		sum += t.Scale + t.Shift
	}
	for _, id := range r.lexical().Tokens.Lexical(nil) {
		if share, ok := shares[id]; ok {
			sum += share
			a.Tokens = append(a.Tokens, modulate.TokenShare{ID: id, Shift: share})
		}
	}
	return a, math.Abs(sum-c.Dense) < 1e-3, nil
}
