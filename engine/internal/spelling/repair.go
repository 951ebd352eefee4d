package spelling

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/lexsem/lexsem/internal/inverted"
	"github.com/lexsem/lexsem/internal/text"
)

const (
	leastTyped   = 4   // letters of a word that is repaired; unknown words of three are abbreviations: mlk, cma, pll
	leastPart    = 4   // letters of each of the words that a compound is made of
	longTyped    = 8   // letters from which on two edits are repaired
	mostRepaired = 4   // unknown words of a query; one with more is in another language, or code. As many rare ones
	mostLooked   = 16  // unknown terms of a query, codes and names included
	mostOthers   = 32  // known terms of a query that candidates are looked for beside
	walked       = 32  // documents that are looked through for two words
	rare         = 100 // documents to one that counts as having a function word
	mostTried    = 4   // candidates that are looked for beside the query's other words
	unlikely     = 25  // typos of a kind in which any letter may be wrong to one of the others
	notFirst     = 4   // typos in another letter to one in the first
	often        = 50  // documents with a word to one with its typo
	mostStands   = 4   // documents that have a typo
	leastStands  = 6   // letters of a typo that documents have
)

// Repair is a word that is searched for in addition to a mistyped one.
type Repair struct {
	Start, End int    // bytes of the mistyped word in the query
	Word       string // as it is written
	Term       string // as the vocabulary has it; "" for a function word
	Stands     bool   // the mistyped word is in some documents
}

// Known holds knowledge about words beyond the vocabulary.
type Known struct {
	// Word reports whether the model knows a word as a whole; it is nil if that is unknown.
	Word func(word string) bool
	// Written returns the lower-cased forms of a term in some documents that have it.
	Written func(ctx context.Context, term int) ([]string, error)
}

// Repair returns the words to search for in addition to the words of a query with the given terms. A word is
// mistyped if neither the vocabulary of x nor the model knows it or what it is derived from, and a term of x is near it. A word of the vocabulary
// is mistyped if it begins with a small letter, at most four documents have it, and 50 times as many have a word one
// edit away. In 78,703 texts 37 of 536 such typos of 300 questions got the right word and 4 another; of the words of
// 3,410 queries without made typos ten were changed, five of them typos. What k knows is kept as long as x stays the
// same. Errors: that of ctx, ErrCorrupt, those of Known.Written.
func (s *Speller) Repair(ctx context.Context, x *inverted.Words, query string, terms []text.Term, k Known) (Repairs, error) {
	unknown, err := s.unknown(ctx, x, query, terms)
	if err != nil {
		return nil, err
	}
	if k.Word != nil {
		english := s.english()
		unknown = slices.DeleteFunc(unknown, func(u suspect) bool {
			typed := query[u.Start:u.End]
			return k.Word(typed) || english && k.derived(strings.ToLower(typed))
		})
	}
	standing := 0
	for _, u := range unknown {
		if u.df > 0 {
			standing++
		}
	}
	if len(unknown)-standing > mostRepaired {
		return nil, nil
	}
	if standing > mostRepaired { // rare words of a text
		unknown = slices.DeleteFunc(unknown, func(u suspect) bool { return u.df > 0 })
	}
	if len(unknown) == 0 {
		return nil, nil
	}
	t, err := s.tableOf(ctx, x)
	if err != nil {
		return nil, err
	}
	w := &work{s: s, x: x, table: t, known: k}
	for _, o := range terms {
		if len(w.others) == mostOthers {
			break
		}
		if n, ok := x.Find(o.Text); ok && !slices.ContainsFunc(unknown, func(u suspect) bool { return u.Text == o.Text }) {
			w.others = append(w.others, n)
		}
	}
	var out Repairs
	for _, u := range unknown {
		c, ok, err := w.repair(ctx, strings.ToLower(query[u.Start:u.End]), u)
		if err != nil {
			return nil, err
		}
		if ok {
			r := Repair{Start: u.Start, End: u.End, Word: c.word, Stands: u.df > 0}
			if c.term >= 0 {
				r.Term = x.Term(c.term)
			}
			out = append(out, r)
		}
	}
	return out, nil
}

// suspect is a word that may be mistyped.
type suspect struct {
	text.Term
	df int // documents that have it
}

// unknown returns the words of a query that may be mistyped: no document of x has them, or few.
func (s *Speller) unknown(ctx context.Context, x *inverted.Words, query string, terms []text.Term) (out []suspect, err error) {
	looked := 0
	for i, t := range terms {
		if i%looks == looks-1 && ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if t.Beside {
			continue
		}
		df, typed := documents(x, terms, i), query[t.Start:t.End]
		if df > 0 && (df > mostStands || df > x.Len()/often || !mayStand(typed)) {
			continue
		}
		if df == 0 {
			looked++
		}
		if looked > mostLooked {
			return nil, nil
		}
		if t.Weight >= text.Accented && isWord(typed) && !inName(terms, i, df == 0 && s.miscased(x, typed)) && !quoted(query, t.Start) {
			out = append(out, suspect{t, df})
		}
	}
	return out, nil
}

// isWord reports whether a text is a word that may be mistyped: one of letters that is no abbreviation.
func isWord(typed string) bool {
	n, upper := 0, 0
	for _, r := range typed {
		switch {
		case unicode.IsMark(r):
			continue
		case !unicode.IsLetter(r) || text.Dense(r):
			return false
		case unicode.IsUpper(r):
			upper++
		}
		n++
	}
	return n >= leastTyped && n <= maxLetters && upper < n
}

// mayStand reports whether a word may be mistyped although documents have it. One that begins with a capital is a name.
func mayStand(typed string) bool {
	first, _ := utf8.DecodeRuneInString(typed)
	return unicode.IsLower(first) && utf8.RuneCountInString(typed) >= leastStands
}

// documents is the number of documents that have the word of a term, as typed or without its accents; the form without
// accents is the next term.
func documents(x *inverted.Words, terms []text.Term, i int) (df int) {
	for _, o := range terms[i:] {
		if !same(o, terms[i]) {
			break
		}
		if n, ok := x.Find(o.Text); ok {
			df = max(df, x.DF(n))
		}
	}
	return df
}

// same reports whether two terms are one word, with and without its accents.
func same(a, b text.Term) bool { return a.Start == b.Start && a.End == b.End }

// inName reports whether a term is part of a name, or occurs earlier in the query. The pieces of a miscased word make no
// name of it.
func inName(terms []text.Term, i int, miscased bool) bool {
	t := terms[i]
	for j, o := range terms {
		if j == i || same(o, t) && o.Text != t.Text || miscased && t.Start <= o.Start && o.End <= t.End {
			continue
		}
		if o.Text == t.Text || o.Beside && o.Start < t.End && t.Start < o.End {
			return true
		}
	}
	return false
}

// miscased reports whether a word looks like a name because of a capital that is a typo: documents have the word without
// it where it repeats the first letter, as in MMoon and CofCfee, or with it one letter earlier, as for uArora. NodeJs and OAuth
// are names.
func (s *Speller) miscased(x *inverted.Words, typed string) bool {
	r := []rune(typed)
	at := 1 + slices.IndexFunc(r[1:], unicode.IsUpper)
	if at == 0 || slices.ContainsFunc(r[at+1:], unicode.IsUpper) {
		return false
	}
	w := &work{s: s, x: x}
	if r[at] == r[0] && w.has(strings.ToLower(string(r[:at])+string(r[at+1:]))) {
		return true
	}
	r[at-1], r[at] = r[at], r[at-1]
	return w.has(strings.ToLower(string(r)))
}

// quotes maps opening to closing quotation marks.
var quotes = map[rune]rune{'"': '"', '“': '”', '„': '“', '«': '»'}

// quoted reports whether byte at of a query is between double quotes.
func quoted(query string, at int) bool {
	for i := 0; i < at; {
		r, n := utf8.DecodeRuneInString(query[i:])
		i += n
		end, ok := quotes[r]
		if !ok {
			continue
		}
		n = strings.IndexRune(query[i:], end)
		if n < 0 {
			continue
		}
		if at < i+n {
			return i <= at
		}
		i += n + utf8.RuneLen(end)
	}
	return false
}

// work repairs the words of one query.
type work struct {
	s      *Speller
	x      *inverted.Words
	table  *table
	known  Known
	others []int // terms of the query that x has
}

// candidate is a term that a mistyped word may be meant for.
type candidate struct {
	term int // -1 for a function word
	form
	weight float64 // see likely
	beside bool    // a document may have it and another word of the query
	alone  bool    // none was found that does, and the query has other words
}

// repair finds the word that a mistyped word stands for. With two edits, or if the mistyped word is in x, a document must
// also have another word of the query.
func (w *work) repair(ctx context.Context, typed string, u suspect) (c candidate, ok bool, err error) {
	stem, stands := u.Text, u.df > 0
	key := word{typed, stem, u.df}
	j, kept := w.s.judgement(w.x, key)
	if !kept {
		j = w.judge(key)
		w.s.keep(w.x, key, j)
	}
	made := j.made
	if made && (stands || w.known.Word == nil) {
		return c, false, nil
	}
	letters := []rune(typed)
	if !stands && !made {
		if c, ok := w.function(letters, true); ok {
			return c, true, nil
		}
	}
	all := slices.Clone(j.near)
	for i := range all {
		found, may, err := w.beside(ctx, all[i].term)
		if err != nil {
			return c, false, err
		}
		all[i].beside = may
		all[i].alone = !found && len(w.others) > 0
	}
	all = slices.DeleteFunc(all, func(c candidate) bool { return (c.edits > 1 || stands) && c.alone })
	slices.SortStableFunc(all, better)
	if !stands && !made {
		if c, ok := w.function(letters, false); ok && (len(all) == 0 || all[0].edits > 1 || all[0].weight < c.weight) {
			return c, true, nil
		}
	}
	most := mostEdits(letters, stands)
	for _, o := range all {
		if ok && o.edits > all[0].edits {
			break
		}
		if o.known {
			return o, true, nil
		}
		r, kept := j.read[o.term]
		if !kept {
			if r.form, r.ok, err = w.read(ctx, o.term, letters, stem, most); err != nil {
				return c, false, err
			}
			j.read = maps.Clone(j.read)
			j.read[o.term] = r
			w.s.keep(w.x, key, j)
		}
		if !r.ok || r.edits > most && stands {
			continue
		}
		guessed := o.edits
		if o.form = r.form; o.edits <= guessed {
			return o, true, nil
		}
		if !ok { // no document has the guessed form
			c, ok = o, true
		}
	}
	return c, ok, nil
}

// better orders candidates of equal distance: one that occurs together with the query's other words comes first, then
// the most likely one.
func better(a, b candidate) int {
	truth := func(a, b bool) int {
		switch {
		case a == b:
			return 0
		case a:
			return -1
		}
		return 1
	}
	return cmp.Or(a.edits-b.edits, truth(a.beside, b.beside), cmp.Compare(b.weight, a.weight))
}

// likely weighs that a form of a word in df documents was meant: their number by the probability of the typo.
func (f form) likely(typed []rune, df int) float64 {
	w, word := float64(df), []rune(f.word)
	if f.edits > 1 || !few(typed, word) {
		w /= unlikely
	}
	if typed[0] != word[0] {
		w /= notFirst
	}
	return w
}

// few reports whether a typed word, one edit away from another, is one of its few typos: a letter is missing or doubled,
// or two are swapped. A letter can be inserted or replaced in 25 times as many ways.
func few(typed, word []rune) bool {
	at := 0 // where they differ
	for at < len(typed) && at < len(word) && typed[at] == word[at] {
		at++
	}
	switch len(typed) - len(word) {
	case 1:
		return at > 0 && typed[at] == typed[at-1]
	case 0:
		return at+1 < len(typed) && typed[at] == word[at+1] && typed[at+1] == word[at]
	}
	return true
}

// leastDF returns the minimum number of documents, out of n, that must contain a candidate.
func leastDF(n int) int { return 1 + min(n/10_000, 4) }

// beside looks for documents with a term and another word of the query. may is true if there is one, or if there are
// too many documents to check.
func (w *work) beside(ctx context.Context, term int) (found, may bool, err error) {
	for _, o := range w.others {
		if o == term {
			continue
		}
		one, all, err := w.x.Together(ctx, term, o, walked)
		if one || err != nil {
			return one, one, err
		}
		may = may || !all
	}
	return false, may, nil
}
