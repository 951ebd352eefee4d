package tokenizer

import (
	"hash/maphash"
	"sync/atomic"
)

// cachedWord is the length in bytes of the longest word that is remembered.
const cachedWord = 48

// cache remembers the tokens of words, for all goroutines. It
// takes at most some 5 MB.
type cache struct {
	slots [1 << 12][ways]atomic.Pointer[cached]
}

// cached is a word and its tokens.
type cached struct {
	hash  uint64
	word  string
	found []piece
}

var hashSeed = maphash.MakeSeed()

func hashOf(word []byte) uint64 { return maphash.Bytes(hashSeed, word) }

// ways is the number of slots that a word may be in.
const ways = 4

func (c *cache) set(hash uint64) *[ways]atomic.Pointer[cached] {
	return &c.slots[hash%uint64(len(c.slots))]
}

// get returns the tokens of word, which must not be changed, or nil.
func (c *cache) get(word []byte, hash uint64) []piece {
	set := c.set(hash)
	for i := range set {
		if e := set[i].Load(); e != nil && e.hash == hash && e.word == string(word) {
			return e.found
		}
	}
	return nil
}

// put remembers the tokens of word, in a free slot or a random one.
func (c *cache) put(word []byte, hash uint64, found []piece) {
	if len(found) == 0 {
		return
	}
	set, way := c.set(hash), hash>>60%ways
	for i := range set {
		if set[i].Load() == nil {
			way = uint64(i)
			break
		}
	}
	set[way].Store(&cached{hash, string(word), append([]piece(nil), found...)})
}
