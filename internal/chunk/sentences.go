package chunk

import (
	"iter"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/rivo/uniseg"
)

// Sentences yields the sentences of a text (Unicode Standard Annex 29), in order and
// without a gap. Cost O(len(text)).
func Sentences(text string) iter.Seq[string] {
	return func(yield func(string) bool) {
		rest, drops := shortened(text)
		state, at, read := -1, 0, 0 // at is where the sentence begins in text, read where it ends in what is read
		for rest != "" {
			var s string
			s, rest, state = uniseg.FirstSentenceInString(rest, state)
			read += len(s)
			end := at + len(s)
			for len(drops) > 0 && drops[0].at <= read {
				end += drops[0].bytes
				drops = drops[1:]
			}
			if !yield(text[at:end]) {
				return
			}
			at = end
		}
	}
}

// longRun is how many characters are read of a run in which no sentence ends.
const longRun = 64

// drop is a part that was left out of a text.
type drop struct{ at, bytes int } // place in the rest

// shortened returns a text whose sentences end at the same positions as those of text, minus
// the bytes in drops. After a full stop the library looks for a small letter at each
// following closing sign or blank, up to the next letter, which takes quadratic time for a
// long run of these. A long run has the same meaning as a short one, so the rest of it is
// left out.
func shortened(text string) (short string, drops []drop) {
	var b strings.Builder
	kinds := map[rune]kind{}
	signs, run, count, kept := 0, none, 0, 0 // kept: up to where text is in b, less the drops
	for i := 0; i < len(text); {
		r, n := utf8.DecodeRuneInString(text[i:])
		if 'a' <= r|0x20 && r|0x20 <= 'z' || r >= utf8.RuneSelf && unicode.IsLetter(r) {
			signs, run, count = 0, none, 0
			i += n
			continue
		}
		if signs++; signs <= longRun { // no need to know more
			i += n
			continue
		}
		k, known := kinds[r]
		if !known {
			k = kindOf(r)
			kinds[r] = k
		}
		switch k {
		case none:
			run, count = none, 0
		case extends: // is of the run
		case run:
			count++
		default:
			run, count = k, 1
		}
		if count > longRun {
			b.WriteString(text[kept:i])
			if last := len(drops) - 1; last >= 0 && drops[last].at == b.Len() {
				drops[last].bytes += n
			} else {
				drops = append(drops, drop{b.Len(), n})
			}
			kept = i + n
		}
		i += n
	}
	if len(drops) == 0 {
		return text, nil
	}
	b.WriteString(text[kept:])
	return b.String(), drops
}

// kind classifies a character after the end of a sentence.
type kind uint8

const (
	none kind = iota
	closes
	spaces
	extends // belongs to the character before it
)

// kindOf finds the kind by segmenting a short text with the library, which has the tables.
func kindOf(r rune) kind {
	s := string(r)
	first := func(text string) int {
		s, _, _ := uniseg.FirstSentenceInString(text, -1)
		return len(s)
	}
	if first("1"+s+"A") != len(s)+2 { // it ends a sentence itself
		return none
	}
	close, space := first("."+s+")A") == len(s)+2, first(". "+s+"A") == len(s)+2
	switch {
	case close && space:
		return extends
	case close:
		return closes
	case space:
		return spaces
	}
	return none
}
