package spelling

import (
	"slices"
	"weak"

	"github.com/lexsem/lexsem/internal/inverted"
)

// mostJudged is the number of words that are kept, some 300 bytes each.
const mostJudged = 4096

// word is a word that may be mistyped: in small letters, its term, and the number of documents that have it.
type word struct {
	typed, term string
	df          int
}

// judgement is what the vocabulary says of a word, whatever the other words of the query are. It never changes.
type judgement struct {
	made bool            // of known words, see madeOf
	near []candidate     // the best ones
	read map[int]written // what documents say of the terms of near, as far as they were asked
}

// written is the result of work.read.
type written struct {
	form
	ok bool
}

// judgement returns what is kept about a word of x.
func (s *Speller) judgement(x *inverted.Words, w word) (j judgement, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.of == weak.Make(x) {
		j, ok = s.judged[w]
	}
	return j, ok
}

// keep keeps a judgement about a word of x, and forgets those of other values.
func (s *Speller) keep(x *inverted.Words, w word, j judgement) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if of := weak.Make(x); s.judged == nil || s.of != of || len(s.judged) >= mostJudged {
		s.of, s.judged = of, map[word]judgement{}
	}
	s.judged[w] = j
}

// judge looks for the words that a word may be meant for.
func (w *work) judge(u word) (j judgement) {
	j.made = w.madeOf(u.typed, u.term)
	if j.made && (u.df > 0 || w.known.Word == nil) {
		return j
	}
	j.read = map[int]written{}
	letters, least := []rune(u.typed), max(leastDF(w.x.Len()), often*u.df)
	most := mostEdits(letters, u.df > 0)
	w.near(u.typed, u.term, most, least, func(n int) {
		if slices.ContainsFunc(j.near, func(c candidate) bool { return c.term == n }) {
			return
		}
		f, ok := w.written(letters, u.term, w.x.Term(n), most)
		if !ok || j.made && !(f.known && f.edits == 1) {
			return
		}
		j.near = append(j.near, candidate{term: n, form: f, weight: f.likely(letters, w.x.DF(n))})
	})
	slices.SortStableFunc(j.near, better)
	j.near = slices.Clone(j.near[:min(len(j.near), mostTried)])
	return j
}

// mostEdits is the number of edits that are repaired in a word. stands says that documents have it.
func mostEdits(letters []rune, stands bool) int {
	if len(letters) >= longTyped && !stands {
		return 2
	}
	return 1
}
