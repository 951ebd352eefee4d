package text

import (
	"strings"
	"unicode"
)

// Function words say nothing about the topic of a text, so they do not count as words. But some queries consist only of
// them: "the who", "to be or not to be". So function words get terms of their own: =to for each, =to=be for each pair
// of neighbours, and =US for one in capitals, each once.

// functionMark is the first character of the terms of function words, and of no others.
const functionMark = '='

// Function reports whether a term stands for function words.
func Function(term string) bool { return term != "" && term[0] == functionMark }

// Functions reports whether all terms stand for function words; false if there are none.
func Functions(terms []Term) bool {
	for _, t := range terms {
		if !Function(t.Text) {
			return false
		}
	}
	return len(terms) > 0
}

// Shown returns a term in the form for people.
func Shown(term string) string {
	if !Function(term) {
		return term
	}
	return strings.ReplaceAll(term[1:], string(functionMark), " ")
}

const (
	inCapitals = 1 << 16 // bit of scanner.seen: the word stands in capitals
	pairShift  = 17      // from this bit on, 1 and the number of the word before
)

// function adds a function word.
func (sc *scanner) function(w string, start, end int, beside bool) {
	number, ok := sc.a.number[w]
	if !ok || beside {
		return
	}
	n, before := uint32(number), sc.before
	sc.before = w
	capitals := end-start > 1 && strings.IndexFunc(sc.s[start:end], func(r rune) bool { return !unicode.IsUpper(r) }) < 0
	alone := !sc.asked || sc.functions // the term does not depend on the others
	if capitals && (alone || strings.ContainsFunc(sc.s, unicode.IsLower)) && sc.first(n|inCapitals) {
		sc.add(string(functionMark)+sc.s[start:end], start, end, true, 1)
	}
	if alone && sc.first(n) {
		sc.add(string(functionMark)+w, start, end, true, 1)
	}
	if alone && before != "" && sc.first(n|(uint32(sc.a.number[before])+1)<<pairShift) {
		sc.add(string(functionMark)+before+string(functionMark)+w, start, end, true, 1)
	}
}

// first reports whether a term of function words is new in a text.
func (sc *scanner) first(key uint32) bool {
	if sc.seen == nil {
		sc.seen = map[uint32]bool{}
	}
	had := sc.seen[key]
	sc.seen[key] = true
	return !had
}
