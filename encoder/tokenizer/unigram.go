package tokenizer

import (
	"unicode/utf8"
)

// unigram is the model of SentencePiece: each entry has a score (a log probability), and
// a word becomes the entries with the highest sum.
type unigram struct {
	trie     *trie
	scores   []float64
	unk      int32
	unkScore float64
	fallback *[256]int32 // ids of bytes, or nil
}

// node is the best segmentation up to the end of a part of a word.
type node struct {
	score float64
	start int32 // of its last token, -1 where there is no way
	id    int32
}

func (m *unigram) tokenize(dst []piece, word []byte, w *work) []piece {
	n := len(word)
	if cap(w.best) <= n {
		w.best = make([]node, n+1+n/2)
	}
	best := w.best[:n+1]
	for i := range best {
		best[i] = node{start: -1}
	}
	for i := 0; i < n; {
		size := 1
		if word[i] >= utf8.RuneSelf {
			_, size = decode(word[i:])
		}
		here, single := best[i].score, false
		at := uint32(0)
		for j := i; j < n; j++ {
			next, ok := m.trie.step(at, word[j])
			if !ok {
				break
			}
			at = next
			id := m.trie.id[at]
			if id < 0 {
				continue
			}
			if s, to := m.scores[id]+here, &best[j+1]; to.start < 0 || s > to.score {
				*to = node{s, int32(i), id}
			}
			single = single || j+1 == i+size
		}
		if !single {
			if s, to := m.unkScore+here, &best[i+size]; to.start < 0 || s > to.score {
				*to = node{s, int32(i), m.unk}
			}
		}
		i += size
	}
	// Backwards: unknown neighbours become one token.
	first := len(dst)
	for end := int32(n); end > 0; {
		b := best[end]
		if k := len(dst) - 1; b.id == m.unk && k >= first && dst[k].id == m.unk {
			dst[k].lo = b.start
		} else {
			dst = append(dst, piece{b.id, b.start, end})
		}
		end = b.start
	}
	return m.named(dst, first, word)
}

// named sorts dst[first:] and looks up unknown parts again: several together may be an
// entry, or be spelled in bytes.
func (m *unigram) named(dst []piece, first int, word []byte) []piece {
	extra := 0
	for i, j := first, len(dst)-1; i < j; i, j = i+1, j-1 {
		dst[i], dst[j] = dst[j], dst[i]
	}
	for i := first; i < len(dst); i++ {
		p := &dst[i]
		if p.id != m.unk {
			continue
		}
		if id := m.whole(word[p.lo:p.hi]); id >= 0 {
			p.id = id
		} else if m.fallback != nil && spelled(m.fallback, word[p.lo:p.hi]) {
			p.id = -1
			extra += int(p.hi-p.lo) - 1
		}
	}
	if extra == 0 {
		for i := first; i < len(dst); i++ {
			if dst[i].id == -1 {
				dst[i].id = m.fallback[word[dst[i].lo]]
			}
		}
		return dst
	}
	// From the end, so that nothing is overwritten before it is read.
	i, j := len(dst)-1, len(dst)-1+extra
	for range extra {
		dst = append(dst, piece{})
	}
	for ; i >= first; i-- {
		p := dst[i]
		if p.id >= 0 {
			dst[j] = p
			j--
			continue
		}
		for k := p.hi - 1; k >= p.lo; k-- {
			dst[j] = piece{m.fallback[word[k]], p.lo, p.hi}
			j--
		}
	}
	return dst
}

// whole is the id of the entry s, or -1.
func (m *unigram) whole(s []byte) int32 {
	at := uint32(0)
	for _, c := range s {
		next, ok := m.trie.step(at, c)
		if !ok {
			return -1
		}
		at = next
	}
	return m.trie.id[at]
}

// spelled reports whether there is an id for each byte of b.
func spelled(ids *[256]int32, b []byte) bool {
	for _, c := range b {
		if ids[c] < 0 {
			return false
		}
	}
	return true
}
