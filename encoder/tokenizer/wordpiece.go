package tokenizer

import (
	"unicode/utf8"
)

// Roots of the trie of wordPiece.
const (
	wordStart = 0 // entries as they are
	wordRest  = 1 // entries that continue a word, without their prefix
)

// wordPiece takes the longest entry that is a prefix of the word, then the longest that
// continues it, and so on. If this fails, the whole word is unknown.
type wordPiece struct {
	trie    *trie
	unk     int32
	longest int  // code points of a word that is looked at
	bert    bool // the names and the prefix are those of BERT
}

func (m *wordPiece) tokenize(dst []piece, word []byte, _ *work) []piece {
	unknown := piece{m.unk, 0, int32(len(word))}
	if len(word) > m.longest && utf8.RuneCount(word) > m.longest {
		return append(dst, unknown)
	}
	first, root := len(dst), uint32(wordStart)
	for i := 0; i < len(word); {
		id, end, at := int32(-1), i, root
		for j := i; j < len(word); j++ {
			next, ok := m.trie.step(at, word[j])
			if !ok {
				break
			}
			at = next
			if k := m.trie.id[at]; k >= 0 {
				id, end = k, j+1
			}
		}
		if id < 0 {
			return append(dst[:first], unknown)
		}
		dst = append(dst, piece{id, int32(i), int32(end)})
		i, root = end, wordRest
	}
	return dst
}
