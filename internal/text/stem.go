package text

import (
	"hash/maphash"
	"sync/atomic"

	"github.com/blevesearch/snowballstem"
)

// A stemmer remembers the stems of words it has met. Snowball takes about a
// microsecond a word; words repeat, so nearly all come out of the table: one
// slot per hash, the last word to come stays. Stems do not depend on it.
type stemmer struct {
	stem  func(*snowballstem.Env) bool
	seed  maphash.Seed
	slots [1 << 15]atomic.Pointer[stemmed]
}

type stemmed struct{ word, stem string }

func newStemmer(stem func(*snowballstem.Env) bool) *stemmer {
	return &stemmer{stem: stem, seed: maphash.MakeSeed()}
}

// of returns the stem of a lower-cased word.
func (s *stemmer) of(word string) string {
	slot := &s.slots[maphash.String(s.seed, word)%uint64(len(s.slots))]
	if e := slot.Load(); e != nil && e.word == word {
		return e.stem
	}
	env := snowballstem.NewEnv(word)
	s.stem(env)
	e := &stemmed{word, env.Current()}
	if e.stem == "" {
		e.stem = word
	}
	slot.Store(e)
	return e.stem
}
