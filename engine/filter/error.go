package filter

import (
	"cmp"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/lexsem/lexsem/internal/fault"
)

// Error is a mistake in an expression. It wraps engine.ErrInvalid.
type Error struct {
	Of     string // what the expression is: "boost", "sort", or "" for a filter
	Expr   string // the expression
	Offset int    // byte of Expr with the mistake; len(Expr) at its end
	Msg    string // what is wrong and what to write
}

// Error returns the message and, on two more lines, the expression with a caret below the mistake.
func (e *Error) Error() string { return e.Summary() + "\n" + e.Caret() }

// Unwrap returns engine.ErrInvalid.
func (e *Error) Unwrap() error { return fault.ErrInvalid }

// Summary returns the message with the position of the character, on one line.
func (e *Error) Summary() string {
	return fmt.Sprintf("%s, character %d: %s", cmp.Or(e.Of, "filter"), utf8.RuneCountInString(e.Expr[:e.at()])+1, e.Msg)
}

// at is Offset, limited to the expression.
func (e *Error) at() int { return min(max(e.Offset, 0), len(e.Expr)) }

// around is the number of characters shown on each side of the mistake.
const around = 40

// Caret returns two lines: the expression, or 40 characters on each side of the mistake, and a
// caret below it. Control characters are shown as spaces.
func (e *Error) Caret() string {
	before, after := []rune(e.Expr[:e.at()]), e.Expr[e.at():]
	line, pad := "  ", "  "
	if len(before) > around {
		line, pad = line+"…", pad+" "
		before = before[len(before)-around:]
	}
	for _, r := range before {
		line += string(visible(r))
		pad += blankOf(r)
	}
	n := 0
	for i := range after {
		if n++; n > around {
			return line + strings.Map(visible, after[:i]) + "…\n" + pad + "^"
		}
	}
	return line + strings.Map(visible, after) + "\n" + pad + "^"
}

func visible(r rune) rune {
	if unicode.IsControl(r) || unicode.Is(unicode.Cf, r) {
		return ' '
	}
	return r
}

// blankOf returns white space as wide as r.
func blankOf(r rune) string {
	switch {
	case unicode.Is(unicode.Mn, r) || unicode.Is(unicode.Me, r):
		return ""
	case unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul) || r >= 0xff01 && r <= 0xff60:
		return "\u3000"
	}
	return " "
}
