package inverted

import (
	"iter"
	"slices"
	"strings"
	"unicode"

	"github.com/lexsem/lexsem/internal/text"
)

// Corpus holds the numbers that BM25 needs about documents in another engine's index.
type Corpus struct {
	Documents int            // N
	Length    int64          // number of terms of all documents (Length), Beside terms included
	Having    map[string]int // number of documents that have a term, for the terms of a query; a missing term means 0
}

// Length is the number of terms of a document that count in its BM25; function words do not count.
func Length(terms []text.Term) (n int) {
	for _, t := range terms {
		if !text.Function(t.Text) {
			n++
		}
	}
	return n
}

// Spell writes the terms of a document as one text for an engine that splits at white space, in
// their order. One space separates two words, and two terms with Term.Beside; two spaces separate a
// word and a term with Term.Beside. Three spaces end the title; a word follows, unless two more
// spaces follow. White space in a term becomes "_" (SpellTerm).
func Spell(terms []text.Term) string {
	var b strings.Builder
	beside := false
	for i, t := range terms {
		switch {
		case i == 0:
		case terms[i-1].Title && !t.Title:
			b.WriteString("   ")
			beside = false
		case t.Beside == beside:
			b.WriteString(" ")
		}
		if t.Beside != beside {
			b.WriteString("  ")
			beside = t.Beside
		}
		b.WriteString(SpellTerm(t.Text))
	}
	if n := len(terms); n > 0 && terms[n-1].Title {
		b.WriteString("   ")
	}
	return b.String()
}

// Unspell returns the terms that Spell wrote, without their places.
func Unspell(spelled string) (terms []text.Term) {
	for t := range each(spelled) {
		if !t.endTitle {
			terms = append(terms, text.Term{Text: t.text, Beside: t.beside})
		}
	}
	return terms
}

// SpellTerm is one term as Spell writes it.
func SpellTerm(term string) string {
	if strings.ContainsFunc(term, unicode.IsSpace) {
		return strings.Map(func(r rune) rune {
			if unicode.IsSpace(r) {
				return '_'
			}
			return r
		}, term)
	}
	return term
}

// spelledTerm is a term in a spelled text, or the end of its title.
type spelledTerm struct {
	text     string
	beside   bool
	endTitle bool // text is "": the title ends here
}

// each yields the terms of a spelled text. Texts of earlier versions have the terms with Term.Beside
// at their end, and no title.
func each(spelled string) iter.Seq[spelledTerm] {
	return func(yield func(spelledTerm) bool) {
		beside := false
		for len(spelled) > 0 {
			gap := 0
			for gap < len(spelled) && spelled[gap] == ' ' {
				gap++
			}
			spelled = spelled[gap:]
			if gap >= 3 {
				if !yield(spelledTerm{endTitle: true}) {
					return
				}
				gap, beside = gap-3, false
			}
			if gap == 2 {
				beside = !beside
			}
			end := strings.IndexByte(spelled, ' ')
			if end < 0 {
				end = len(spelled)
			}
			if end > 0 && !yield(spelledTerm{text: spelled[:end], beside: beside}) {
				return
			}
			spelled = spelled[end:]
		}
	}
}

// Scorer matches one query with documents that another engine indexes, from their spelled terms,
// with the same numbers as Words of the same documents. For one goroutine.
type Scorer struct {
	corpus Corpus
	o      Options
	terms  []text.Term // of the query
	q      query
	number map[string]uint32 // 1 + index in q.terms, by spelled term
	may    [256]uint64       // by first byte, a bit for each length of a term in number, modulo 64
	finder *finder
}

// find is 1 + the index of a term in q, 0 for other terms. For most words of a document, first byte
// and length already show that they are other terms.
func (s *Scorer) find(term string) uint32 {
	if s.may[term[0]]>>(len(term)&63)&1 == 0 {
		return 0
	}
	return s.number[term]
}

// NewScorer makes a Scorer. Error: ErrOptions.
func NewScorer(o Options, c Corpus, terms []text.Term) (*Scorer, error) {
	o, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	terms = spelled(terms)
	s := &Scorer{corpus: c, o: o, terms: terms, number: map[string]uint32{}}
	for _, t := range distinct(terms) {
		weight := float64(t.Weight) * s.IDF(t.Text) * (o.K1 + 1)
		s.q.limit += weight
		if t.Text != "" && c.Having[t.Text] > 0 {
			s.q.terms = append(s.q.terms, queryTerm{weight: weight})
			s.number[t.Text] = uint32(len(s.q.terms))
			s.may[t.Text[0]] |= 1 << (len(t.Text) & 63)
		}
	}
	s.q.base = o.K1 * (1 - o.B)
	if c.Length > 0 {
		s.q.slope = o.K1 * o.B * float64(c.Documents) / float64(c.Length)
	}
	s.q.counts = make([]uint32, len(s.q.terms))
	s.finder = newFinder(&s.q, terms, s.IDF, func(word string) uint32 { return s.number[word] })
	return s, nil
}

// spelled returns the terms of a query in the form of Spell.
func spelled(terms []text.Term) []text.Term {
	terms = slices.Clone(terms)
	for i := range terms {
		terms[i].Text = SpellTerm(terms[i].Text)
	}
	return terms
}

// Asked returns the distinct terms of a query in the form of Spell, in order of first occurrence,
// each with its highest weight. An engine is asked for these.
func Asked(terms []text.Term) []text.Term { return distinct(spelled(terms)) }

// IDF is Words.IDF over the corpus, for a term in plain or spelled form. A term that the corpus does
// not list counts as one that no document has.
func (s *Scorer) IDF(term string) float64 {
	// Counts that were taken one after the other may belong to different moments.
	return idf(s.corpus.Documents, uint32(min(s.corpus.Having[SpellTerm(term)], s.corpus.Documents)))
}

// UB is Words.UB.
func (s *Scorer) UB() float64 { return s.q.limit }

// Match returns the match of the query with a document, given as spelled terms. Cost: one walk over
// them.
func (s *Scorer) Match(spelled string) Match {
	length := s.count(spelled)
	return s.finder.matched(s.q.bm25(length))
}

// count counts the terms of a document.
func (s *Scorer) count(spelled string) (length uint32) {
	f := s.finder
	f.begin()
	title := strings.Contains(spelled, "   ") // three spaces end it
	for t := range each(spelled) {
		if t.endTitle {
			f.endTitle()
			title = false
			continue
		}
		if !text.Function(t.text) {
			length++
		}
		n := s.find(t.text)
		switch {
		case !t.beside:
			f.word(n)
		case n > 0 || title || f.chain.open():
			f.beside(n, whole(t.text))
		}
	}
	return length
}

// Explain is Words.Explain for a document given as spelled terms.
func (s *Scorer) Explain(dst []TermScore, spelled string) []TermScore {
	length := s.count(spelled)
	for _, t := range distinct(s.terms) {
		e := TermScore{Term: t.Text, IDF: s.IDF(t.Text), Documents: s.corpus.Having[t.Text]}
		e.Most = float64(t.Weight) * e.IDF * (s.o.K1 + 1)
		if n := s.number[t.Text]; n > 0 {
			if e.Count = int(s.q.counts[n-1]); e.Count > 0 {
				e.Score = s.q.saturate(s.q.terms[n-1].weight, s.q.counts[n-1], length)
			}
		}
		dst = append(dst, e)
	}
	return dst
}

// Pairs numbers the pairs of adjacent words of documents given as spelled terms, as
// Words.PairNumbers does. For one goroutine.
type Pairs struct{ number map[string]uint32 }

// Numbers appends a number for each distinct pair of adjacent words, ascending; one number for a
// document of one word, nothing for one without words.
func (p *Pairs) Numbers(dst []uint64, spelled string) []uint64 {
	if p.number == nil {
		p.number = map[string]uint32{}
	}
	at, last, n := len(dst), uint32(0), 0
	for t := range each(spelled) {
		if t.beside || t.endTitle {
			continue
		}
		id, ok := p.number[t.text]
		if !ok {
			id = uint32(len(p.number))
			p.number[t.text] = id
		}
		if n > 0 {
			dst = append(dst, uint64(last)<<32|uint64(id))
		}
		last = id
		n++
	}
	if n == 1 {
		dst = append(dst, alone|uint64(last))
	}
	slices.Sort(dst[at:])
	return dst[:at+len(slices.Compact(dst[at:]))]
}
