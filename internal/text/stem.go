package text

import (
	"cmp"
	"hash/maphash"
	"strings"
	"sync/atomic"

	"github.com/blevesearch/snowballstem"
)

// stemmer caches the stems of words. Snowball takes about a microsecond a word. Words repeat,
// so nearly all stems come from the tables: one slot per hash, which keeps the last word.
//
// Most stems are prefixes of their words. For these a slot of 8 bytes suffices: 56 bits of the
// word's hash and the length of the stem, so that a word is found with one read. There, words
// are distinguished only by hashes of 61 bits, including the slot's number; each process draws
// a new seed.
//
// A slot also records whether a word is a function word.
type stemmer struct {
	stem   func(*snowballstem.Env) bool
	stop   map[string]struct{}
	seed   maphash.Seed
	slots  [1 << stemBits]atomic.Uint64
	others [1 << 12]atomic.Pointer[stemmed] // stems that are not how their word begins
}

const (
	stemBits = 15
	another  = 0xff // in place of a length: the stem is in others
	function = 0xfe // in place of a length: a function word
)

type stemmed struct{ word, stem string }

func newStemmer(stem func(*snowballstem.Env) bool, stop map[string]struct{}) *stemmer {
	return &stemmer{stem: stem, stop: stop, seed: maphash.MakeSeed()}
}

// of returns the stem of a lower-cased word, or "" for a function word.
func (s *stemmer) of(word string) string {
	h := maphash.String(s.seed, word)
	slot, other := &s.slots[h%(1<<stemBits)], &s.others[h%uint64(len(s.others))]
	if e := slot.Load(); e>>8 == h>>8 {
		switch n := int(e & 0xff); {
		case n == function:
			return ""
		case n != another && 0 < n && n <= len(word):
			return word[:n]
		}
		if e := other.Load(); e != nil && e.word == word {
			return e.stem
		}
	}
	if _, ok := s.stop[word]; ok {
		slot.Store(h&^0xff | function)
		return ""
	}
	env := snowballstem.NewEnv(word)
	s.stem(env)
	stem := env.Current()
	stem = cmp.Or(stem, word)
	if strings.HasPrefix(word, stem) && len(stem) < function {
		slot.Store(h&^0xff | uint64(len(stem)))
		return word[:len(stem)]
	}
	other.Store(&stemmed{strings.Clone(word), stem})
	slot.Store(h&^0xff | another)
	return stem
}
