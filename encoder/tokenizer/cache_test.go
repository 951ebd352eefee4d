package tokenizer

import (
	"bytes"
	"slices"
	"testing"
)

// TestCache: what is remembered of a word is what was found, up to the bounds, and of
// another word nothing, however many there are.
func TestCache(t *testing.T) {
	c := &cache{}
	of := func(e *cached) (found []piece) {
		for i := range e.count {
			found = append(found, piece{e.ids[i], int32(e.lo[i]), int32(e.hi[i])})
		}
		return found
	}
	long := bytes.Repeat([]byte("x"), cachedWord+1)
	for size := range cachedWord + 2 {
		for count := range cachedPieces + 2 {
			word, found := long[:size], []piece(nil)
			for i := range count {
				found = append(found, piece{int32(1<<20 + i), int32(i % (size + 1)), int32(size)})
			}
			hash := hashOf(word)
			kept := c.put(word, hash, found)
			if fits := size <= cachedWord && count <= cachedPieces; (kept != nil) != fits {
				t.Fatalf("%d bytes, %d tokens: kept %v", size, count, kept != nil)
			}
			if kept != nil && (!slices.Equal(of(kept), found) || c.get(word, hash) == nil) {
				t.Fatalf("%d bytes: %v, want %v", size, of(kept), found)
			}
		}
	}
	// All words in one set: each is right or forgotten, and the last one is there.
	for i := range 1000 {
		word := []byte{byte(i), byte(i >> 8), 'w'}
		c.put(word, uint64(i)<<60, []piece{{int32(i), 0, 3}})
		for k := range i + 1 {
			e := c.get([]byte{byte(k), byte(k >> 8), 'w'}, 0)
			if e != nil && e.ids[0] != int32(k) || e == nil && k == i {
				t.Fatalf("word %d of %d: %v", k, i, e)
			}
		}
	}
}
