package text

import (
	"hash/fnv"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

type class uint8

const (
	classOther class = iota // separates words
	classWord               // letter, digit or mark
	classDense              // letter of a script written without spaces
	classSign               // a term of one character
)

// denseScripts have no spaces between words or, like Hangul, have words whose parts are searched for.
var denseScripts = []*unicode.RangeTable{
	unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul, unicode.Bopomofo,
	unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar,
}

// Dense reports whether a character belongs to a script without spaces between words, or to Hangul.
func Dense(r rune) bool {
	return r == 'ー' || r == 'ｰ' || r >= 0x0e00 && unicode.In(r, denseScripts...)
}

func decode(s string) (rune, int) {
	if s[0] < utf8.RuneSelf {
		return rune(s[0]), 1
	}
	return utf8.DecodeRuneInString(s)
}

func classOf(r rune, n int) class {
	switch {
	case r < utf8.RuneSelf:
		if 'a' <= r|0x20 && r|0x20 <= 'z' || '0' <= r && r <= '9' {
			return classWord
		}
	case r == utf8.RuneError && n <= 1:
	case unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsMark(r):
		if Dense(r) {
			return classDense
		}
		return classWord
	case unicode.Is(unicode.N, r) || 0x3371 <= r && r <= 0x33df: // CO₂, Ⅳ, ㎡
		return classWord
	case sign(r):
		return classSign
	}
	return classOther
}

// scanner makes the terms of one text.
type scanner struct {
	a         *Analyzer
	asked     bool            // the text is a query
	own       *own            // the text's language, if it is another than the analyzer's
	functions bool            // and has function words alone
	before    string          // the function word that the last word was, as a term; "" for another word
	seen      map[uint32]bool // function words, and pairs of them, that the text has had
	s         string
	dst       []Term
	runs      []run  // of the compound in progress
	join      []byte // join[i] is the last sign between runs i and i+1
}

// run is a maximal run of word characters.
type run struct {
	start, end int
	letters    bool // and marks and apostrophes, no digit
	camel      bool // an upper-case letter after a lower-case one, or before one and after an upper-case one
}

// longName bounds the words, in bytes, whose raised number belongs to the word. After a longer word it marks a footnote.
const longName = 3

// run reads the run that starts at i. An apostrophe between letters belongs
// to it, unless the language elides.
func (sc *scanner) run(i int) run {
	r := run{start: i, letters: true}
	var before, last rune
	name := i // where letters without a raised number began
	for i < len(sc.s) {
		if b := sc.s[i]; 'a' <= b && b <= 'z' && !('A' <= last && last <= 'Z') && last < utf8.RuneSelf {
			before, last = last, rune(b) // as below, for most letters of most texts
			i++
			continue
		}
		c, n := decode(sc.s[i:])
		if (c == '\'' || c == '’') && !sc.a.elides && unicode.IsLetter(last) && nextIsLetter(sc.s[i+n:]) {
			before, last = last, c
			i += n
			continue
		}
		if vanishes(c) && i > r.start && i+n < len(sc.s) {
			if next, size := decode(sc.s[i+n:]); classOf(next, size) == classWord {
				i += n
				continue
			}
		}
		if classOf(c, n) != classWord || raised(c) && i-name > longName {
			break
		}
		if unicode.IsDigit(c) || raised(c) {
			r.letters = false
		}
		if raised(c) {
			name = i + n
		}
		if unicode.IsLower(last) && unicode.IsUpper(c) || unicode.IsUpper(before) && unicode.IsUpper(last) && unicode.IsLower(c) {
			r.camel = true
		}
		before, last = last, c
		i += n
	}
	r.end = i
	return r
}

// dense makes overlapping pairs of the characters from i on; marks belong to the preceding character. The single
// characters are additional terms, for queries of one character. A query has none in addition to its pairs.
func (sc *scanner) dense(i int) int {
	from, prev := -1, -1 // starts of the last character and of the one before it
	alone := func(start, end int) {
		if !sc.asked {
			sc.add(sc.form(start, end), start, end, true, 1)
		}
	}
	stem := 0 // end of a word whose particle follows
	if sc.asked {
		if n := particle(sc.s[i:]); n > 0 {
			stem = i + n
		}
	}
	emit := func(start, end int) {
		if stem > 0 && end > stem {
			sc.add(sc.form(start, end), start, end, true, withParticle)
		} else {
			sc.add(sc.form(start, end), start, end, false, 1)
		}
		if end > from && from > start {
			alone(start, from)
		}
	}
	for i < len(sc.s) {
		r, n := decode(sc.s[i:])
		if c := classOf(r, n); c == classOther || c == classWord && !unicode.IsMark(r) {
			break
		}
		if from < 0 || !unicode.IsMark(r) {
			if prev >= 0 {
				emit(prev, i)
			} else if from >= 0 && i == stem { // of one character
				sc.add(sc.form(from, i), from, i, false, 1)
			}
			prev, from = from, i
		}
		i += n
	}
	if prev >= 0 {
		emit(prev, i)
		alone(from, i)
	} else {
		emit(from, i)
	}
	return i
}

// signs are normalised in a term: to ASCII, a final sigma to the usual one, and invisible characters are
// removed.
var signs = strings.NewReplacer("’", "'", "\u2010", "-", "ς", "σ", "\u00ad", "", "\u200b", "", "\u200d", "", "\u2060", "", "\ufeff", "")

// form is the lower-cased, normalised form of the bytes [start, end).
func (sc *scanner) form(start, end int) string {
	s, _ := sc.formed(start, end)
	return s
}

// formed is form, and reports whether all bytes are ASCII.
func (sc *scanner) formed(start, end int) (form string, ascii bool) {
	s := sc.s[start:end]
	for i := 0; i < len(s); i++ {
		if s[i] >= utf8.RuneSelf {
			return signs.Replace(norm.NFKC.String(strings.ToLower(norm.NFKC.String(s)))), false
		}
	}
	return strings.ToLower(s), true
}

// Accented is the share of a query word's weight for its form with accents; the form without has the rest.
const Accented = 0.6

// word adds a word, unless it is a function word, and its form without accents as an additional term.
func (sc *scanner) word(start, end int, letters, beside bool, weight float32) {
	w, ascii := sc.formed(start, end)
	plain := w
	if !ascii && len(w) <= MaxTerm {
		plain = unaccented(w)
	}
	if plain == w {
		sc.stemmed(w, start, end, letters, beside, weight)
		return
	}
	n := len(sc.dst)
	if !sc.stemmed(w, start, end, letters, beside, weight*Accented) {
		return
	}
	sc.stemmed(plain, start, end, letters, true, weight*(1-Accented))
	last := n
	for _, t := range sc.dst[n:] { // stems without accents are there twice
		if i := slices.IndexFunc(sc.dst[n:last], func(u Term) bool { return u.Text == t.Text }); i >= 0 {
			sc.dst[n+i].Weight += t.Weight
			continue
		}
		sc.dst[last] = t
		last++
	}
	sc.dst = sc.dst[:last]
}

// stemmed adds the term of a word and returns true, or handles a function word.
func (sc *scanner) stemmed(w string, start, end int, letters, beside bool, weight float32) bool {
	stem := w
	guest, of := sc.guest(w, letters)
	switch {
	case of:
		if stem = guest; sc.stops(w) {
			stem = ""
		}
	case letters && sc.a.stem != nil && len(w) <= MaxTerm:
		stem = sc.a.stem.of(w)
	case sc.stops(w):
		stem = ""
	}
	if stem == "" {
		sc.function(w, start, end, beside)
		return false
	}
	if sc.own != nil && !of && letters && len(w) <= MaxTerm {
		if own := sc.own.stemOf(w); own != stem {
			sc.add(stem, start, end, beside, weight*(1-ownStem))
			if own != "" {
				sc.add(own, start, end, true, weight*ownStem)
			}
			return true
		}
	}
	sc.add(stem, start, end, beside, weight)
	return true
}

func (sc *scanner) stops(w string) bool { _, ok := sc.a.stop[w]; return ok }

// guest returns the stem of a word in the script of another language.
func (sc *scanner) guest(w string, letters bool) (stem string, of bool) {
	if letters && w != "" && w[0] >= utf8.RuneSelf && len(w) <= MaxTerm {
		for _, g := range sc.a.guests {
			if stem, of = g.stemOf(w); of {
				return stem, true
			}
		}
	}
	return "", false
}

func (sc *scanner) add(term string, start, end int, beside bool, weight float32) {
	if len(term) > MaxTerm {
		h := fnv.New64a()
		h.Write([]byte(term))
		n := MaxTerm - 17
		for !utf8.RuneStart(term[n]) {
			n--
		}
		term = term[:n] + "~" + strconv.FormatUint(h.Sum64(), 16)
	}
	if !beside {
		sc.before = ""
	}
	sc.dst = append(sc.dst, Term{Text: term, Start: start, End: end, Beside: beside, Weight: weight})
}
