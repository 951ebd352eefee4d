package tokenizer

// patternO200k is the pattern of o200k. Words are cut before a capital that follows a
// small letter; letters without case, and marks, count as both.
const (
	patternO200k = patternPrefix + patternUpper + `*` + patternLower + `+` + patternApostroph + `?|` +
		patternPrefix + patternUpper + `+` + patternLower + `*` + patternApostroph + `?|` +
		`\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+` + patternBlanks
	patternPrefix = `[^\r\n\p{L}\p{N}]?`
	patternUpper  = `[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]`
	patternLower  = `[\p{Ll}\p{Lm}\p{Lo}\p{M}]`
)

// o200k matches patternO200k.
type o200k struct{ *properties }

func (m o200k) find(text []byte, at int) (lo, hi int) {
	if at >= len(text) {
		return -1, -1
	}
	c, size := m.next(text[at:])
	prefixed := c&(isLetter|isNumber) == 0 && text[at] != '\r' && text[at] != '\n'
	for _, ends := range [...]func(o200k, []byte, int) int{o200k.endsLower, o200k.endsUpper} {
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

// endsLower is the end of a match of patternUpper*patternLower+ at from, or from itself.
func (m o200k) endsLower(text []byte, from int) int {
	at, either := from, from // after the last letter that is either
	for at < len(text) {
		c, size := m.next(text[at:])
		if c&isUpper == 0 {
			break
		}
		if at += size; c&isLower != 0 {
			either = at
		}
	}
	if end := m.letters(text, at, isLower); end > at {
		return end
	}
	return either
}

// endsUpper is the end of a match of patternUpper+patternLower* at from, or from itself.
func (m o200k) endsUpper(text []byte, from int) int {
	at := m.letters(text, from, isUpper)
	if at == from {
		return from
	}
	return m.letters(text, at, isLower)
}

// letters is the end of the code points of a class that begin at at.
func (m o200k) letters(text []byte, at int, kind class) int {
	for at < len(text) {
		c, size := m.next(text[at:])
		if c&kind == 0 {
			break
		}
		at += size
	}
	return at
}
