// Package text finds the words and the search terms of a text. Start with [NewAnalyzer] and [Analyzer.Terms]
// for terms, or [Words] for plain words. An Analyzer is safe for concurrent use. The same options give the
// same terms in every process; Analyzer.Digest identifies them. Any bytes are accepted.
package text

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Word is one word of a text: its lower-cased form, read from the bytes [Start, End).
type Word struct {
	Lower      string
	Start, End int
}

// Words appends the words of s to dst: maximal runs of letters, digits and combining marks. An
// apostrophe or a hyphen between two letters is part of the word. Invalid UTF-8 separates words. Cost
// O(len(s)).
func Words(dst []Word, s string) []Word {
	start := -1
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		if isWordRune(r, n) || start >= 0 && joins(r) && i+n < len(s) && nextIsLetter(s[i+n:]) && prevIsLetter(s[:i]) {
			if start < 0 {
				start = i
			}
		} else if start >= 0 {
			dst = append(dst, Word{strings.ToLower(s[start:i]), start, i})
			start = -1
		}
		i += n
	}
	if start >= 0 {
		dst = append(dst, Word{strings.ToLower(s[start:]), start, len(s)})
	}
	return dst
}

func isWordRune(r rune, n int) bool {
	if r == utf8.RuneError && n <= 1 {
		return false
	}
	return unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsMark(r) || r == '_'
}

func joins(r rune) bool { return r == '\'' || r == '’' || r == '-' }

func nextIsLetter(s string) bool {
	r, _ := utf8.DecodeRuneInString(s)
	return unicode.IsLetter(r)
}

func prevIsLetter(s string) bool {
	r, _ := utf8.DecodeLastRuneInString(s)
	return unicode.IsLetter(r)
}
