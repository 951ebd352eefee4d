package text

import (
	"strings"
	"unicode"
)

// Punctuation reports whether the token s[start:end] has only punctuation, mathematical and currency signs, and blanks.
// It is false for a range outside s.
func Punctuation(s string, start, end int) bool {
	if start < 0 || start > end || end > len(s) {
		return false
	}
	return strings.IndexFunc(strings.TrimSpace(s[start:end]), func(r rune) bool {
		return !unicode.In(r, unicode.P, unicode.Sm, unicode.Sc, unicode.Sk)
	}) < 0
}
