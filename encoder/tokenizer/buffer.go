package tokenizer

import (
	"slices"
	"unicode/utf8"
)

// buffer is a text during normalisation. It is valid UTF-8.
//
// As in the reference, each code point belongs to one code point of the original: from[i]
// is its start, for each byte text[i]. Its length follows from the original.
type buffer struct {
	text []byte
	from []int32
}

func (b *buffer) reset() { b.text, b.from = b.text[:0], b.from[:0] }

// load sets b to original[lo:hi], which must be valid UTF-8.
func (b *buffer) load(original string, lo, hi int) {
	text := append(b.text[:0], original[lo:hi]...)
	from := slices.Grow(b.from[:0], len(text))[:len(text)]
	start := int32(lo)
	for i, c := range text {
		if c&0xC0 != 0x80 { // a code point begins
			start = int32(lo + i)
		}
		from[i] = start
	}
	b.text, b.from = text, from
}

// put appends r, which belongs to the code point at from.
func (b *buffer) put(r rune, from int32) {
	n := len(b.text)
	b.text = utf8.AppendRune(b.text, r)
	for range len(b.text) - n {
		b.from = append(b.from, from)
	}
}

// copy appends src[lo:hi].
func (b *buffer) copy(src *buffer, lo, hi int) {
	b.text = append(b.text, src.text[lo:hi]...)
	b.from = append(b.from, src.from[lo:hi]...)
}

// puts appends s; all of it belongs to the code point at from.
func (b *buffer) puts(s string, from int32) {
	n := len(b.text)
	b.text, b.from = slices.Grow(b.text, len(s))[:n+len(s)], slices.Grow(b.from, len(s))[:n+len(s)]
	put(b.text[n:], b.from[n:], s, from)
}

// put writes s to the start of text, and from to places for each of its bytes. It returns
// the length of s.
func put(text []byte, places []int32, s string, from int32) int {
	for i := range len(s) {
		text[i], places[i] = s[i], from
	}
	return len(s)
}

// aligner appends code points to dst the way the reference aligns the result of a
// normaliser with its input: by counting. Each put states the change in the number of
// code points.
type aligner struct {
	dst, src *buffer
	at       int // of src, what is not consumed yet
}

// put appends r. With change 0 it replaces the next code point of src. With −n it also
// removes the n code points after that. Above 0 it is an additional code point, aligned
// with the last consumed one.
func (a *aligner) put(r rune, change int) {
	if change > 0 {
		a.dst.put(r, a.src.from[max(a.at-1, 0)])
		return
	}
	a.dst.put(r, a.src.from[min(a.at, len(a.src.from)-1)])
	for ; change <= 0 && a.at < len(a.src.text); change++ {
		_, n := utf8.DecodeRune(a.src.text[a.at:])
		a.at += n
	}
}
