package mcp

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// clip cuts s to at most n bytes, at the end of a character, and of a word where one
// ends in the last eighth. It returns how many bytes it left out.
func clip(s string, n int) (string, int) {
	if len(s) <= n {
		return s, 0
	}
	cut := runeStart(s, max(n, 0))
	if space := strings.LastIndexAny(s[:cut], " \n\t"); space > cut-cut/8 {
		cut = space
	}
	return s[:cut], len(s) - cut
}

// clipAround is clip where the bytes [from, to) of s are to be seen: the part is from the byte at on, which is 0 where what
// clip would leave holds them, else some words before them.
func clipAround(s string, from, to, n int) (part string, at, left int) {
	if front, left := clip(s, n); left == 0 || to <= len(front) {
		return front, 0, left
	}
	at = runeStart(s, max(0, min(from-(n-(to-from))/4, from, len(s)-n)))
	if space := strings.IndexAny(s[at:from], " \n\t"); at > 0 && space >= 0 {
		at += space + 1
	}
	part, _ = clip(s[at:], n)
	return part, at, len(s) - len(part)
}

// runeStart is the start of the character that the byte i of s belongs to. Bytes that
// are no UTF-8 are characters of their own.
func runeStart(s string, i int) int {
	if i >= len(s) {
		return len(s)
	}
	for back := i; back >= 0 && back > i-utf8.UTFMax; back-- {
		if utf8.RuneStart(s[back]) {
			if _, size := utf8.DecodeRuneInString(s[back:]); back+size > i {
				return back
			}
			return i
		}
	}
	return i
}

// clipped is clip with an ellipsis for what was left out.
func clipped(s string, n int) string {
	s, left := clip(s, n)
	if left > 0 {
		s += "…"
	}
	return s
}

// oneLine puts a text on one line.
func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

// bytesOf is a number of bytes in words.
func bytesOf(n int) string {
	if n == 1 {
		return "1 byte"
	}
	return fmt.Sprintf("%d bytes", n)
}

// indented puts two blanks before each line of s.
func indented(s string) string { return "  " + strings.ReplaceAll(s, "\n", "\n  ") }
