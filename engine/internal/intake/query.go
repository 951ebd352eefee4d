// Package intake checks the input of a database, wherever its documents are kept:
// encoders, documents, patches and queries.
package intake

import (
	"context"
	"fmt"

	"github.com/lexsem/lexsem/encoder"
	"github.com/lexsem/lexsem/engine/internal/search"
	"github.com/lexsem/lexsem/internal/fault"
	"github.com/lexsem/lexsem/internal/metric"
	"github.com/lexsem/lexsem/modulate"
)

// Space describes the vectors of a database and how texts become vectors.
type Space struct {
	Dim     int
	Metric  metric.Metric
	Encoder encoder.Encoder // nil where the database was opened without one
	// VectorsOnly says that the database was made without an encoder.
	VectorsOnly bool
	// Words, if not nil, gives the tokens that queries are modulated by in place of the
	// encoder's.
	Words func(ctx context.Context, text string) (encoder.Tokens, error)
}

// Query is the input of a query that w modulates, without its encoded text, and the
// tensors that are still missing, 0 for none.
func (s Space) Query(ctx context.Context, q search.Query, w search.Way) (in modulate.Input, need encoder.Need, err error) {
	if err := ctx.Err(); err != nil {
		return in, 0, err
	}
	switch {
	case q.Vector != nil:
		if in.Dense, err = s.Metric.Vector(q.Vector, s.Dim); err != nil {
			return in, 0, err
		}
	case !q.HasText():
		return in, 0, fmt.Errorf("%w: empty query; give it a text or a vector", fault.ErrInvalid)
	case s.VectorsOnly:
		return in, 0, fmt.Errorf("%w: the query %q has no vector, and this database has no encoder; give Vector with %d numbers, or use mode %s",
			fault.ErrInvalid, fault.Clip(q.Text), s.Dim, search.Lexical)
	case s.Encoder == nil:
		return in, 0, fault.ErrNoEncoder
	}
	if s.Words != nil && (w.Any || w.Local) {
		if in.Tokens, err = s.Words(ctx, q.Text); err != nil {
			return in, 0, fmt.Errorf("reading the vocabulary: %w", err)
		}
	}
	if s.Encoder == nil || q.Text == "" {
		return in, 0, nil
	}
	if need = w.Need(); q.Vector == nil || need != encoder.NeedDense {
		return in, need, nil
	}
	if s.Words == nil {
		in.Tokens = s.Encoder.Tokenize(encoder.Query, q.Text)
	}
	return in, 0, nil
}

// Fill adds the encoder's output for the text to the input of a query.
func (s Space) Fill(in *modulate.Input, o encoder.Output) {
	in.Hidden, in.Logits, in.Impacts = o.Hidden, o.Logits, o.Impacts
	if s.Words == nil {
		in.Tokens = o.Tokens
	}
	if in.Dense == nil {
		in.Dense = o.Dense
	}
}
