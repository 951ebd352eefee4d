package filter

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/lexsem/lexsem/internal/fault"
	"github.com/lexsem/lexsem/internal/value"
)

type tokenKind uint8

const (
	tokenEnd tokenKind = iota
	tokenWord
	tokenString
	tokenNumber
	tokenSign
)

// token is a piece of an expression. text is the value of a string, a word of the grammar
// in lower case, or the original text.
type token struct {
	kind tokenKind
	text string
	at   int
}

func (t token) is(text string) bool {
	return (t.kind == tokenSign || t.kind == tokenWord) && t.text == text
}

// String names a token in an error.
func (t token) String() string {
	switch t.kind {
	case tokenEnd:
		return "the end"
	case tokenString:
		return strconv.Quote(fault.Clip(t.text))
	}
	return fault.Clip(t.text)
}

// next reads the next token.
func (p *parser) next() error {
	for p.at < len(p.expr) && strings.IndexByte(" \t\r\n", p.expr[p.at]) >= 0 {
		p.at++
	}
	rest := p.expr[p.at:]
	p.tok = token{at: p.at}
	if rest == "" {
		return nil
	}
	first, size := utf8.DecodeRuneInString(rest)
	switch c := rest[0]; {
	case startsWord(first):
		n := wordLength(rest)
		p.tok.kind, p.tok.text = tokenWord, rest[:n]
		if low := strings.ToLower(rest[:n]); words[low] {
			p.tok.text = low
		}
		p.at += n
		return nil
	case c == '"' || c == '\'':
		return p.quoted(c)
	case c == '-' || c >= '0' && c <= '9':
		n := value.NumberLength(rest)
		if after, _ := utf8.DecodeRuneInString(rest[n:]); n == 0 || inWord(after) || after == '.' {
			return p.errorf(p.at, "a number that is not written as in JSON; write one such as -12, 0.5 or 1e9, or put quotes around text")
		}
		p.tok.kind, p.tok.text = tokenNumber, rest[:n]
		p.at += n
		return nil
	}
	p.tok.kind = tokenSign
	for _, sign := range []string{"==", "!=", "<=", ">=", "^=", "=", "<", ">", "(", ")", "[", "]", ","} {
		if strings.HasPrefix(rest, sign) {
			p.tok.text = sign
			p.at += len(sign)
			return nil
		}
	}
	switch {
	case first == '&':
		return p.errorf(p.at, "& is no sign of filters; write and")
	case first == '|':
		return p.errorf(p.at, "| is no sign of filters; write or")
	case first == '!':
		return p.errorf(p.at, "! is no sign of filters by itself; write not, or != between a field and a value")
	}
	return p.errorf(p.at, "%s has no meaning here; put quotes around text and unusual fields", strconv.Quote(rest[:size]))
}

// peek reports whether the next token is the given sign of one byte.
func (p *parser) peek(sign string) bool {
	return strings.HasPrefix(strings.TrimLeft(p.expr[p.at:], " \t\r\n"), sign)
}

func startsWord(r rune) bool { return unicode.IsLetter(r) || r == '_' || r == '@' || r == '$' }

func inWord(r rune) bool {
	return startsWord(r) || unicode.IsDigit(r) || unicode.IsMark(r) || r == '-' || r == ':'
}

// wordLength is the length of the word that s starts with.
func wordLength(s string) int { return lengthWith(s, '.') }

// lengthWith is the length of the run of word letters, or of also, at the start of s.
func lengthWith(s string, also rune) int {
	for i, r := range s {
		if !inWord(r) && r != also {
			return i
		}
	}
	return len(s)
}

// quoted reads a string that ends with the quote it starts with.
func (p *parser) quoted(quote byte) error {
	var b strings.Builder
	for i := p.at + 1; i < len(p.expr); {
		c := p.expr[i]
		switch {
		case c == quote:
			p.tok.kind, p.tok.text = tokenString, b.String()
			p.at = i + 1
			return nil
		case c != '\\':
			b.WriteByte(c)
			i++
			continue
		}
		r, n := unescape(p.expr[i:])
		if n == 0 {
			return p.errorf(i, `no escape of JSON; write \\ for a backslash, \" for a quote, or \u and four digits of a whole character`)
		}
		b.WriteRune(r)
		i += n
	}
	return p.errorf(p.at, "a quote that is not closed; add %c at the end of the text", quote)
}

// unescape reads the escape at the start of s; n is 0 if there is none.
func unescape(s string) (r rune, n int) {
	if len(s) < 2 {
		return 0, 0
	}
	if i := strings.IndexByte(`"\'/bfnrt`, s[1]); i >= 0 {
		return rune("\"\\'/\b\f\n\r\t"[i]), 2
	}
	r = hexRune(s)
	if !utf16.IsSurrogate(r) {
		if r < 0 {
			return 0, 0
		}
		return r, 6
	}
	if r = utf16.DecodeRune(r, hexRune(s[6:])); r == unicode.ReplacementChar {
		return 0, 0
	}
	return r, 12
}

// hexRune reads \uXXXX, or returns -1.
func hexRune(s string) rune {
	if len(s) < 6 || s[:2] != `\u` {
		return -1
	}
	v, err := strconv.ParseUint(s[2:6], 16, 16)
	if err != nil {
		return -1
	}
	return rune(v)
}
