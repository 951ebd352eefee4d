package tokenizer

import (
	"bytes"
	"encoding/binary"
	"slices"
	"unicode/utf8"
)

// normalizer rewrites a text. It writes the result to dst, which is empty, and returns
// true. If nothing changes, it returns false, and src is the result.
type normalizer interface {
	normalize(dst, src *buffer) bool
}

// edit copies the unchanged parts from src to dst.
type edit struct {
	dst, src *buffer
	done     int // of src.text
}

// skip copies the text before lo and continues at hi.
func (e *edit) skip(lo, hi int) {
	e.dst.copy(e.src, e.done, lo)
	e.done = hi
}

// end copies the rest. It returns what normalize does.
func (e *edit) end() bool {
	if e.done == 0 {
		return false
	}
	e.skip(len(e.src.text), len(e.src.text))
	return true
}

// replace puts r in place of the code point src.text[i:i+size].
func (e *edit) replace(i, size int, r rune) {
	if utf8.RuneLen(r) == size {
		utf8.EncodeRune(e.src.text[i:i+size], r)
		return
	}
	e.skip(i, i+size)
	e.dst.put(r, e.src.from[i])
}

// lowercase maps each letter to lower case.
type lowercase struct{ *properties }

func (n lowercase) normalize(dst, src *buffer) bool {
	e := edit{dst: dst, src: src}
	for i := 0; i < len(src.text); {
		if c := src.text[i]; c < utf8.RuneSelf {
			src.text[i] = small(c)
			i++
			continue
		}
		c, size := n.next(src.text[i:])
		if c&isCapital != 0 {
			r, _ := decode(src.text[i:])
			if small, ok := n.lower[r]; ok {
				e.replace(i, size, small)
			} else { // İ, the one capital that becomes two code points
				e.skip(i, i+size)
				dst.puts("i\u0307", src.from[i])
			}
		}
		i += size
	}
	return e.end()
}

// ascii is the end of the ASCII characters from i on.
func ascii(text []byte, i int) int {
	for ; i+8 <= len(text); i += 8 {
		if binary.LittleEndian.Uint64(text[i:])&0x8080808080808080 != 0 {
			break
		}
	}
	for i < len(text) && text[i] < utf8.RuneSelf {
		i++
	}
	return i
}

// dropped is the result of a mapping that removes a code point.
const dropped = -1

// mapping replaces or removes code points one by one.
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
	e := edit{dst: dst, src: src}
	for i := 0; i < len(src.text); {
		if c := src.text[i]; c < utf8.RuneSelf && m.keep[c] {
			i++
			continue
		}
		r, size := decode(src.text[i:])
		switch q := m.of(r); q {
		case r:
		case dropped:
			e.skip(i, i+size)
		default:
			e.replace(i, size, q)
		}
		i += size
	}
	return e.end()
}

// nmt is the cleaning of the NMT recipe: it removes control characters and turns other
// white space into blanks.
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

// without removes the code points of a class.
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

// ideographs surrounds CJK ideographs with blanks: BertNormalizer's handle_chinese_chars.
type ideographs struct{}

func (ideographs) normalize(dst, src *buffer) bool {
	e := edit{dst: dst, src: src}
	for i := 0; i < len(src.text); {
		if src.text[i] < utf8.RuneSelf {
			i = ascii(src.text, i)
			continue
		}
		r, size := decode(src.text[i:])
		if ideograph(r) {
			e.skip(i, i)
			dst.put(' ', src.from[i])
			e.skip(i+size, i+size)
			dst.put(' ', src.from[i])
		}
		i += size
	}
	return e.end()
}

// ideograph follows the reference, whose ranges omit U+2B820 to U+2B91F.
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
	src.text = src.text[:copy(src.text, src.text[lo:hi])]
	src.from = src.from[:copy(src.from, src.from[lo:hi])]
	return false
}

// prepend puts a string before every non-empty text.
type prepend string

func (n prepend) normalize(dst, src *buffer) bool {
	if len(src.text) == 0 {
		return false
	}
	dst.puts(string(n), src.from[0])
	dst.copy(src, 0, len(src.text))
	return true
}

// replace puts content in place of each match of pattern.
type replace struct {
	pattern matcher
	content string
}

func (n replace) normalize(dst, src *buffer) bool {
	if p, ok := n.pattern.(literal); ok && len(p) == 1 && len(n.content) > 1 {
		return n.byte(dst, src, p[0])
	}
	e := edit{dst: dst, src: src}
	for at := 0; ; {
		lo, hi := n.pattern.find(src.text, at)
		if lo < 0 {
			return e.end()
		}
		from := src.from[hi-1]
		if hi-lo == len(n.content) {
			copy(src.text[lo:hi], n.content)
			for i := lo; i < hi; i++ {
				src.from[i] = from
			}
		} else {
			e.skip(lo, hi)
			dst.puts(n.content, from)
		}
		at = hi
	}
}

// byte is normalize for a pattern of one byte and longer content: usually the blank,
// which every word has.
func (n replace) byte(dst, src *buffer, p byte) bool {
	count := bytes.Count(src.text, []byte{p})
	if count == 0 {
		return false
	}
	at, size := len(dst.text), len(src.text)+count*(len(n.content)-1)
	text, from := slices.Grow(dst.text, size)[:at+size], slices.Grow(dst.from, size)[:at+size]
	dst.text, dst.from = text, from
	from = from[:len(text)]
	for i, f := range src.from {
		if c := src.text[i]; c != p {
			text[at], from[at] = c, f
			at++
			continue
		}
		at += put(text[at:], from[at:], n.content, f)
	}
	return true
}

// literal matches a non-empty string.
type literal []byte

func (p literal) find(text []byte, at int) (lo, hi int) {
	k := bytes.Index(text[at:], p)
	if k < 0 {
		return -1, -1
	}
	return at + k, at + k + len(p)
}
