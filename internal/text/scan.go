package text

import (
	"hash/fnv"
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
)

// denseScripts write no spaces between words, or, Hangul, words whose parts
// are searched for.
var denseScripts = []*unicode.RangeTable{
	unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul, unicode.Bopomofo,
	unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar,
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
		if r == 'ー' || r == 'ｰ' || r >= 0x0e00 && unicode.In(r, denseScripts...) {
			return classDense
		}
		return classWord
	}
	return classOther
}

// scanner makes the terms of one text.
type scanner struct {
	a    *Analyzer
	s    string
	dst  []Term
	runs []run  // of the compound in progress
	join []byte // join[i] is the last sign between runs i and i+1
}

// run is a maximal run of word characters.
type run struct {
	start, end int
	letters    bool // and marks and apostrophes, no digit
	camel      bool // an upper-case letter after a lower-case one, or before one and after an upper-case one
}

// run reads the run that starts at i. An apostrophe between letters belongs
// to it, unless the language elides.
func (sc *scanner) run(i int) run {
	r := run{start: i, letters: true}
	var before, last rune
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
		if classOf(c, n) != classWord {
			break
		}
		if unicode.IsDigit(c) {
			r.letters = false
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

// dense makes overlapping pairs of the characters from i on; marks belong to
// the character before them.
func (sc *scanner) dense(i int) int {
	from, prev := -1, -1 // starts of the last character and of the one before it
	emit := func(start, end int) { sc.add(sc.form(start, end), start, end, false, 1) }
	for i < len(sc.s) {
		r, n := decode(sc.s[i:])
		if c := classOf(r, n); c == classOther || c == classWord && !unicode.IsMark(r) {
			break
		}
		if from < 0 || !unicode.IsMark(r) {
			if prev >= 0 {
				emit(prev, i)
			}
			prev, from = from, i
		}
		i += n
	}
	if prev >= 0 {
		emit(prev, i)
	} else {
		emit(from, i)
	}
	return i
}

// form is the lower-cased, normalised form of the bytes [start, end).
func (sc *scanner) form(start, end int) string {
	s := sc.s[start:end]
	for i := 0; i < len(s); i++ {
		if s[i] >= utf8.RuneSelf {
			s = strings.ReplaceAll(norm.NFKC.String(strings.ToLower(norm.NFKC.String(s))), "’", "'")
			return s
		}
	}
	return strings.ToLower(s)
}

// word adds a word, unless it is a function word.
func (sc *scanner) word(start, end int, letters, beside bool, weight float32) {
	w := sc.form(start, end)
	if letters && sc.a.stem != nil && len(w) <= MaxTerm {
		if w = sc.a.stem.of(w); w == "" {
			return
		}
	} else if _, ok := sc.a.stop[w]; ok {
		return
	}
	sc.add(w, start, end, beside, weight)
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
	sc.dst = append(sc.dst, Term{Text: term, Start: start, End: end, Beside: beside, Weight: weight})
}
