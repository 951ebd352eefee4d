package text

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// Letters that are written without their accents, with their replacement if it is not a decomposition.
var folds = map[rune]string{
	'ß': "ss", 'æ': "ae", 'œ': "oe", 'ø': "o", 'đ': "d", 'ð': "d", 'þ': "th", 'ł': "l", 'ı': "i", 'ħ': "h",
}

// unaccented is a lower-cased word without accents: etudiant for étudiant, strasse for straße; the word itself if
// it has none. Only Latin, Greek and Cyrillic letters have accents that writers omit; й is a separate letter.
func unaccented(word string) string {
	var b strings.Builder
	for _, r := range word {
		if to, ok := folds[r]; ok {
			b.WriteString(to)
			continue
		}
		if r < utf8.RuneSelf || r == 'й' || !unicode.In(r, unicode.Latin, unicode.Greek, unicode.Cyrillic) && !accent(r) {
			b.WriteRune(r)
			continue
		}
		for _, part := range norm.NFD.String(string(r)) {
			if !accent(part) {
				b.WriteRune(part)
			}
		}
	}
	if b.Len() == 0 { // accents that stand alone
		return word
	}
	return b.String()
}

// accent reports whether r is a combining mark of European scripts.
func accent(r rune) bool { return 0x300 <= r && r <= 0x36f }

// vanishes reports whether r is invisible within a word: a soft hyphen, a joiner, or a space without width.
func vanishes(r rune) bool {
	return r == 0xad || r == 0x200b || r == 0x200d || r == 0x2060 || r == 0xfeff
}

// sign reports whether r is an emoji or a similar sign, which is a term.
func sign(r rune) bool {
	return (0x2600 <= r && r < 0x27c0 || 0x2b00 <= r && r < 0x2c00 || 0x1f000 <= r && r < 0x1fb00) && unicode.Is(unicode.So, r)
}

// raised reports whether r is a number set above or below its line, a fraction, or a number in a circle. It belongs
// to a short name before it, as in CO₂ and m². After a longer word it marks a footnote.
func raised(r rune) bool { return r >= utf8.RuneSelf && unicode.Is(unicode.No, r) }
