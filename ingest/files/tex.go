package files

import (
	"cmp"
	"regexp"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// texAccent matches the letters that LaTeX writes by commands, with a command or brace before them and the brace behind:
//
//	\'e \'{e} {\'e} \"\i   a sign and a letter
//	\c{c} \v s             a letter for the accent, and a letter
//	\ss \o{} {\L}          a letter with a name
//
// It also matches \\, the end of a line, so that the text after it is not read as an accent.
var texAccent = regexp.MustCompile(`\\\\|(\\[A-Za-z]{2,}[ \t]*\{|\{)?\\(?:` +
	"(['^\"~=.`])" + `(?:\{\\?([A-Za-z])[ \t]*\}|([A-Za-z])|\\([ij])(?:\{\}|\b[ \t]?))|` +
	`([uvHckrd])(?:[ \t]*\{\\?([A-Za-z])[ \t]*\}|[ \t]+([A-Za-z]))|` +
	`(ss|ae|AE|oe|OE|aa|AA|o|O|l|L)(?:\{\}|\b[ \t]?))(\})?`)

// texMarks are the combining marks of accents, and texLetters the letters with names.
var (
	texMarks = map[string]string{"'": "\u0301", "`": "\u0300", "^": "\u0302", `"`: "\u0308", "~": "\u0303", "=": "\u0304", ".": "\u0307",
		"u": "\u0306", "v": "\u030c", "H": "\u030b", "c": "\u0327", "k": "\u0328", "r": "\u030a", "d": "\u0323"}
	texLetters = map[string]string{"ss": "ß", "ae": "æ", "AE": "Æ", "oe": "œ", "OE": "Œ", "aa": "å", "AA": "Å", "o": "ø", "O": "Ø", "l": "ł", "L": "Ł"}
)

// texLetter is a text of LaTeX with the letters that it names in the text, so that words with accents are found. Lines stay.
func texLetter(text string) string {
	return texAccent.ReplaceAllStringFunc(text, func(all string) string {
		m := texAccent.FindStringSubmatch(all)
		letter := cmp.Or(m[3], m[4], m[5], m[7], m[8])
		out := texLetters[m[9]]
		if letter != "" {
			out = norm.NFC.String(letter + texMarks[m[2]+m[6]])
		}
		if out == "" || utf8.RuneCountInString(out) > 1 { // no such letter
			return all
		}
		if m[1] == "{" && m[10] != "" { // braces around the letter alone
			return out
		}
		return m[1] + out + m[10]
	})
}
