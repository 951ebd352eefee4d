package engine

import (
	"context"
	"slices"
	"strings"

	"github.com/lexsem/lexsem/encoder"
	"github.com/lexsem/lexsem/engine/internal/intake"
	"github.com/lexsem/lexsem/engine/internal/search"
	"github.com/lexsem/lexsem/engine/internal/spelling"
	"github.com/lexsem/lexsem/engine/internal/state"
	"github.com/lexsem/lexsem/internal/chunk"
)

// repair sets the terms of a query, and the words to search for in addition to its mistyped ones. The visual words of
// an image are not repaired.
func (e *Engine) repair(ctx context.Context, r *search.Run) (err error) {
	if !r.Q.HasText() {
		return nil
	}
	if r.Terms = e.db.Asked(r.Q.Text); r.Q.Exact || r.Q.Places || r.Q.Image != nil {
		return nil
	}
	r.Terms = e.speller.Respelled(r.S.Words, r.Q.Text, r.Terms)
	if r.Repairs, err = e.speller.Repair(ctx, r.S.Words, r.Q.Text, r.Free(), e.knows(r.S)); err == nil {
		r.Terms = r.Repairs.Terms(r.Terms)
	}
	return err
}

// asTyped converts the offsets of a query's tokens to offsets in the typed query. The mistyped words, which come after
// the repaired query, only affect its vector: as tokens their pieces are meaningless.
func asTyped(r *search.Run) {
	if len(r.Repairs) == 0 {
		return
	}
	_, back := r.Repairs.Encoded(r.Q.Text)
	end := int32(len(r.Repairs.Query(r.Q.Text)))
	t := &r.In.Tokens
	t.Offsets, t.Special = slices.Clone(t.Offsets), slices.Clone(t.Special) // the encoder may keep them
	for i, o := range t.Offsets {
		switch {
		case o.Start == o.End: // of no word
		case o.Start >= end:
			t.Special[i], t.Offsets[i] = true, encoder.Span{}
		default:
			t.Offsets[i] = back(o)
		}
	}
}

// knows returns knowledge about words beyond the vocabulary of a state. The model knows a word if it is one
// token; an encoder whose tokens have no names knows none.
func (e *Engine) knows(s *state.State) spelling.Known {
	k := spelling.Known{Written: func(ctx context.Context, term int) ([]string, error) { return e.written(ctx, s, term) }}
	if e.enc == nil || e.fp.VocabSize == 0 || e.images != nil {
		return k
	}
	k.Word = func(word string) bool {
		tokens := e.enc.Tokenize(encoder.Query, word)
		whole := false
		for i, o := range tokens.Offsets {
			if tokens.Special[i] || o.End <= o.Start {
				continue
			}
			if whole {
				return false
			}
			entry := strings.TrimLeft(intake.Token(e.enc, tokens.IDs[i]), "▁Ġ")
			if whole = entry != "" && int(o.End-o.Start) == len(word); !whole {
				return false
			}
		}
		return whole
	}
	return k
}

// writtenIn is the number of documents that are read for the forms of a term.
const writtenIn = 3

// written returns the forms of a term in some documents of a state.
func (e *Engine) written(ctx context.Context, s *state.State, term int) (words []string, err error) {
	ids, err := s.Words.Some(term, writtenIn)
	if err != nil {
		return nil, err
	}
	name := s.Words.Term(term)
	for _, id := range ids {
		d, err := s.View.Text(ctx, chunk.Ord(id))
		if err != nil {
			return nil, state.Missing(err)
		}
		row, err := state.ChunkRow(d, id)
		if err != nil {
			return nil, err
		}
		passage := chunk.Passage(d.Title, d.Text[row.Start:row.End])
		terms, err := e.wordsOf(ctx, passage)
		if err != nil {
			return nil, err
		}
		for _, t := range terms {
			if t.Text == name {
				words = append(words, strings.ToLower(passage[t.Start:t.End]))
			}
		}
	}
	return words, nil
}
