package tokenizer

import (
	"bytes"
	"slices"
	"unicode/utf8"
)

// normalizer rewrites a text. It puts the result into dst, which is empty, and
// reports true, or leaves src as it is and reports false.
type normalizer interface {
	normalize(dst, src *buffer) bool
}

// lowercase maps letters to small ones, one by one.
type lowercase struct{ *properties }

func (n lowercase) normalize(dst, src *buffer) bool {
	for i := 0; i < len(src.text); {
		if src.text[i] < utf8.RuneSelf {
			end, start := ascii(src.text, i), len(dst.text)
			dst.copy(src, i, end)
			for k, c := range dst.text[start:] {
				dst.text[start+k] = small(c)
			}
			i = end
			continue
		}
		r, size := utf8.DecodeRune(src.text[i:])
		if small, ok := n.lower[r]; ok {
			dst.put(small, src.from[i])
		} else if r == 'İ' { // the one capital that becomes two code points
			dst.puts("i\u0307", src.from[i])
		} else {
			dst.copy(src, i, i+size)
		}
		i += size
	}
	return true
}

// ascii is the end of the ASCII characters from i on.
func ascii(text []byte, i int) int {
	for i < len(text) && text[i] < utf8.RuneSelf {
		i++
	}
	return i
}

// dropped is what a mapping returns for code points that it takes out.
const dropped = -1

// mapping replaces code points one by one, or takes them out.
type mapping struct {
	of   func(r rune) rune
	keep [utf8.RuneSelf]bool // ASCII that stays as it is
}

func newMapping(of func(r rune) rune) *mapping {
	m := &mapping{of: of}
	for c := range m.keep {
		m.keep[c] = of(rune(c)) == rune(c)
	}
	return m
}

func (m *mapping) normalize(dst, src *buffer) bool {
	for i := 0; i < len(src.text); {
		end := i
		for end < len(src.text) && src.text[end] < utf8.RuneSelf && m.keep[src.text[end]] {
			end++
		}
		if end > i {
			dst.copy(src, i, end)
			i = end
			continue
		}
		r, size := utf8.DecodeRune(src.text[i:])
		switch q := m.of(r); q {
		case r:
			dst.copy(src, i, i+size)
		case dropped:
		default:
			dst.put(q, src.from[i])
		}
		i += size
	}
	return true
}

// nmt is the cleaning of the NMT recipe: control characters go, white space of
// other kinds becomes blanks.
func nmt(r rune) rune {
	switch {
	case 0x01 <= r && r <= 0x08, r == 0x0B, 0x0E <= r && r <= 0x1F, r == 0x7F, r == 0x8F, r == 0x9F:
		return dropped
	case r == '\t', r == '\n', r == '\f', r == '\r', r == 0x1680, 0x200B <= r && r <= 0x200F,
		r == 0x2028, r == 0x2029, r == 0x2581, r == 0xFEFF, r == utf8.RuneError:
		return ' '
	}
	return r
}

// without takes out the code points of a class.
func without(p *properties, c class) *mapping {
	return newMapping(func(r rune) rune {
		if p.of(r)&c != 0 {
			return dropped
		}
		return r
	})
}

// cleanText is BertNormalizer's clean_text.
func cleanText(p *properties) *mapping {
	return newMapping(func(r rune) rune {
		switch c := p.of(r); {
		case c&isControl != 0:
			return dropped
		case c&isWhite != 0:
			return ' '
		}
		return r
	})
}

// ideographs sets CJK ideographs apart with blanks: BertNormalizer's
// handle_chinese_chars.
type ideographs struct{}

func (ideographs) normalize(dst, src *buffer) bool {
	for i := 0; i < len(src.text); {
		if end := ascii(src.text, i); end > i {
			dst.copy(src, i, end)
			i = end
			continue
		}
		r, size := utf8.DecodeRune(src.text[i:])
		apart := ideograph(r)
		if apart {
			dst.put(' ', src.from[i])
		}
		dst.copy(src, i, i+size)
		if apart {
			dst.put(' ', src.from[i])
		}
		i += size
	}
	return true
}

// ideograph follows the reference, whose ranges leave U+2B820 to U+2B91F out.
func ideograph(r rune) bool {
	return 0x4E00 <= r && r <= 0x9FFF || 0x3400 <= r && r <= 0x4DBF || 0x20000 <= r && r <= 0x2A6DF ||
		0x2A700 <= r && r <= 0x2B81F || 0x2B920 <= r && r <= 0x2CEAF || 0xF900 <= r && r <= 0xFAFF || 0x2F800 <= r && r <= 0x2FA1F
}

// strip takes white space off the ends.
type strip struct {
	*properties
	left, right bool
}

func (n strip) normalize(dst, src *buffer) bool {
	lo, hi := 0, len(src.text)
	for n.left && lo < hi {
		c, size := n.next(src.text[lo:])
		if c&isWhite == 0 {
			break
		}
		lo += size
	}
	for n.right && lo < hi {
		r, size := utf8.DecodeLastRune(src.text[lo:hi])
		if n.of(r)&isWhite == 0 {
			break
		}
		hi -= size
	}
	dst.copy(src, lo, hi)
	return true
}

// prepend puts a string before any text but the empty one.
type prepend string

func (n prepend) normalize(dst, src *buffer) bool {
	if len(src.text) == 0 {
		return false
	}
	dst.puts(string(n), src.from[0])
	dst.copy(src, 0, len(src.text))
	return true
}

// replace puts content where pattern matches.
type replace struct {
	pattern matcher
	content string
}

func (n replace) normalize(dst, src *buffer) bool {
	if p, ok := n.pattern.(literal); ok && len(p) == 1 {
		return n.byte(dst, src, p[0])
	}
	at := 0
	for {
		lo, hi := n.pattern.find(src.text, at)
		if lo < 0 {
			break
		}
		dst.copy(src, at, lo)
		dst.puts(n.content, src.from[hi-1])
		at = hi
	}
	if at == 0 {
		return false
	}
	dst.copy(src, at, len(src.text))
	return true
}

// byte is normalize where the pattern is one byte: mostly the blank, of which every word
// has one.
func (n replace) byte(dst, src *buffer, p byte) bool {
	count := bytes.Count(src.text, []byte{p})
	if count == 0 {
		return false
	}
	at, size := len(dst.text), len(src.text)+count*(len(n.content)-1)
	dst.text = slices.Grow(dst.text, size)[:at+size]
	dst.from = slices.Grow(dst.from, size)[:at+size]
	text, from := dst.text, dst.from
	for i, c := range src.text {
		if c != p {
			text[at], from[at] = c, src.from[i]
			at++
			continue
		}
		for k := range len(n.content) {
			text[at], from[at] = n.content[k], src.from[i]
			at++
		}
	}
	return true
}

// literal matches a string, which is not empty.
type literal []byte

func (p literal) find(text []byte, at int) (lo, hi int) {
	k := bytes.Index(text[at:], p)
	if k < 0 {
		return -1, -1
	}
	return at + k, at + k + len(p)
}
