package bench

import (
	"context"

	"github.com/lexsem/lexsem/index/inverted"
	"github.com/lexsem/lexsem/internal/text"
)

// lexicon is the lexical leg over the targets of a setting.
type lexicon struct {
	*inverted.Words
	analyzer *text.Analyzer
}

// lexicon makes the inverted index of the corpus at the first call: English
// analysis with stems and without function words, as the engine's default.
func (s *Setting) lexicon(ctx context.Context) (*lexicon, error) {
	if s.words != nil {
		return s.words, nil
	}
	a, err := text.NewAnalyzer(text.Defaults())
	if err != nil {
		return nil, err
	}
	w, err := inverted.NewWords(inverted.Options{Analysis: a.Digest()})
	if err != nil {
		return nil, err
	}
	var terms []text.Term
	for i := range s.Targets.Len() {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		terms = a.Terms(terms[:0], s.Targets.Texts[i])
		if err := w.Add(uint64(i), terms); err != nil {
			return nil, err
		}
	}
	s.words = &lexicon{w, a}
	return s.words, nil
}
