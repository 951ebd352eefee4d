package engine

import (
	"context"
	"errors"
	"fmt"

	"github.com/lexsem/lexsem/encoder"
	"github.com/lexsem/lexsem/engine/internal/search"
	"github.com/lexsem/lexsem/internal/fault"
	"github.com/lexsem/lexsem/modulate"
)

// input tokenizes and encodes a query, with the tensors that its way reads, and its token
// states where they are compared.
func (e *Engine) input(ctx context.Context, q Query, w search.Way, tokens bool) (modulate.Input, error) {
	in, need, err := e.given(ctx, q, w, tokens)
	if err == nil && need != 0 {
		err = e.encodeOptional(ctx, need, w.Need(), []encoder.Input{q.input()}, []*modulate.Input{&in})
	}
	return in, err
}

// encodeOptional is encodeQueries with tensors of which must are needed: where the
// encoder gives no token states that are not, the queries go without.
func (e *Engine) encodeOptional(ctx context.Context, need, must encoder.Need, texts []encoder.Input, ins []*modulate.Input) error {
	err := e.encodeQueries(ctx, need, texts, ins)
	if need&^must&encoder.NeedHidden == 0 || !errors.Is(err, encoder.ErrNoHidden) {
		return err
	}
	e.noStates(err)
	return e.encodeQueries(ctx, need&^encoder.NeedHidden, texts, ins)
}

// given is what a query's input has without its text being encoded, and the tensors
// that lack yet, 0 for none.
func (e *Engine) given(ctx context.Context, q Query, w search.Way, tokens bool) (in modulate.Input, need encoder.Need, err error) {
	if err := ctx.Err(); err != nil {
		return in, 0, err
	}
	if q.Vector != nil {
		if in.Dense, err = e.metric.Vector(q.Vector, e.fp.Dim); err != nil {
			return in, 0, err
		}
	} else if blankText(q.Text) {
		return in, 0, fmt.Errorf("%w: empty query; give it a text or a vector", ErrInvalid)
	} else if e.vectorsOnly() {
		return in, 0, fmt.Errorf("%w: the query %q has no vector, and this database has no encoder; give Vector with %d numbers, or use mode %s",
			ErrInvalid, fault.Clip(q.Text), e.fp.Dim, ModeLexical)
	} else if e.enc == nil {
		return in, 0, ErrNoEncoder
	}
	if e.terms != nil && (w.Any || w.Local) {
		if in.Tokens, err = e.terms.Tokens(ctx, q.Text); err != nil {
			return in, 0, fmt.Errorf("reading the vocabulary: %w", err)
		}
	}
	if e.enc == nil || q.Text == "" {
		return in, 0, nil
	}
	need = w.Need()
	if q.Vector != nil && need == encoder.NeedDense {
		if e.terms == nil {
			in.Tokens = e.enc.Tokenize(encoder.Query, q.Text)
		}
		return in, 0, nil
	}
	if tokens {
		need |= encoder.NeedHidden
	}
	return in, need, nil
}

// encodeQueries fills in what encoding the texts of queries gives, in one call. The
// error of one text is a *QueryError where there are several.
func (e *Engine) encodeQueries(ctx context.Context, need encoder.Need, texts []encoder.Input, ins []*modulate.Input) error {
	probed := e.probed(ctx)
	out, err := e.enc.Encode(ctx, encoder.Query, texts, need)
	if same := probed(); err == nil {
		err = same
	}
	var one *encoder.TextError
	if errors.As(err, &one) && len(texts) > 1 && one.Text >= 0 && one.Text < len(texts) {
		return &QueryError{Position: one.Text, Err: fmt.Errorf("encoding the query: %w", one.Err)}
	}
	if errors.Is(err, encoder.ErrMedia) {
		return fmt.Errorf("%w: encoding the query: %w; this database holds images, and %s does not place texts beside them: give an image, or use mode %s", ErrInvalid, err, e.fp.Model, ModeLexical)
	}
	if err != nil {
		return fmt.Errorf("encoding the query: %w", err)
	}
	for i, in := range ins {
		in.Hidden, in.Logits = out[i].Hidden, out[i].Logits
		if e.terms == nil {
			in.Tokens = out[i].Tokens
		}
		if in.Dense == nil {
			in.Dense = out[i].Dense
		}
	}
	return nil
}
