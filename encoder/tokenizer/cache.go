package tokenizer

import (
	"hash/maphash"
	"sync/atomic"
)

// cachedWord is the length in bytes of the longest word that is remembered.
const cachedWord = 48

// cache remembers the tokens of words, one word a slot, for all goroutines. It
// takes at most some 5 MB.
type cache struct {
	slots [1 << 14]atomic.Pointer[cached]
}

// cached is a word and its tokens.
type cached struct {
	word  string
	found []piece
}

var hashSeed = maphash.MakeSeed()

func hashOf(word []byte) uint64 { return maphash.Bytes(hashSeed, word) }

// get appends the tokens of word, or nothing.
func (c *cache) get(dst []piece, word []byte, hash uint64) []piece {
	e := c.slots[hash%uint64(len(c.slots))].Load()
	if e != nil && e.word == string(word) {
		dst = append(dst, e.found...)
	}
	return dst
}

// put remembers the tokens of word.
func (c *cache) put(word []byte, hash uint64, found []piece) {
	if len(found) == 0 {
		return
	}
	c.slots[hash%uint64(len(c.slots))].Store(&cached{string(word), append([]piece(nil), found...)})
}
