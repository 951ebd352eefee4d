package engine

import (
	"io"

	"github.com/lexsem/lexsem/index/inverted"
	"github.com/lexsem/lexsem/internal/text"
)

// words is the part that finds documents by their words: the lexical leg.
type words struct {
	*inverted.Words
	analyzer *text.Analyzer
	terms    []text.Term
	ids      []uint64
}

func newWords(language string) (*words, error) {
	o := text.Defaults()
	o.Language = language
	a, err := text.NewAnalyzer(o)
	if err != nil {
		return nil, err
	}
	return &words{analyzer: a}, nil
}

func (p *words) options() inverted.Options {
	return inverted.Options{Analysis: p.analyzer.Digest()}
}

func (p *words) kind() string { return "words" }
func (p *words) texts() bool  { return true }
func (p *words) len() int     { return p.Len() }

func (p *words) reset() (err error) {
	p.Words, err = inverted.NewWords(p.options())
	return err
}

func (p *words) load(data []byte) (err error) {
	p.Words, err = inverted.LoadWords(p.options(), data)
	return err
}

func (p *words) save(w io.Writer) (int64, error) { return p.WriteTo(w) }

func (p *words) add(vs []version) error {
	for _, v := range vs {
		p.terms = p.analyzer.Terms(p.terms[:0], v.text)
		if err := p.Add(v.ord, p.terms); err != nil {
			return err
		}
	}
	return nil
}

func (p *words) remove(vs []version) error {
	p.ids = p.ids[:0]
	for _, v := range vs {
		p.ids = append(p.ids, v.ord)
	}
	p.Delete(p.ids)
	return nil
}
