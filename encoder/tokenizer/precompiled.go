package tokenizer

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"unicode/utf8"

	"github.com/lexsem/lexsem/encoder"
)

// charsmap is the normaliser of SentencePiece as the reference runs it. Its
// rules are a double array (the trie of Darts-clone, github.com/s-yata/darts-clone)
// behind its length in bytes, whose values are places in the strings behind it,
// each ended by a zero.
//
// The reference looks up whole graphemes of less than six bytes, takes the
// shortest rule that the grapheme begins with, and drops the rest of it.
// Graphemes without a rule, and longer ones, go code point by code point.
type charsmap struct {
	*properties
	units []uint32
	text  []byte
	plain [utf8.RuneSelf]bool // ASCII without a rule
}

func newCharsmap(b []byte) (*charsmap, error) {
	bad := func(why string) error {
		return fmt.Errorf("%w: normalizer.precompiled_charsmap %s; fetch the model again", encoder.ErrTokenizer, why)
	}
	if len(b) < 8 {
		return nil, bad("is too short")
	}
	size := binary.LittleEndian.Uint32(b)
	if b = b[4:]; size < 4 || uint64(size) > uint64(len(b)) {
		return nil, bad(fmt.Sprintf("has %d bytes of rules, %d are announced", len(b), size))
	}
	m := &charsmap{properties: unicodeProperties(), units: make([]uint32, size/4)}
	for i := range m.units {
		m.units[i] = binary.LittleEndian.Uint32(b[4*i:])
	}
	m.text = b[4*len(m.units):]
	if !utf8.Valid(m.text) {
		return nil, bad("has replacements that are not UTF-8")
	}
	for c := range m.plain {
		_, rule := m.lookup([]byte{byte(c)})
		m.plain[c] = !rule
	}
	return m, nil
}

// lookup returns what the shortest rule that key begins with puts in its place.
func (m *charsmap) lookup(key []byte) (string, bool) {
	offset := func(u uint32) uint32 { return u >> 10 << (u & (1 << 9) >> 6) }
	at := offset(m.units[0])
	for _, c := range key {
		at ^= uint32(c)
		if c == 0 || at >= uint32(len(m.units)) {
			return "", false
		}
		u := m.units[at]
		if u&(1<<31|0xff) != uint32(c) {
			return "", false
		}
		at ^= offset(u)
		if u>>8&1 == 0 {
			continue
		}
		if at >= uint32(len(m.units)) {
			return "", false
		}
		value := m.units[at] & (1<<31 - 1)
		if value >= uint32(len(m.text)) {
			return "", value == uint32(len(m.text))
		}
		s := m.text[value:]
		if k := bytes.IndexByte(s, 0); k >= 0 {
			s = s[:k]
		}
		return string(s), utf8.Valid(s)
	}
	return "", false
}

func (m *charsmap) normalize(dst, src *buffer) bool {
	text, begin := src.text, 0
	for begin < len(text) && text[begin] < utf8.RuneSelf && m.plain[text[begin]] {
		begin++
	}
	if begin == len(text) {
		return false
	}
	begin = max(begin-1, 0) // a mark behind it may belong to it
	out, modified := dst.changes[:0], false
	rule := func(part []byte) bool {
		s, ok := m.lookup(part)
		if !ok {
			return false
		}
		modified = true
		diff := int32(utf8.RuneCountInString(s) - utf8.RuneCount(part))
		for _, r := range s {
			out = append(out, changed{r: r})
		}
		if diff < 0 && len(out) > 0 {
			out[len(out)-1].change += diff
		}
		for k := len(out) - 1; diff > 0; k, diff = k-1, diff-1 {
			out[k].change = 1
		}
		return true
	}
	for i := begin; i < len(text); {
		if c := text[i]; c < utf8.RuneSelf && m.plain[c] && (i+1 == len(text) || text[i+1] < utf8.RuneSelf && text[i+1] != '\n') {
			out = append(out, changed{r: rune(c)})
			i++
			continue
		}
		size := m.grapheme(text[i:])
		if size < 6 && rule(text[i:i+size]) {
			i += size
			continue
		}
		for end := i + size; i < end; {
			r, n := utf8.DecodeRune(text[i:])
			if n == size && size < 6 || !rule(text[i:i+n]) { // n == size: it was looked up above
				out = append(out, changed{r: r})
			}
			i += n
		}
	}
	dst.changes = out
	if !modified {
		return false
	}
	dst.copy(src, 0, begin)
	a := aligner{dst: dst, src: src, at: begin}
	for _, c := range out {
		a.put(c.r, int(c.change))
	}
	return true
}
