package tokenizer

import (
	"unicode"
	"unicode/utf8"
)

// patternO200k is the pattern of o200k. Words are cut before a capital behind a small
// letter; letters without case, and marks, are either.
const (
	patternO200k = patternPrefix + patternUpper + `*` + patternLower + `+` + patternApostroph + `?|` +
		patternPrefix + patternUpper + `+` + patternLower + `*` + patternApostroph + `?|` +
		`\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+` + patternBlanks
	patternPrefix = `[^\r\n\p{L}\p{N}]?`
	patternUpper  = `[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]`
	patternLower  = `[\p{Ll}\p{Lm}\p{Lo}\p{M}]`
)

// Which of patternUpper and patternLower a code point belongs to.
type letterCase uint8

const (
	upper letterCase = 1 << iota
	lower
)

// o200k matches patternO200k.
type o200k struct {
	*properties
	ascii [utf8.RuneSelf]letterCase
}

func newO200k(p *properties) *o200k {
	m := &o200k{properties: p}
	for r := range m.ascii {
		m.ascii[r] = caseOf(rune(r))
	}
	return m
}

func caseOf(r rune) letterCase {
	switch {
	case unicode.In(r, unicode.Lm, unicode.Lo, unicode.M):
		return upper | lower
	case unicode.In(r, unicode.Lu, unicode.Lt):
		return upper
	case unicode.Is(unicode.Ll, r):
		return lower
	}
	return 0
}

func (m *o200k) caseAt(text []byte) (letterCase, int) {
	if text[0] < utf8.RuneSelf {
		return m.ascii[text[0]], 1
	}
	r, n := utf8.DecodeRune(text)
	c := caseOf(r)
	if c == 0 && m.of(r)&isLetter != 0 { // of a later Unicode than package unicode's
		c = upper | lower
	}
	return c, n
}

func (m *o200k) find(text []byte, at int) (lo, hi int) {
	if at >= len(text) {
		return -1, -1
	}
	c, size := m.next(text[at:])
	prefixed := c&(isLetter|isNumber) == 0 && text[at] != '\r' && text[at] != '\n'
	for _, ends := range [...]func(*o200k, []byte, int) int{(*o200k).endsLower, (*o200k).endsUpper} {
		end := at
		if prefixed {
			if end = ends(m, text, at+size); end == at+size {
				end = at
			}
		}
		if end == at {
			end = ends(m, text, at)
		}
		if end > at {
			return at, end + contraction(text[end:], true)
		}
	}
	return at, m.noWord(text, at, 3, true)
}

// endsLower is the end of patternUpper*patternLower+ at a place, or that place.
func (m *o200k) endsLower(text []byte, from int) int {
	at, either := from, from // behind the last letter that is either
	for at < len(text) {
		c, size := m.caseAt(text[at:])
		if c&upper == 0 {
			break
		}
		if at += size; c&lower != 0 {
			either = at
		}
	}
	if end := m.run(text, at, lower); end > at {
		return end
	}
	return either
}

// endsUpper is the end of patternUpper+patternLower* at a place, or that place.
func (m *o200k) endsUpper(text []byte, from int) int {
	at := m.run(text, from, upper)
	if at == from {
		return from
	}
	return m.run(text, at, lower)
}

func (m *o200k) run(text []byte, at int, kind letterCase) int {
	for at < len(text) {
		c, size := m.caseAt(text[at:])
		if c&kind == 0 {
			break
		}
		at += size
	}
	return at
}
