package text

import (
	"maps"
	"slices"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"
)

// detected is the number of bytes of a text that LanguageOf reads.
const detected = 4096

// names are the languages that LanguageOf recognises.
var names = map[string]string{
	"ar": "Arabic", "bn": "Bengali", "da": "Danish", "de": "German", "el": "Greek", "en": "English", "es": "Spanish", "fa": "Persian", "fi": "Finnish",
	"fr": "French", "he": "Hebrew", "hi": "Hindi", "hu": "Hungarian", "hy": "Armenian", "it": "Italian", "ja": "Japanese", "ka": "Georgian", "km": "Khmer",
	"ko": "Korean", "lo": "Lao", "my": "Burmese", "nl": "Dutch", "no": "Norwegian", "pt": "Portuguese", "ro": "Romanian", "ru": "Russian", "sv": "Swedish",
	"ta": "Tamil", "te": "Telugu", "th": "Thai", "tr": "Turkish", "uk": "Ukrainian", "vi": "Vietnamese", "zh": "Chinese",
}

// LanguageName is the English name of a language that LanguageOf returns, else its code.
func LanguageName(code string) string {
	if n, ok := names[code]; ok {
		return n
	}
	return code
}

// writing is a script and the most widespread language written in it.
type writing struct {
	script *unicode.RangeTable
	code   string
}

var written = []writing{
	{unicode.Latin, "latin"}, {unicode.Cyrillic, "ru"}, {unicode.Han, "zh"}, {unicode.Hiragana, "ja"}, {unicode.Katakana, "ja"}, {unicode.Hangul, "ko"},
	{unicode.Arabic, "ar"}, {unicode.Greek, "el"}, {unicode.Hebrew, "he"}, {unicode.Devanagari, "hi"}, {unicode.Bengali, "bn"}, {unicode.Tamil, "ta"},
	{unicode.Telugu, "te"}, {unicode.Thai, "th"}, {unicode.Lao, "lo"}, {unicode.Khmer, "km"}, {unicode.Myanmar, "my"}, {unicode.Georgian, "ka"},
	{unicode.Armenian, "hy"},
}

// Letters that identify a language other than the one assumed for its script, or a language of Latin script.
var telling = map[rune]string{'і': "uk", 'ї': "uk", 'є': "uk", 'ґ': "uk", 'پ': "fa", 'چ': "fa", 'گ': "fa", 'ژ': "fa", 'ی': "fa", 'ơ': "vi", 'ư': "vi", 'đ': "vi", 'ğ': "tr", 'ı': "tr"}

// LanguageOf returns the ISO 639 code of the main language of a text, or "" if it cannot tell. Most scripts imply the
// largest language that uses them; some letters imply another. Languages of Latin script are recognised by their
// function words. So a language without a list in this package is not recognised, nor is a text of a few words. It
// looks at the first 4 KiB.
func LanguageOf(s string) string {
	if len(s) > detected {
		s = s[:detected]
	}
	s = strings.ToValidUTF8(s, "")
	typed := s
	s = strings.ToLower(s)
	letters, by := 0, map[string]int{}
	last := 0  // the script of the letter before
	latin := 0 // letters of ASCII
	for _, r := range s {
		if r < utf8.RuneSelf {
			if 'a' <= r && r <= 'z' {
				latin++
			}
			continue
		}
		if !unicode.IsLetter(r) {
			continue
		}
		letters++
		by[telling[r]]++
		if !unicode.Is(written[last].script, r) {
			at := slices.IndexFunc(written, func(w writing) bool { return unicode.Is(w.script, r) })
			if at < 0 {
				continue
			}
			last = at
		}
		by[written[last].code]++
	}
	letters, by["latin"] = letters+latin, by["latin"]+latin
	share := func(code string) float64 { return float64(by[code]) / float64(max(letters, 1)) }
	switch {
	case letters < 8:
		return ""
	case share("ja") > .05 && share("ja")+share("zh") > .5:
		return "ja"
	case share("latin") > .5 && share("vi") > .02 && tells(typed, "vi"):
		return "vi"
	case share("latin") > .5 && share("tr") > .02 && tells(typed, "tr"):
		return "tr"
	case share("latin") > .5:
		return byFunctionWords(s)
	case share("ru") > .5 && share("uk") > .02:
		return "uk"
	case share("ar") > .5 && share("fa") > .03:
		return "fa"
	}
	for _, w := range written {
		if share(w.code) > .5 {
			return w.code
		}
	}
	return ""
}

// tells reports whether a word with letters that identify a language begins with a small letter, or two words have such
// letters: one with a capital may be a name, such as Erdoğan.
func tells(s, code string) bool {
	n := 0
	for w := range strings.FieldsFuncSeq(s, apart) {
		if strings.ContainsFunc(w, func(r rune) bool { return telling[unicode.ToLower(r)] == code }) {
			first, _ := utf8.DecodeRuneInString(w)
			if n++; n > 1 || !unicode.IsUpper(first) {
				return true
			}
		}
	}
	return false
}

// apart reports a rune between words.
func apart(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsMark(r) }

// byFunctionWords recognises languages of Latin script.
func byFunctionWords(s string) string {
	lists := functionWords()
	words, by := 0, map[string]int{}
	distinct, seen := map[string]int{}, map[string]bool{} // care in care services, social care is one word, of Romanian, too
	for w := range strings.FieldsFuncSeq(s, apart) {
		words++
		for _, code := range lists[w] {
			if by[code]++; !seen[w] {
				distinct[code]++
			}
		}
		seen[w] = true
	}
	codes := slices.SortedFunc(maps.Keys(by), func(a, b string) int { return by[b] - by[a] })
	if len(codes) == 0 || distinct[codes[0]] < 3 || 8*by[codes[0]] < words || len(codes) > 1 && 10*by[codes[1]] > 9*by[codes[0]] {
		return ""
	}
	return codes[0]
}

// functionWords maps each function word of Latin script to its languages.
var functionWords = sync.OnceValue(func() map[string][]string {
	all := map[string][]string{}
	for _, code := range Languages() {
		for w := range stopWords(code) {
			if !slices.Contains([]string{"none", "ru", "ar"}, code) {
				all[w] = append(all[w], code)
			}
		}
	}
	return all
})
