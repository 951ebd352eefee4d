// Package digits writes numbers for people. [Group] puts a comma between groups of three digits; it takes the
// number as text and keeps its fraction and its sign.
package digits

import "strings"

// Group puts a comma between groups of three digits before the point of a decimal number, which may begin with a
// minus.
func Group(number string) string {
	digits, minus := strings.CutPrefix(number, "-")
	whole, rest, point := strings.Cut(digits, ".")
	for i := len(whole) - 3; i > 0; i -= 3 {
		whole = whole[:i] + "," + whole[i:]
	}
	if point {
		whole += "." + rest
	}
	if minus {
		return "-" + whole
	}
	return whole
}
