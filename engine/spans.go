package engine

import (
	"context"
	"strings"
	"unicode/utf8"

	"github.com/lexsem/lexsem/encoder"
	"github.com/lexsem/lexsem/engine/internal/search"
	"github.com/lexsem/lexsem/engine/internal/span"
	"github.com/lexsem/lexsem/internal/chunk"
	"github.com/lexsem/lexsem/internal/late"
	"github.com/lexsem/lexsem/internal/text"
)

// spans gives hits their spans; found are their chunks. For the share of a query that the encoder does not know, the
// words decide.
func (e *Engine) spans(ctx context.Context, r *search.Run, found []search.Found, hits []Hit) error {
	var ties []late.Tie // room for those of one hit
	for i := range hits {
		h := &hits[i]
		matches, compared, err := e.tiesIn(ctx, r, found[i].Ord, h, &ties)
		if err != nil {
			return err
		}
		if unknown := r.Facts.Unknown; !compared || unknown > 0 {
			words, err := e.wordsOf(ctx, h.Text)
			if err != nil {
				return err
			}
			byWords := span.Words(r.Terms, words, r.S.Words.IDF)
			if compared {
				matches = span.Mixed(matches, byWords, unknown)
			} else {
				matches = byWords
			}
		}
		if h.Span, h.SpanLines, err = span.Place(ctx, h.Text, h.Start, h.Lines[0], matches); err != nil {
			return err
		}
	}
	return nil
}

// tiesIn returns the positions in a hit's text of the tokens that match those of the query; room is reused between
// hits. compared is false if the passage has no states, or if the positions of its tokens are unknown.
func (e *Engine) tiesIn(ctx context.Context, r *search.Run, id uint64, h *Hit, room *[]late.Tie) (matches []span.Match, compared bool, err error) {
	if e.terms != nil {
		return nil, false, nil
	}
	ties, err := r.Cosines((*room)[:0], id)
	*room = ties
	if err != nil || len(ties) == 0 {
		return nil, false, err
	}
	states := ties[len(ties)-1].To
	passage, _, body := e.encodedOf(h.Title, h.Text, h.Chunks)
	// A text that was cut is tokenized only as far as its states can reach.
	tokens, unmarked, err := e.codedSpans(ctx, passage[:frontOf(passage, 64*(states+64))], search.OfSource(h.Metadata), states)
	if err != nil || tokens == nil {
		return nil, false, err // nil: another tokenizer than that of the codes
	}
	matches = make([]span.Match, 0, len(ties))
	for _, t := range ties {
		if unmarked && late.Punctuation(r.Q.Text, r.In.Tokens, t.Query) { // no state of the passage matches it
			continue
		}
		start, end := int(tokens[t.From].Start)-body, int(tokens[t.To-1].End)-body
		matches = append(matches, span.Match{Start: start, End: end, Part: t.Query, Gain: t.Weight * t.Cosine})
	}
	return matches, len(matches) > 0, nil
}

// encodedOf is the encoded text of a chunk with this title and text. lead is the number of white-space bytes cut from
// its start, and body the start of the chunk's text in it. body is negative if the title is empty and the text begins
// with white space.
func (e *Engine) encodedOf(title, text string, chunks int) (passage string, lead, body int) {
	if chunks > 1 {
		title = e.chunks.TitleOf(title)
	}
	whole := title + " " + text
	s := chunk.Trim(whole, chunk.Span{End: len(whole)})
	return whole[s.Start:s.End], s.Start, len(title) + 1 - s.Start
}

// analysed is the number of bytes of a text that are analysed between two looks at the context.
const analysed = 64 << 10

// wordsOf returns the terms of a text.
func (e *Engine) wordsOf(ctx context.Context, s string) (terms []text.Term, err error) {
	for at := 0; at < len(s); {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		end, n := at+frontOf(s[at:], analysed), len(terms)
		terms = e.db.Terms(terms, s[at:end])
		for i := range terms[n:] {
			terms[n+i].Start += at
			terms[n+i].End += at
		}
		at = end
	}
	return terms, nil
}

// frontOf returns where s is cut after n bytes: after the next blank within 4 KiB. Without one, it is the end of s if
// that is as near, else the end of the current character.
func frontOf(s string, n int) int {
	if n >= len(s) {
		return len(s)
	}
	near := s[n:min(len(s), n+4096)]
	if i := strings.IndexAny(near, " \t\r\n"); i >= 0 {
		return n + i + 1
	}
	if n+len(near) == len(s) {
		return len(s)
	}
	for n < len(s) && !utf8.RuneStart(s[n]) {
		n++
	}
	return n
}

// codedSpans returns the byte ranges of the tokens that codes of so many states were made from, nil if it is not known.
// unmarked says that punctuation has no codes; older programs made codes of all but special tokens, and encoded all of
// source code.
func (e *Engine) codedSpans(ctx context.Context, passage string, source bool, states int) (spans []encoder.Span, unmarked bool, err error) {
	encoded := []string{passage}
	if source {
		encoded = []string{search.CodeWords(passage), passage}
	}
	for _, s := range encoded {
		t, err := e.chunks.Tokenize(ctx, s)
		if err != nil {
			return nil, false, err
		}
		for i, skip := range [][]bool{t.Special, late.Skip(s, t)} {
			spans = spans[:0]
			for j, o := range t.Offsets {
				if !skip[j] {
					spans = append(spans, o)
				}
			}
			if len(spans) == states && states > 0 {
				return spans, i > 0 || s != passage, nil
			}
		}
	}
	return nil, false, nil
}
