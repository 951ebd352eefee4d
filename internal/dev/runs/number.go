package runs

import (
	"regexp"
	"strconv"
	"strings"
)

// number is a figure as written in a document.
type number struct {
	text     string // with its sign
	value    float64
	decimals int
}

var (
	code      = regexp.MustCompile("(?s)`[^`]*`|\\]\\([^)]*\\)|<!--.*?-->")
	version   = regexp.MustCompile(`\bv?\d+\.\d+\.\d+\b|\bGo \d\.\d+|\bEq\. \d+|\bp\d\d\b|@\d+`)
	numeral   = regexp.MustCompile(`[+−-]?(\d[\d,]*)?\.?\d+`)
	behindOne = regexp.MustCompile(`^[  ]?(%|(ms|µs|ns|s|MB|MiB|GB|GiB|KB|KiB|bytes?|times|points?|minutes?|seconds?|min|CPU-s|CPU-ms|CPU-seconds|CPU-minutes|tokens per)\b)`)
)

// numbers are all numerals of a text.
func numbers(s string) []number {
	var out []number
	for _, at := range numeral.FindAllStringIndex(s, -1) {
		if x, ok := parseNumber(s[at[0]:at[1]]); ok {
			out = append(out, x)
		}
	}
	return out
}

func parseNumber(s string) (number, bool) {
	plain := strings.TrimLeft(strings.ReplaceAll(s, ",", ""), "+−-")
	v, err := strconv.ParseFloat(plain, 64)
	if err != nil {
		return number{}, false
	}
	x := number{text: s, value: v}
	if _, after, ok := strings.Cut(plain, "."); ok {
		x.decimals = len(after)
	}
	if strings.HasPrefix(s, "−") || strings.HasPrefix(s, "-") {
		x.value = -v
	}
	return x, true
}

// figuresOf are the numbers of a paragraph that look measured: those with decimals,
// a sign or a unit, outside of code, links and names of versions.
func figuresOf(s string) []number {
	blank := func(m string) string { return strings.Repeat("\x00", len(m)) }
	s = code.ReplaceAllStringFunc(s, blank)
	s = version.ReplaceAllStringFunc(s, blank)
	var out []number
	for _, at := range numeral.FindAllStringIndex(s, -1) {
		text := s[at[0]:at[1]]
		before := strings.TrimRight(s[:at[0]], "*")
		if before != "" && partOfName(before) {
			continue
		}
		x, ok := parseNumber(text)
		signed := strings.HasPrefix(text, "+") || strings.HasPrefix(text, "−")
		if strings.HasPrefix(text, "-") { // a hyphen
			x.value, signed = -x.value, false
		}
		if ok && (x.decimals > 0 || signed || behindOne.MatchString(s[at[1]:])) {
			out = append(out, x)
		}
	}
	return out
}

// partOfName reports whether the text before a numeral makes it part of a name or a formula: 1e-6,
// sha256, s^1.25, $2.
func partOfName(before string) bool {
	c := before[len(before)-1]
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '_' || c == '^' || c == '$' || c == '#' || c == '\x00'
}
