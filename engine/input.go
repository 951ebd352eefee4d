package engine

import (
	"context"
	"errors"
	"fmt"

	"github.com/lexsem/lexsem/encoder"
	"github.com/lexsem/lexsem/engine/internal/search"
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
	in, need, err = e.space().Query(ctx, search.Query(q), w)
	if need != 0 && tokens {
		need |= encoder.NeedHidden
	}
	return in, need, err
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
	space := e.space()
	for i, in := range ins {
		space.Fill(in, out[i])
	}
	return nil
}
