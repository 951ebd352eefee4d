package bench

import (
	"context"
	"sync"

	"github.com/lexsem/lexsem/encoder"
	"github.com/lexsem/lexsem/internal/text"
)

// ByTerms returns enc with the terms of the English analysis as tokens, numbered by first occurrence.
// A database does the same if an encoder has no tokenizer. Vectors and fingerprint are those of enc.
// Fitted systems do not work with it, since they must know all tokens beforehand.
func ByTerms(enc encoder.Encoder) (encoder.Encoder, error) { return byTermsOf(enc, "") }

// byTermsOf is ByTerms by the analysis of a language.
func byTermsOf(enc encoder.Encoder, language string) (encoder.Encoder, error) {
	a, err := text.For(language)
	if err != nil {
		return nil, err
	}
	return &byTerms{Encoder: enc, analyzer: a, ids: map[string]int32{}}, nil
}

type byTerms struct {
	encoder.Encoder
	analyzer *text.Analyzer

	mu  sync.Mutex // guards ids
	ids map[string]int32
}

// Encode implements encoder.Encoder.
func (e *byTerms) Encode(ctx context.Context, role encoder.Role, in []encoder.Input, need encoder.Need) ([]encoder.Output, error) {
	out, err := e.Encoder.Encode(ctx, role, in, need)
	for i := range out {
		out[i].Tokens = e.Tokenize(role, in[i].Text)
	}
	return out, err
}

// Tokenize implements encoder.Encoder.
func (e *byTerms) Tokenize(_ encoder.Role, s string) (t encoder.Tokens) {
	terms := e.analyzer.Asked(nil, s)
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, x := range terms {
		id, ok := e.ids[x.Text]
		if !ok {
			id = int32(len(e.ids))
			e.ids[x.Text] = id
		}
		t.IDs, t.Special = append(t.IDs, id), append(t.Special, false)
		t.Offsets = append(t.Offsets, encoder.Span{Start: int32(x.Start), End: int32(x.End)})
	}
	return t
}

// VocabSize implements encoder.Encoder. The vocabulary grows.
func (e *byTerms) VocabSize() int { return 0 }
