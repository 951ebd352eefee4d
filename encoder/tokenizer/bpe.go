package tokenizer

import (
	"bytes"
	"math"
	"unicode/utf8"
)

// piece is a token: an id and a range of the given word.
type piece struct {
	id     int32
	lo, hi int32
}

// model turns words into tokens.
type model interface {
	// tokenize appends the tokens of word to dst; word must not be empty.
	tokenize(dst []piece, word []byte, w *work) []piece
}

// work is the working memory of models.
type work struct {
	symbols []symbol
	heap    []candidate
	ranks   []uint64
	best    []node
}

// bpe is byte-pair encoding: the pair of neighbours with the lowest rank merges, the
// leftmost first, until no pair can merge.
type bpe struct {
	raw          bool // symbols are bytes, not code points
	whole        map[string]int32
	longest      int // bytes of the longest entry of whole
	ignoreMerges bool
	// The ids of single symbols, -1 for none, by position: [1][.] after another symbol,
	// [.][1] last in the word.
	small  [2][2]*[256]int32
	large  [2][2]map[rune]int32
	merges pairs

	unk       int32 // -1 for none
	fuse      bool
	fallback  *[256]int32 // ids of bytes, or nil
	mark      []byte      // words are cut before it where no merge crosses
	crossing  runeSet     // code points that a merge joins with a mark after them
	cutBefore bool
}

// symbol is a range of a word that is currently one token.
type symbol struct {
	id         int32
	len        int32 // 0 where it was merged into the one before
	prev, next int32
}

// candidate is a pair that may merge.
type candidate struct {
	key uint64 // rank<<32 | position
	id  int32  // of the result
}

// noMerge is a value above every rank.
const noMerge = math.MaxUint64

// fewSymbols is the number of symbols up to which looking at all pairs is
// faster than a heap.
const fewSymbols = 40

func (m *bpe) tokenize(dst []piece, word []byte, w *work) []piece {
	if m.ignoreMerges && len(word) <= m.longest {
		if id, ok := m.whole[string(word)]; ok {
			return append(dst, piece{id, 0, int32(len(word))})
		}
	}
	m.symbols(word, w)
	if len(w.symbols) <= fewSymbols {
		m.mergeFew(w)
	} else {
		m.mergeMany(w)
	}
	at := int32(0)
	for _, s := range w.symbols {
		if s.len == 0 {
			continue
		}
		dst = append(dst, piece{s.id, at, at + s.len})
		at += s.len
	}
	return dst
}

// symbols sets w.symbols to the single symbols of word.
func (m *bpe) symbols(word []byte, w *work) {
	w.symbols = w.symbols[:0]
	pending := int32(0) // length of an unknown symbol that is not put yet
	put := func(id, n int32) { w.symbols = append(w.symbols, symbol{id: id, len: n}) }
	for i := 0; i < len(word); {
		size := 1
		if !m.raw && word[i] >= utf8.RuneSelf {
			_, size = decode(word[i:])
		}
		behind, last := 0, 0
		if i > 0 {
			behind = 1
		}
		if i+size == len(word) {
			last = 1
		}
		var id int32
		if size == 1 {
			id = m.small[behind][last][word[i]]
		} else {
			r, _ := decode(word[i:])
			var ok bool
			if id, ok = m.large[behind][last][r]; !ok {
				id = -1
			}
		}
		switch {
		case id >= 0:
			if pending > 0 {
				put(m.unk, pending)
				pending = 0
			}
			put(id, int32(size))
		case m.fallback != nil && spelled(m.fallback, word[i:i+size]):
			// Pending symbols stay after these, as in the reference.
			for _, b := range word[i : i+size] {
				put(m.fallback[b], 1)
			}
		case m.unk < 0: // without a name for it, it is left out
		case pending > 0 && !m.fuse:
			put(m.unk, pending)
			pending = int32(size)
		default:
			pending += int32(size)
		}
		i += size
	}
	if pending > 0 {
		put(m.unk, pending)
	}
}

// mergeFew merges by looking at the rank of every pair each time.
func (m *bpe) mergeFew(w *work) {
	s := w.symbols
	rank := func(i int) uint64 { return m.merges.get(s[i].id, s[i+1].id) }
	w.ranks = w.ranks[:0]
	for i := 0; i+1 < len(s); i++ {
		w.ranks = append(w.ranks, rank(i))
	}
	ranks := w.ranks
	for {
		best, at := uint64(noMerge), -1
		for i, r := range ranks {
			if r < best {
				best, at = r, i
			}
		}
		if at < 0 {
			break
		}
		s[at].id = int32(uint32(best))
		s[at].len += s[at+1].len
		s = append(s[:at+1], s[at+2:]...)
		ranks = append(ranks[:at], ranks[at+1:]...)
		if at > 0 {
			ranks[at-1] = rank(at - 1)
		}
		if at < len(ranks) {
			ranks[at] = rank(at)
		}
	}
	w.symbols = s
}

// mergeMany merges with a heap of the pairs, in O(n log n).
func (m *bpe) mergeMany(w *work) {
	s := w.symbols
	w.heap = w.heap[:0]
	push := func(i int32) {
		if s[i].next < 0 {
			return
		}
		if r := m.merges.get(s[i].id, s[s[i].next].id); r != noMerge {
			w.heap = append(w.heap, candidate{r>>32<<32 | uint64(i), int32(uint32(r))})
		}
	}
	for i := range s {
		s[i].prev, s[i].next = int32(i-1), int32(i+1)
	}
	s[len(s)-1].next = -1
	for i := range s {
		push(int32(i))
	}
	for i := len(w.heap)/2 - 1; i >= 0; i-- {
		w.sink(i)
	}
	for len(w.heap) > 0 {
		top := w.heap[0]
		n := len(w.heap) - 1
		w.heap[0] = w.heap[n]
		w.heap = w.heap[:n]
		w.sink(0)
		i := int32(uint32(top.key))
		if s[i].len == 0 || s[i].next < 0 {
			continue
		}
		j := s[i].next
		if r := m.merges.get(s[i].id, s[j].id); r == noMerge || int32(uint32(r)) != top.id {
			continue // the pair is another one by now
		}
		s[i].id = top.id
		s[i].len += s[j].len
		s[i].next = s[j].next
		s[j].len = 0
		if s[i].next >= 0 {
			s[s[i].next].prev = i
		}
		if p := s[i].prev; p >= 0 {
			before := len(w.heap)
			if push(p); len(w.heap) > before {
				w.rise()
			}
		}
		before := len(w.heap)
		if push(i); len(w.heap) > before {
			w.rise()
		}
	}
}

// sink moves the candidate at i down to its place in the heap, rise moves the last one
// up.
func (w *work) sink(i int) {
	h := w.heap
	for {
		c := 2*i + 1
		if c >= len(h) {
			return
		}
		if c+1 < len(h) && h[c+1].key < h[c].key {
			c++
		}
		if h[i].key <= h[c].key {
			return
		}
		h[i], h[c] = h[c], h[i]
		i = c
	}
}

func (w *work) rise() {
	h := w.heap
	for i := len(h) - 1; i > 0; {
		p := (i - 1) / 2
		if h[p].key <= h[i].key {
			return
		}
		h[i], h[p] = h[p], h[i]
		i = p
	}
}

// pairs maps two ids to the rank of their merge and its result, in one array.
type pairs struct {
	keys   []uint64 // a<<32 | b, plus 1; 0 is free
	values []uint64 // rank<<32 | id
	shift  uint
}

func newPairs(n int) pairs {
	bits := uint(4)
	for 1<<bits < 2*n {
		bits++
	}
	return pairs{make([]uint64, 1<<bits), make([]uint64, 1<<bits), 64 - bits}
}

func (p *pairs) slot(key uint64) uint64 {
	mask := uint64(len(p.keys) - 1)
	for h := key * 0x9E3779B97F4A7C15 >> p.shift; ; h = (h + 1) & mask {
		if p.keys[h] == key || p.keys[h] == 0 {
			return h
		}
	}
}

// set gives a pair its rank; it replaces an earlier one.
func (p *pairs) set(a, b int32, rank int, id int32) {
	key := uint64(a)<<32 | uint64(b) + 1
	h := p.slot(key)
	p.keys[h], p.values[h] = key, uint64(rank)<<32|uint64(id)
}

func (p *pairs) get(a, b int32) uint64 {
	key := uint64(a)<<32 | uint64(b) + 1
	if h := p.slot(key); p.keys[h] == key {
		return p.values[h]
	}
	return noMerge
}

// cut returns the end of the part of word, from at on, that can be tokenized separately:
// no merge crosses the boundary to the next mark.
func (m *bpe) cut(word []byte, at int) int {
	if !m.cutBefore {
		return len(word)
	}
	first, rest := m.mark[0], word[at+1:]
	for i, c := range rest {
		if c != first || !bytes.HasPrefix(rest[i:], m.mark) {
			continue
		}
		if r, _ := utf8.DecodeLastRune(word[:at+1+i]); !m.crossing.has(r) {
			return at + 1 + i
		}
	}
	return len(word)
}
