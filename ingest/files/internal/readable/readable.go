// Package readable cleans text extracted from documents. Start with [Text].
package readable

import "strings"

// Text removes control characters and bytes that are not UTF-8.
func Text(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\r':
			return '\n'
		case r < ' ' && r != '\n' && r != '\t', r == 0x7f, r == '\ufffe', r == '\uffff':
			return -1
		}
		return r
	}, strings.ToValidUTF8(s, "\ufffd"))
}
