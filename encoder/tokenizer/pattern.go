package tokenizer

import (
	"fmt"
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/lexsem/lexsem/encoder"
)

// matcher finds what a pattern matches.
type matcher interface {
	// find returns the first match in text[at:], which must not be empty, as a range of text,
	// or -1, -1. It does not look before at.
	find(text []byte, at int) (lo, hi int)
}

// ofClass matches single code points of a class.
type ofClass struct {
	*properties
	class class
}

func (m ofClass) find(text []byte, at int) (lo, hi int) {
	for at < len(text) {
		if b := text[at]; b < utf8.RuneSelf && m.ascii[b]&m.class == 0 {
			at++ // most are this
			continue
		}
		c, size := m.next(text[at:])
		if c&m.class != 0 {
			return at, at + size
		}
		at += size
	}
	return -1, -1
}

// words matches \w+|[^\w\s]+, the pattern of Whitespace.
type words struct{ *properties }

func (m words) find(text []byte, at int) (lo, hi int) {
	const blank = isWord | isWhite
	for at < len(text) {
		c, size := m.next(text[at:])
		kind := c & blank
		if kind&isWord != 0 {
			kind = isWord
		} else if kind != 0 {
			at += size
			continue
		}
		hi = at + size
		for hi < len(text) {
			c, size = m.next(text[hi:])
			if kind != 0 && c&isWord == 0 || kind == 0 && c&blank != 0 {
				break
			}
			hi += size
		}
		return at, hi
	}
	return -1, -1
}

// Patterns that are implemented by hand: those of GPT-2 and of cl100k, the latter with a
// number of digits and with or without case. The patterns of o200k and CLIP have separate
// files.
const (
	patternGPT2      = `'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+` + patternBlanks
	patternLetters   = `|[^\r\n\p{L}\p{N}]?\p{L}+|`
	patternRest      = `| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+` + patternBlanks
	patternApostroph = `(?i:'s|'t|'re|'ve|'m|'ll|'d)`
	patternBlanks    = `|\s+(?!\S)|\s+`
)

// newMatcher compiles a pattern. The error wraps ErrTokenizer.
func newMatcher(pattern string) (matcher, error) {
	p := unicodeProperties()
	switch pattern {
	case patternGPT2:
		return gpt2{p}, nil
	case patternO200k:
		return o200k{p}, nil
	case patternCLIP:
		return clip{p}, nil
	}
	if rest, ok := strings.CutPrefix(pattern, patternApostroph+patternLetters); ok {
		if digits, ok := strings.CutSuffix(rest, patternRest); ok {
			switch digits {
			case `\p{N}`:
				return cl100k{p, 1}, nil
			case `\p{N}{1,3}`:
				return cl100k{p, 3}, nil
			case `\p{N}+`:
				return cl100k{p, -1}, nil
			}
		}
	}
	m, err := compile(pattern)
	if err != nil {
		return nil, err
	}
	if r, ok := newRepeated(m.re.String()); ok && !m.blanks {
		return r, nil
	}
	return m, nil
}

// gpt2 matches patternGPT2.
type gpt2 struct{ *properties }

func (m gpt2) find(text []byte, at int) (lo, hi int) {
	if at >= len(text) {
		return -1, -1
	}
	if n := contraction(text[at:], false); n > 0 {
		return at, at + n
	}
	c, size := m.next(text[at:])
	hi = at + size
	if text[at] == ' ' && hi < len(text) {
		next, n := m.next(text[hi:])
		if next&isSpace == 0 {
			c, hi = next, hi+n
		}
	}
	if c&isSpace != 0 {
		return at, m.blanks(text, at)
	}
	return at, m.run(text, hi, c&(isLetter|isNumber))
}

// run returns the end of the code points from at on that are all letters, all numbers, or
// all neither of these nor space.
func (p *properties) run(text []byte, at int, kind class) int {
	for at < len(text) {
		c, size := p.next(text[at:])
		if c&(isLetter|isNumber|isSpace) != kind {
			break
		}
		at += size
	}
	return at
}

// blanks is the end of a match of \s+(?!\S)|\s+ at a space: all spaces at the end of the
// text, else all but the last one, or a single space.
func (p *properties) blanks(text []byte, at int) int {
	end, last := at, at
	for end < len(text) {
		c, size := p.next(text[end:])
		if c&isSpace == 0 {
			if last > at {
				return last
			}
			return end
		}
		last = end
		end += size
	}
	return end
}

// contraction is the length of 's, 't, 're, 've, 'm, 'll or 'd at the start of text, or
// 0. If case is ignored, s may also be the long s, U+017F.
func contraction(text []byte, anyCase bool) int {
	if len(text) < 2 || text[0] != '\'' {
		return 0
	}
	a, b := text[1], byte(0)
	if len(text) > 2 {
		b = text[2]
	}
	if anyCase {
		if a == 0xC5 && b == 0xBF {
			return 3
		}
		a, b = small(a), small(b)
	}
	switch {
	case a == 's', a == 't', a == 'm', a == 'd':
		return 2
	case a == 'r' && b == 'e', a == 'v' && b == 'e', a == 'l' && b == 'l':
		return 3
	}
	return 0
}

func small(b byte) byte {
	if 'A' <= b && b <= 'Z' {
		b += 'a' - 'A'
	}
	return b
}

// cl100k matches the pattern of cl100k, Llama 3 and Qwen 2. A number has at most digits
// digits; a negative value means no limit.
type cl100k struct {
	*properties
	digits int
}

func (m cl100k) find(text []byte, at int) (lo, hi int) {
	if at >= len(text) {
		return -1, -1
	}
	if n := contraction(text[at:], true); n > 0 {
		return at, at + n
	}
	c, size := m.next(text[at:])
	if c&isLetter != 0 {
		return at, m.run(text, at+size, isLetter)
	}
	if hi = at + size; c&isNumber == 0 && text[at] != '\r' && text[at] != '\n' && hi < len(text) {
		if next, n := m.next(text[hi:]); next&isLetter != 0 {
			return at, m.run(text, hi+n, isLetter)
		}
	}
	return at, m.noWord(text, at, m.digits, false)
}

// noWord is the end of a match that is not a word: a number of at most digits digits;
// signs with the following line breaks and, with slashes, slashes; or space.
func (p *properties) noWord(text []byte, at, digits int, slashes bool) int {
	c, size := p.next(text[at:])
	hi := at + size
	next, n := class(0), 0
	if hi < len(text) {
		next, n = p.next(text[hi:])
	}
	switch {
	case c&isNumber != 0:
		for left := digits - 1; left != 0 && hi < len(text); left-- {
			if next, n = p.next(text[hi:]); next&isNumber == 0 {
				break
			}
			hi += n
		}
		return hi
	case c&isSpace == 0, text[at] == ' ' && n > 0 && next&(isSpace|isNumber) == 0:
		hi = p.run(text, hi, 0)
		for hi < len(text) && (text[hi] == '\r' || text[hi] == '\n' || slashes && text[hi] == '/') {
			hi++
		}
		return hi
	}
	// \s*[\r\n]+: up to the last line break among the spaces.
	broken := -1
	for i := at; i < len(text); {
		c, size := p.next(text[i:])
		if c&isSpace == 0 {
			break
		}
		if text[i] == '\r' || text[i] == '\n' {
			broken = i + 1
		}
		i += size
	}
	if broken >= 0 {
		return broken
	}
	return p.blanks(text, at)
}

// compiled is any other pattern that needs no lookahead except for blanks at its end.
type compiled struct {
	*properties
	re     *regexp.Regexp
	blanks bool
}

func (m *compiled) find(text []byte, at int) (lo, hi int) {
	if at >= len(text) {
		return -1, -1
	}
	loc := m.re.FindSubmatchIndex(text[at:])
	if loc == nil {
		return -1, -1
	}
	lo, hi = at+loc[0], at+loc[1]
	if m.blanks && loc[2] >= 0 {
		hi = m.properties.blanks(text, lo)
	}
	return lo, hi
}

// compile reads a pattern of the syntax that Oniguruma and package regexp share.
func compile(pattern string) (*compiled, error) {
	refuse := func(what string) (*compiled, error) {
		return nil, fmt.Errorf("%w: the pattern %q has %s, which is not supported; use another model", encoder.ErrTokenizer, pattern, what)
	}
	m := &compiled{properties: unicodeProperties()}
	body, blanks := strings.CutSuffix(pattern, patternBlanks)
	m.blanks = blanks
	if len(pattern) > 1<<12 {
		return refuse("more than 4,096 bytes")
	}
	const space = `\t-\r \x{85}\x{a0}\x{1680}\x{2000}-\x{200a}\x{2028}\x{2029}\x{202f}\x{205f}\x{3000}`
	sets := map[byte]string{'s': space, 'd': `\p{Nd}`, 'w': `\p{L}\p{M}\p{N}\p{Pc}`}
	var out strings.Builder
	inSet := false
	for i := 0; i < len(body); i++ {
		c := body[i]
		switch {
		case c == '\\':
			if i++; i == len(body) {
				return refuse("a lone \\ at its end")
			}
			switch e := body[i]; {
			case sets[e] != "" && inSet:
				out.WriteString(sets[e])
			case sets[e] != "":
				out.WriteString("[" + sets[e] + "]")
			case sets[e|0x20] != "" && !inSet:
				out.WriteString("[^" + sets[e|0x20] + "]")
			case e == 'p' || e == 'P' || e == 'r' || e == 'n' || e == 't' || e < utf8.RuneSelf && unicodeProperties().ascii[e]&isPunct != 0:
				out.WriteByte('\\')
				out.WriteByte(e)
			default:
				return refuse(`\` + string(e))
			}
			continue
		case inSet && (c == '[' || c == '&' && strings.HasPrefix(body[i:], "&&")):
			return refuse("a set within a set")
		case inSet && c == ']':
			inSet = false
		case !inSet && c == '[':
			inSet = true
			if strings.HasPrefix(body[i:], "[]") || strings.HasPrefix(body[i:], "[^]") {
				return refuse("a set that begins with ]")
			}
		case !inSet && (c == '^' || c == '$'):
			return refuse(string(c))
		case !inSet && c == '(' && !strings.HasPrefix(body[i:], "(?:") && !strings.HasPrefix(body[i:], "(?i:"):
			return refuse("a group that is not (?:…) or (?i:…)")
		case !inSet && c == '+' && i > 0 && strings.IndexByte("+*?}", body[i-1]) >= 0 && (i < 2 || body[i-2] != '\\'):
			return refuse("a possessive quantifier")
		}
		out.WriteByte(c)
	}
	if inSet { // what is put after it below would be of the set
		return refuse("a set without an end")
	}
	expr := out.String()
	if blanks {
		expr = "(?:" + expr + ")|([" + space + "]+)"
	}
	re, err := regexp.Compile(expr)
	if err != nil {
		return refuse(err.Error())
	}
	if re.MatchString("") {
		return refuse("an empty match")
	}
	m.re = re
	return m, nil
}
