package tokenizer

import (
	"hash/maphash"
	"sync/atomic"
)

// Maximum sizes of one cached word.
const (
	cachedWord   = 46 // bytes
	cachedPieces = 24
)

// cache stores the tokens of words, for all goroutines. It takes at most some 3 MB.
type cache struct {
	slots [1 << 12][ways]atomic.Pointer[cached]
}

// ways is the number of slots that a word may be in.
const ways = 4

// cached is a word and its tokens: word[lo[i]:hi[i]] has the id ids[i]. It is one block
// of memory, since several lookups would cost more than all other work.
type cached struct {
	size, count uint8
	word        [cachedWord]byte
	ids         [cachedPieces]int32
	lo, hi      [cachedPieces]uint8
}

var hashSeed = maphash.MakeSeed()

func hashOf(word []byte) uint64 { return maphash.Bytes(hashSeed, word) }

func (c *cache) set(hash uint64) *[ways]atomic.Pointer[cached] {
	return &c.slots[hash%uint64(len(c.slots))]
}

// get returns the stored tokens of word, which must not be changed, or nil.
func (c *cache) get(word []byte, hash uint64) *cached {
	set := c.set(hash)
	for i := range set {
		if e := set[i].Load(); e != nil && int(e.size) == len(word) && string(e.word[:len(word)]) == string(word) {
			return e
		}
	}
	return nil
}

// put stores the tokens of word in a free slot or a random one, and returns what get will
// return; nil if they are too many.
func (c *cache) put(word []byte, hash uint64, found []piece) *cached {
	if len(word) > cachedWord || len(found) > cachedPieces {
		return nil
	}
	e := &cached{size: uint8(len(word)), count: uint8(len(found))}
	copy(e.word[:], word)
	for i, f := range found {
		e.ids[i], e.lo[i], e.hi[i] = f.id, uint8(f.lo), uint8(f.hi)
	}
	set, way := c.set(hash), hash>>60%ways
	for i := range set {
		if set[i].Load() == nil {
			way = uint64(i)
			break
		}
	}
	set[way].Store(e)
	return e
}
