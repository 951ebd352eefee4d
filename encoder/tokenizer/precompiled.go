package tokenizer

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"unicode/utf8"

	"github.com/lexsem/lexsem/encoder"
)

// charsmap is the normaliser of SentencePiece as in the reference.
//
// The reference looks up whole graphemes of less than six bytes. It applies the shortest
// rule that is a prefix of the grapheme and drops the rest of the grapheme. Longer
// graphemes and those without a rule are replaced code point by code point.
type charsmap struct {
	*properties
	rules rules
	plain [utf8.RuneSelf]bool // ASCII without a rule
}

// rules find the replacement of a text.
type rules interface {
	// lookup returns the replacement of the shortest rule that key begins with.
	lookup(key []byte) ([]byte, bool)
}

func charsmapOf(r rules) *charsmap {
	m := &charsmap{properties: unicodeProperties(), rules: r}
	for c := range m.plain {
		_, rule := r.lookup([]byte{byte(c)})
		m.plain[c] = !rule
	}
	return m
}

// doubleArray holds the rules as in tokenizer.json: the length in bytes and a double
// array (the trie of Darts-clone, github.com/s-yata/darts-clone), then strings that each
// end with a zero. The values of the array are positions of strings.
type doubleArray struct {
	units []uint32
	text  []byte
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
	m := &doubleArray{units: make([]uint32, size/4)}
	for i := range m.units {
		m.units[i] = binary.LittleEndian.Uint32(b[4*i:])
	}
	m.text = b[4*len(m.units):]
	if !utf8.Valid(m.text) {
		return nil, bad("has replacements that are not UTF-8")
	}
	return charsmapOf(m), nil
}

func (m *doubleArray) lookup(key []byte) ([]byte, bool) {
	offset := func(u uint32) uint32 { return u >> 10 << (u & (1 << 9) >> 6) }
	at := offset(m.units[0])
	for _, c := range key {
		at ^= uint32(c)
		if c == 0 || at >= uint32(len(m.units)) {
			return nil, false
		}
		u := m.units[at]
		if u&(1<<31|0xff) != uint32(c) {
			return nil, false
		}
		at ^= offset(u)
		if u>>8&1 == 0 {
			continue
		}
		if at >= uint32(len(m.units)) {
			return nil, false
		}
		value := m.units[at] & (1<<31 - 1)
		if value >= uint32(len(m.text)) {
			return nil, value == uint32(len(m.text))
		}
		s := m.text[value:]
		if k := bytes.IndexByte(s, 0); k >= 0 {
			s = s[:k]
		}
		return s, utf8.Valid(s)
	}
	return nil, false
}

func (m *charsmap) normalize(dst, src *buffer) bool {
	text, done := src.text, 0 // text[:done] is in dst
	w := rewriter{aligner: aligner{dst: dst, src: src}, inserted: -1}
	modified := false
	rule := func(lo, hi int) bool {
		s, ok := m.rules.lookup(text[lo:hi])
		if ok {
			modified = true
			w.keep(done, lo)
			w.replace(s, utf8.RuneCount(text[lo:hi]))
			done = hi
		}
		return ok
	}
	for i := 0; i < len(text); {
		if c := text[i]; c < utf8.RuneSelf && m.plain[c] && (i+1 == len(text) || text[i+1] < utf8.RuneSelf && text[i+1] != '\n') {
			i++
			continue
		}
		size := m.grapheme(text[i:])
		if size < 6 && rule(i, i+size) {
			i += size
			continue
		}
		for end := i + size; i < end; {
			_, n := decode(text[i:])
			if n < size { // else it was looked up above
				rule(i, i+n)
			}
			i += n
		}
	}
	if modified {
		w.keep(done, len(text))
	}
	return modified
}

// rewriter replaces parts of src. It aligns as the reference does: if a part at the very
// start is deleted, the following text is aligned too early.
type rewriter struct {
	aligner
	inserted int // where the last code point of dst begins if it was one more, else -1
}

// keep copies src[lo:hi].
func (w *rewriter) keep(lo, hi int) {
	if lo == hi {
		return
	}
	w.inserted = -1
	if w.at == lo {
		w.dst.copy(w.src, lo, hi)
		w.at = hi
		return
	}
	for _, r := range string(w.src.text[lo:hi]) {
		w.put(r, 0)
	}
}

// replace puts s in place of old code points of src.
func (w *rewriter) replace(s []byte, old int) {
	count := utf8.RuneCount(s)
	for k := 0; len(s) > 0; k++ {
		r, n := decode(s)
		s = s[n:]
		w.inserted = -1
		switch {
		case k >= old:
			w.inserted = len(w.dst.text)
			w.put(r, 1)
		case k == count-1:
			w.put(r, count-old)
		default:
			w.put(r, 0)
		}
	}
	if count > 0 || len(w.dst.text) == 0 {
		return
	}
	// A deleted code point counts for the one before it. If that was an additional one,
	// it takes the position of the deleted one.
	if w.inserted >= 0 {
		from := w.src.from[min(w.at, len(w.src.from)-1)]
		for k := w.inserted; k < len(w.dst.from); k++ {
			w.dst.from[k] = from
		}
		w.inserted = -1
	}
	for ; old > 0 && w.at < len(w.src.text); old-- {
		_, n := decode(w.src.text[w.at:])
		w.at += n
	}
}
