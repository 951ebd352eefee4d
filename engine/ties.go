package engine

import (
	"cmp"
	"slices"
	"unicode"
	"unicode/utf8"

	"github.com/lexsem/lexsem/encoder"
	"github.com/lexsem/lexsem/engine/explain"
	"github.com/lexsem/lexsem/engine/internal/chunk"
	"github.com/lexsem/lexsem/engine/internal/search"
	"github.com/lexsem/lexsem/store"
)

// explainTies fills in what the tokens tell. A word of several tokens has their mean, and the match
// of the one that gives most.
func (e *Engine) explainTies(x *Explanation, r *search.Run, query string, id uint64, d *store.Document) error {
	ties, err := r.Ties(id)
	if err != nil || len(ties) == 0 || e.terms != nil {
		return err
	}
	row := d.Rows[chunk.Number(id)]
	passage, lead, body := e.encodedOf(d.Title, d.Text[row.Start:row.End], len(d.Rows))
	kept := lexicalSpans(e.enc.Tokenize(encoder.Passage, passage))
	asked := r.In.Tokens
	type word struct {
		explain.Tie
		most float64
	}
	var words []word
	for _, tie := range ties {
		if tie.Query >= len(asked.Offsets) || tie.To > len(kept) || tie.From >= tie.To {
			return nil // another tokenizer than that of the codes
		}
		of := wordAt(query, asked.Offsets[tie.Query])
		i := slices.IndexFunc(words, func(w word) bool { return w.Start == of.Start && w.End == of.End })
		if i < 0 {
			i = len(words)
			words = append(words, word{Tie: explain.Tie{Word: query[of.Start:of.End], Start: of.Start, End: of.End}, most: -2})
		}
		w := &words[i]
		w.Weight += tie.Weight
		w.Cosine += tie.Weight * tie.Cosine
		if gives := tie.Weight * tie.Cosine; gives > w.most {
			w.most = gives
			in := wordAt(passage, kept[tie.From])
			w.Match = passage[in.Start:in.End]
			if in.Start >= body {
				w.Field, w.MatchStart, w.MatchEnd = "text", in.Start-body+row.Start, in.End-body+row.Start
			} else {
				w.Field, w.MatchStart, w.MatchEnd = "title", in.Start+lead, in.End+lead
			}
		}
	}
	for _, w := range words {
		if w.Weight > 0 {
			w.Cosine /= w.Weight
		}
		x.Ties = append(x.Ties, w.Tie)
	}
	slices.SortStableFunc(x.Ties, func(a, b explain.Tie) int { return cmp.Compare(a.Start, b.Start) })
	return nil
}

// lexicalSpans are the bytes of the tokens that codes were made of.
func lexicalSpans(t encoder.Tokens) []encoder.Span {
	var spans []encoder.Span
	for i, o := range t.Offsets {
		if !t.Special[i] {
			spans = append(spans, o)
		}
	}
	return spans
}

// wordAt is the word of a text that a token stands in: letters and digits on both sides
// belong to it.
func wordAt(s string, o encoder.Span) chunk.Span {
	w := chunk.Span{Start: min(max(0, int(o.Start)), len(s)), End: min(max(0, int(o.End)), len(s))}
	w.End = max(w.Start, w.End)
	inside := func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsMark(r) }
	if first, _ := utf8.DecodeRuneInString(s[w.Start:w.End]); inside(first) {
		for w.Start > 0 {
			r, n := utf8.DecodeLastRuneInString(s[:w.Start])
			if !inside(r) {
				break
			}
			w.Start -= n
		}
	}
	if last, _ := utf8.DecodeLastRuneInString(s[w.Start:w.End]); inside(last) {
		for w.End < len(s) {
			r, n := utf8.DecodeRuneInString(s[w.End:])
			if !inside(r) {
				break
			}
			w.End += n
		}
	}
	return w
}
