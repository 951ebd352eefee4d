package state

import (
	"context"

	"github.com/lexsem/lexsem/engine/internal/chunk"
	"github.com/lexsem/lexsem/engine/internal/columns"
	"github.com/lexsem/lexsem/index/inverted"
	"github.com/lexsem/lexsem/internal/text"
	"github.com/lexsem/lexsem/modulate"
)

// The immutable parts, each brought from one state to the next.

func (d *DB) editWords(ctx context.Context, cur *State, df diff) (*inverted.Words, error) {
	e := cur.Words.Edit()
	e.Remove(idsOf(df.gone))
	var terms []text.Term
	err := each(ctx, df.added, func(vs []Version) error {
		for _, v := range vs {
			terms = d.analyzer.Terms(terms[:0], v.Text)
			if err := e.Add(v.ID, terms); err != nil {
				return err
			}
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return e.Done(), nil
}

func (d *DB) editColumns(ctx context.Context, cur *State, df diff) (*columns.Columns, error) {
	e := cur.Columns.Edit()
	for _, ord := range df.dead {
		e.Remove(ord)
	}
	err := each(ctx, df.added, func(vs []Version) error {
		for _, v := range vs {
			if chunk.Number(v.ID) > 0 { // metadata are the document's
				continue
			}
			if err := e.Add(v.ID, v.Metadata); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return e.Done(), nil
}

func (d *DB) editSums(ctx context.Context, cur *State, df diff) (*modulate.Sums, error) {
	e := cur.Sums.Edit()
	for i, v := range df.gone {
		if i%step == 0 && ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		if err := e.Remove(v.ID, v.Vector, v.Tokens); err != nil {
			return nil, err
		}
	}
	var rows []float32
	var tokens [][]int32
	const batch = 4096 // rows of tokens are sorted by token within a batch
	for vs := df.added; len(vs) > 0; {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		n := min(batch, len(vs))
		rows, tokens = rows[:0], tokens[:0]
		for _, v := range vs[:n] {
			rows = append(rows, v.Vector...)
			tokens = append(tokens, v.Tokens)
		}
		if err := e.AddAll(idsOf(vs[:n]), rows, tokens); err != nil {
			return nil, err
		}
		vs = vs[n:]
	}
	return e.Done(), nil
}
