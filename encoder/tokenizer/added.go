package tokenizer

import (
	"bytes"
	"unicode/utf8"
)

// addedToken is a token that is matched in the original or the normalised text before the
// model sees the text.
type addedToken struct {
	Content    string
	ID         int32
	Special    bool
	Normalized bool
	SingleWord bool
	Lstrip     bool
	Rstrip     bool

	pattern string // what is looked for
}

// finder finds added tokens, the longest of the leftmost.
type finder struct {
	*properties
	tokens []addedToken
	trie   *trie // of patterns; ids are indices of tokens
	starts [256]bool
	few    []byte // these, if they are so few that looking for each is faster
}

func newFinder(p *properties, tokens []addedToken) *finder {
	f := &finder{properties: p, tokens: tokens}
	entries := make([]trieEntry, len(tokens))
	for i, t := range tokens {
		entries[i] = trieEntry{text: t.pattern, id: int32(i)}
		f.starts[t.pattern[0]] = true
	}
	for b, is := range f.starts {
		if is {
			f.few = append(f.few, byte(b))
		}
	}
	if len(f.few) > 2 {
		f.few = nil
	}
	f.trie = newTrie(1, entries)
	return f
}

// next returns the first token in text[at:] and its range, including white space that
// belongs to it. free is the end of the previous token. t is nil if there is no token.
func (f *finder) next(text []byte, at, free int) (t *addedToken, lo, hi, after int) {
	for ; ; at++ {
		if at += f.start(text[at:]); at == len(text) {
			return nil, 0, 0, 0
		}
		node, end := uint32(0), -1
		for j := at; j < len(text); j++ {
			child, ok := f.trie.step(node, text[j])
			if !ok {
				break
			}
			node = child
			if k := f.trie.id[node]; k >= 0 {
				t, end = &f.tokens[k], j+1
			}
		}
		if end < 0 {
			continue
		}
		if t.SingleWord && !f.alone(text, at, end) {
			t, at = nil, end-1
			continue
		}
		lo, hi = at, end
		for t.Lstrip && lo > free {
			r, n := utf8.DecodeLastRune(text[:lo])
			if f.of(r)&isWhite == 0 {
				break
			}
			lo -= n
		}
		for t.Rstrip && hi < len(text) {
			c, n := f.properties.next(text[hi:])
			if c&isWhite == 0 {
				break
			}
			hi += n
		}
		return t, lo, hi, end
	}
}

// start is the first position in text where a token may begin, or its length. If tokens
// begin with few different bytes, each byte is searched for in one stretch at a time, so an
// absent byte costs little.
func (f *finder) start(text []byte) int {
	if len(f.few) > 0 {
		for at, size := 0, 64; at < len(text); at, size = at+size, min(2*size, 1<<12) {
			part := text[at:min(at+size, len(text))]
			some := part
			for _, b := range f.few {
				if k := bytes.IndexByte(some, b); k >= 0 {
					some = some[:k]
				}
			}
			if len(some) < len(part) {
				return at + len(some)
			}
		}
		return len(text)
	}
	for i, b := range text {
		if f.starts[b] {
			return i
		}
	}
	return len(text)
}

// alone reports whether no part of a word touches text[lo:hi].
func (f *finder) alone(text []byte, lo, hi int) bool {
	if lo > 0 {
		if r, _ := utf8.DecodeLastRune(text[:lo]); f.of(r)&isWord != 0 {
			return false
		}
	}
	if hi < len(text) {
		if c, _ := f.properties.next(text[hi:]); c&isWord != 0 {
			return false
		}
	}
	return true
}

// blanksAround counts the code points at each end of s that are white space or the letter
// that stands for a blank in byte-level vocabularies.
func (p *properties) blanksAround(s []byte) (before, behind int) {
	blank := func(r rune) bool { return r == 'Ġ' || p.of(r)&isWhite != 0 }
	for _, r := range bytes.Runes(s) {
		if !blank(r) {
			break
		}
		before++
	}
	for len(s) > 0 {
		r, n := utf8.DecodeLastRune(s)
		if !blank(r) {
			break
		}
		behind++
		s = s[:len(s)-n]
	}
	return before, behind
}
