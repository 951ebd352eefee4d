package span

import (
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/rivo/uniseg"

	"github.com/lexsem/lexsem/internal/chunk"
)

// block is the maximum number of bytes treated as one line: text with longer lines is not prose.
const block = 8 << 10

// cut makes the pieces of a text. A line without a match is one piece, however long: no window begins or ends
// there.
func (w *windows) cut() error {
	w.starts = make([]int, len(w.matches))
	for i, m := range w.matches {
		w.starts[i] = m.Start
	}
	slices.Sort(w.starts)
	long, next := 0, 0
	for at := 0; at < len(w.text); {
		if err := w.ctx.Err(); err != nil {
			return err
		}
		for next < len(w.starts) && w.starts[next] < at {
			next++
		}
		if next == len(w.starts) {
			return nil
		}
		end := lineEnd(w.text, at)
		if w.starts[next] >= end {
			w.add(at, end, 0)
			at = end
			continue
		}
		for s := range chunk.Sentences(w.text[at:end]) {
			from, to := trim(w.text, at, at+len(s))
			if at += len(s); to-from <= Limit {
				w.add(from, to, 0)
				continue
			}
			long++
			w.words(from, to, long)
		}
	}
	return nil
}

// add makes a piece of the visible text in [start, end).
func (w *windows) add(start, end, long int) {
	if start, end = trim(w.text, start, end); start < end {
		w.pieces = append(w.pieces, piece{start, end, long})
	}
}

// lineEnd is the end of the line that begins at at, at most a block away.
func lineEnd(text string, at int) int {
	line := text[at:min(len(text), at+block)]
	if i := strings.IndexByte(line, '\n'); i >= 0 {
		return at + i + 1
	}
	if at+len(line) == len(text) {
		return len(text)
	}
	if i := strings.LastIndexByte(line, ' '); i > 0 {
		return at + i + 1
	}
	return at + runesIn(line)
}

// runesIn is the length of s without a rune that is cut at its end. Each byte that is not UTF-8 counts as a rune.
func runesIn(s string) int {
	for n := 1; n < utf8.UTFMax && n < len(s); n++ {
		if utf8.RuneStart(s[len(s)-n]) {
			if !utf8.FullRuneInString(s[len(s)-n:]) {
				return len(s) - n
			}
			break
		}
	}
	return len(s)
}

// words makes pieces of the words of a sentence, and of the characters of words that are longer than a window.
func (w *windows) words(from, to, long int) {
	state, rest := -1, w.text[from:to]
	for rest != "" {
		var s string
		s, rest, state = uniseg.FirstWordInString(rest, state)
		if len(s) <= Limit {
			w.add(from, from+len(s), long)
			from += len(s)
			continue
		}
		w.characters(from, from+len(s), long)
		from += len(s)
	}
}

func (w *windows) characters(from, to, long int) {
	state, rest := -1, w.text[from:to]
	for rest != "" {
		var c string
		c, rest, _, state = uniseg.FirstGraphemeClusterInString(rest, state)
		for len(c) > Limit {
			n := runesIn(c[:Limit])
			w.add(from, from+n, long)
			c, from = c[n:], from+n
		}
		w.add(from, from+len(c), long)
		from += len(c)
	}
}
