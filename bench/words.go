package bench

import (
	"context"
	"fmt"
	"strings"

	"github.com/lexsem/lexsem/internal/inverted"
	"github.com/lexsem/lexsem/internal/text"
)

// lexicon is the lexical leg over the targets of a setting.
type lexicon struct {
	*inverted.Words
	analyzer *text.Analyzer
	outside  *outside // targets that Words does not hold; nil for none
}

// lexicon makes the inverted index of the corpus at the first call: analysis
// by Language with stems and without function words, as the engine's default.
func (s *Setting) lexicon(ctx context.Context) (*lexicon, error) {
	if s.words != nil {
		return s.words, nil
	}
	l, err := s.newLexicon(ctx, text.Options{Language: s.Language, Stem: true, Stop: true}, inverted.Options{})
	s.words = l
	return l, err
}

// checkLanguage refuses an unknown language.
func checkLanguage(code string) error {
	if _, err := text.For(code); err != nil {
		return fmt.Errorf("%w: language %q: %w", ErrOption, code, err)
	}
	return nil
}

// newLexicon makes an inverted index over the targets.
func (s *Setting) newLexicon(ctx context.Context, analysis text.Options, o inverted.Options) (*lexicon, error) {
	a, err := text.NewAnalyzer(analysis)
	if err != nil {
		return nil, err
	}
	o.Analysis = a.Digest()
	w, err := inverted.NewWords(o)
	if err != nil {
		return nil, err
	}
	e := w.Edit()
	var out *outside
	if s.Known != nil {
		out = newOutside(o)
	}
	var terms []text.Term
	for i, p := range s.Passages {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		terms = a.Terms(terms[:0], s.spelled(s.Targets.first[i].Text(), p))
		if s.Spell == nil {
			terms = text.InTitle(terms, len(strings.TrimSpace(s.Targets.first[i].Title)))
		}
		if out != nil && !out.takes(i, terms, s.Known(i)) {
			continue
		}
		if err := e.Add(uint64(i), terms); err != nil {
			return nil, err
		}
	}
	return &lexicon{e.Done(), a, out}, nil
}
