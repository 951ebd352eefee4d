package tokenizer

import (
	"encoding/binary"
	"sync"
	"unicode"
	"unicode/utf8"
)

// class is a set of the properties that classes_table.go names:
//
//	letter, number, space        \p{L}, \p{N}, \s of the reference's patterns (Oniguruma)
//	white, numeric, word         white space, numbers, \w of the reference's own language
//	punct                        punctuation, ASCII symbols included
//	nonspacing, mark             what BertNormalizer and StripAccents take out
//	control                      what BertNormalizer's clean_text takes out
//	extend, prepend, breaks      belongs to the grapheme before, to the one after, to none
//	pictograph                   emoji that a joiner joins
//	consonant, linker, incbExtend  conjuncts of Indic scripts, one grapheme
//	decomposes, ordered          has a decomposition (NFKD), a combining class other than 0
//
// Those below are derived when the table is read.
type class uint32

const (
	isCapital class = 1 << (iota + 19) // has a small letter
	isUpper                            // [\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]
	isLower                            // [\p{Ll}\p{Lm}\p{Lo}\p{M}]
	// The form may change the code point, alone or together with the text before it. Text
	// without such code points is already in that form.
	unsettledNFC
	unsettledNFD
	unsettledNFKC
	unsettledNFKD
	isPaired // a Hangul letter or syllable, or half of a flag: some share a grapheme
)

// properties maps code points to classes, 256 at a time.
type properties struct {
	page    [utf8.MaxRune>>8 + 1]uint16
	classes [][256]class
	ascii   [256]class    // by byte; 0 for those of longer code points
	lower   map[rune]rune // of letters that are not ASCII
}

// of returns the class of r, which must be a valid code point.
func (p *properties) of(r rune) class { return p.classes[p.page[r>>8]][r&0xff] }

// next returns the class and the size of the code point at the start of b, which is
// valid UTF-8 and not empty. It is written so that the compiler inlines it.
func (p *properties) next(b []byte) (c class, size int) {
	c, size = p.ascii[b[0]], 1
	if c == 0 {
		c, size = p.wide(b)
	}
	return
}

//go:noinline
func (p *properties) wide(b []byte) (class, int) {
	r, n := decode(b)
	return p.of(r), n
}

// decode returns the code point at the start of b, which is valid UTF-8 and not empty, and
// its size. It is utf8.DecodeRune without the checks.
func decode(b []byte) (rune, int) {
	switch c := b[0]; {
	case c < utf8.RuneSelf:
		return rune(c), 1
	case c < 0xE0:
		return rune(c&0x1F)<<6 | rune(b[1]&0x3F), 2
	case c < 0xF0:
		return rune(c&0xF)<<12 | rune(b[1]&0x3F)<<6 | rune(b[2]&0x3F), 3
	default:
		return rune(c&7)<<18 | rune(b[1]&0x3F)<<12 | rune(b[2]&0x3F)<<6 | rune(b[3]&0x3F), 4
	}
}

var unicodeProperties = sync.OnceValue(func() *properties {
	flat := make([]class, utf8.MaxRune+1)
	unpackRuns(classRuns, func(r rune, v uint64) { flat[r] = class(v) })
	p := &properties{lower: map[rune]rune{}}
	unpackRuns(lowerRuns, func(r rune, zigzag uint64) {
		p.lower[r] = r + (rune(zigzag>>1) ^ -rune(zigzag&1))
		flat[r] |= isCapital
	})
	flat['İ'] |= isCapital
	markCases(flat)
	markForms(flat)
	for _, block := range [][2]rune{{0x1100, 0x11FF}, {0xA960, 0xA97F}, {hangulBase, 0xD7FF}, {0x1F1E6, 0x1F1FF}} {
		for r := block[0]; r <= block[1]; r++ {
			if hangulKind(r) != notHangul || regional(r) {
				flat[r] |= isPaired
			}
		}
	}
	pages := map[[256]class]uint16{}
	for i := range p.page {
		page := [256]class(flat[i<<8:])
		k, ok := pages[page]
		if !ok {
			k = uint16(len(p.classes))
			pages[page] = k
			p.classes = append(p.classes, page)
		}
		p.page[i] = k
	}
	copy(p.ascii[:utf8.RuneSelf], flat)
	return p
})

// markCases marks isUpper and isLower. Letters of a later Unicode than package
// unicode's are both.
func markCases(flat []class) {
	for _, t := range []struct {
		table *unicode.RangeTable
		class class
	}{
		{unicode.Lu, isUpper}, {unicode.Lt, isUpper}, {unicode.Ll, isLower},
		{unicode.Lm, isUpper | isLower}, {unicode.Lo, isUpper | isLower}, {unicode.M, isUpper | isLower},
	} {
		mark := func(lo, hi, stride rune) {
			for r := lo; r <= hi; r += stride {
				flat[r] |= t.class
			}
		}
		for _, x := range t.table.R16 {
			mark(rune(x.Lo), rune(x.Hi), rune(x.Stride))
		}
		for _, x := range t.table.R32 {
			mark(rune(x.Lo), rune(x.Hi), rune(x.Stride))
		}
	}
	for r, c := range flat {
		if c&(isLetter|isUpper|isLower) == isLetter {
			flat[r] |= isUpper | isLower
		}
	}
}

// unpackRuns reads (gap, count - 1, stride, value) of a generated table.
func unpackRuns(s string, set func(rune, uint64)) {
	b := []byte(s)
	next := func() uint64 {
		v, n := binary.Uvarint(b)
		b = b[n:]
		return v
	}
	for r := rune(0); len(b) > 0; {
		r += rune(next())
		n, stride, value := next(), rune(next()), next()
		for i := range rune(n + 1) {
			set(r+i*stride, value)
		}
		r += rune(n) * stride
	}
}
