package mcp

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// clip cuts s to at most n bytes, at the end of a character, or of a word if one ends in
// the last eighth. It returns the number of bytes left out.
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

// clipAround is clip for a part that must contain the bytes [from, to) of s. The part begins at at: 0 if the result of
// clip contains them, else some words before them.
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

// runeStart is the start of the character that contains byte i of s. Each byte that is
// not UTF-8 counts as a character.
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

// clipped is clip with an ellipsis for the part left out.
func clipped(s string, n int) string {
	s, left := clip(s, n)
	if left > 0 {
		s += "…"
	}
	return s
}

// oneLine puts a text on one line.
func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

// bytesOf describes a number of bytes in words.
func bytesOf(n int) string {
	if n == 1 {
		return "1 byte"
	}
	return fmt.Sprintf("%d bytes", n)
}

// indented puts two blanks before each line of s.
func indented(s string) string { return "  " + strings.ReplaceAll(s, "\n", "\n  ") }
