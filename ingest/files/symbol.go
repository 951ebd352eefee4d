package files

import (
	"strconv"
	"strings"
)

// The font Symbol, from 0x20 and from 0xa0. Its signs have no other names in old files.
var (
	symbolsLow  = []rune(" !∀#∃%&∋()∗+,−./0123456789:;<=>?≅ΑΒΧΔΕΦΓΗΙϑΚΛΜΝΟΠΘΡΣΤΥςΩΞΨΖ[∴]⊥_‾αβχδεφγηιϕκλμνοπθρστυϖωξψζ{|}∼")
	symbolsHigh = []rune("€ϒ′≤⁄∞ƒ♣♦♥♠↔←↑→↓°±″≥×∝∂•÷≠≡≈…⏐⎯↵ℵℑℜ℘⊗⊕∅∩∪⊃⊇⊄⊂⊆∈∉∠∇®©™∏√⋅¬∧∨⇔⇐⇑⇒⇓◊〈®©™∑")
)

// wingdings are signs of the font Wingdings that say something.
var wingdings = map[int64]string{0x4a: "☺", 0xa7: "▪", 0xa8: "☐", 0xd8: "➢", 0xdf: "←", 0xe0: "→", 0xe1: "↑", 0xe2: "↓", 0xfb: "✗", 0xfc: "✓", 0xfd: "☒", 0xfe: "☑"}

// symbol is a character of a font by its hexadecimal number, as Unicode has it. It is "" for ornaments of other fonts.
func symbol(font, char string) string {
	n, err := strconv.ParseInt(char, 16, 32)
	if err != nil || n < ' ' || n > 0xffff {
		return ""
	}
	own := 0xf000 <= n && n <= 0xf0ff || n <= 0xff // a place in the font
	if own {
		n &= 0xff
	}
	switch font = strings.ToLower(font); {
	case own && font == "symbol" && ' ' <= n && n < 0x7f:
		return string(symbolsLow[n-' '])
	case own && font == "symbol" && 0xa0 <= n && n < 0xa0+int64(len(symbolsHigh)):
		return string(symbolsHigh[n-0xa0])
	case own && font == "wingdings":
		return wingdings[n]
	case own:
		return ""
	}
	return string(rune(n))
}
