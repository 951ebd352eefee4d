package spelling

import (
	"context"
	"math/bits"
	"slices"
	"unicode"
	"unicode/utf8"

	"github.com/lexsem/lexsem/index/inverted"
	"github.com/lexsem/lexsem/internal/text"
)

// Lengths of words, in letters, that are looked for.
const (
	minLetters = 3
	maxLetters = 32
)

// buckets are one for each first letter modulo 32 and each length.
const buckets = 32 * (maxLetters + 1)

// entry is a term, with a bit for each of its letters modulo 32: words that differ by k edits differ in at
// most k of them on either side.
type entry struct{ term, letters uint32 }

// near says whether a word of the given letters may be most edits away.
func (e entry) near(letters uint32, most int) bool {
	return bits.OnesCount32(e.letters&^letters) <= most && bits.OnesCount32(letters&^e.letters) <= most
}

// table finds the terms of a vocabulary that are near a word. It takes 8 bytes a term. It never changes but
// for what grow makes of it.
type table struct {
	numbering inverted.Numbering
	terms     int      // of the vocabulary, below which all are here
	starts    []uint32 // of the buckets in entries, and their end
	entries   []entry
	fresh     []entry // terms that came later
	places    []uint16
	firsts    []rune // first letters, ascending
}

// shape is what a table keeps of a term. ok is false for one that repairs no word.
func shape(term string) (bucket uint16, letters uint32, first rune, ok bool) {
	n := 0
	for _, r := range term {
		if !unicode.IsLetter(r) && !(n > 0 && unicode.IsMark(r)) || n == maxLetters {
			return 0, 0, 0, false
		}
		if n == 0 {
			first = r
		}
		letters |= 1 << (r & 31)
		n++
	}
	if n < minLetters || text.Dense(first) {
		return 0, 0, 0, false
	}
	return bucketOf(first, n), letters, first, true
}

func bucketOf(first rune, n int) uint16 { return uint16(first&31)*(maxLetters+1) + uint16(n) }

// looks is after how many terms a context is looked at.
const looks = 4096

// newTable makes the table of a vocabulary. Cost: some 50 ns a term.
func newTable(ctx context.Context, x *inverted.Words) (*table, error) {
	t := &table{numbering: x.Numbering(), starts: make([]uint32, buckets+1)}
	if err := t.take(ctx, x); err != nil {
		return nil, err
	}
	t.sort()
	return t, nil
}

// take adds the terms that are not here yet.
func (t *table) take(ctx context.Context, x *inverted.Words) error {
	firsts := map[rune]struct{}{}
	for ; t.terms < x.Terms(); t.terms++ {
		if t.terms%looks == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		bucket, letters, first, ok := shape(x.Term(t.terms))
		if !ok {
			continue
		}
		t.fresh = append(t.fresh, entry{uint32(t.terms), letters})
		t.places = append(t.places, bucket)
		firsts[first] = struct{}{}
	}
	all := slices.Clone(t.firsts)
	for r := range firsts {
		all = append(all, r)
	}
	slices.Sort(all)
	t.firsts = slices.Compact(all)
	return nil
}

// sort puts what is fresh into the buckets.
func (t *table) sort() {
	starts := make([]uint32, buckets+1)
	for b := range buckets {
		starts[b+1] = t.starts[b+1] - t.starts[b]
	}
	for _, b := range t.places {
		starts[b+1]++
	}
	for b := range buckets {
		starts[b+1] += starts[b]
	}
	entries, at := make([]entry, starts[buckets]), slices.Clone(starts)
	for b := range buckets {
		at[b] += uint32(copy(entries[at[b]:], t.entries[t.starts[b]:t.starts[b+1]]))
	}
	for i, e := range t.fresh {
		b := t.places[i]
		entries[at[b]] = e
		at[b]++
	}
	t.starts, t.entries, t.fresh, t.places = starts, entries, nil, nil
}

// grow returns a table that has the terms which came since: t, where there are none. nil means that the
// vocabulary is another.
func (t *table) grow(ctx context.Context, x *inverted.Words) (*table, error) {
	if t.numbering != x.Numbering() {
		return nil, nil
	}
	if x.Terms() <= t.terms {
		return t, nil
	}
	next := *t
	if err := next.take(ctx, x); err != nil {
		return nil, err
	}
	if len(next.fresh) > looks {
		next.sort()
	}
	return &next, nil
}

// near calls found with each term of x that is at most most edits away from a word and begins with its first
// letter, and with those that are one edit away and begin with another.
func (t *table) near(x *inverted.Words, word []rune, most int, found func(term int)) {
	if len(word) == 0 || len(word) > maxLetters {
		return
	}
	var letters uint32
	for _, r := range word {
		letters |= 1 << (r & 31)
	}
	var scratch [maxLetters]rune
	try := func(e entry) {
		if int(e.term) >= x.Terms() {
			return
		}
		other := scratch[:0]
		for _, r := range x.Term(int(e.term)) {
			other = append(other, r)
		}
		if len(other) > 0 && other[0] == word[0] && distance(word, other, most) <= most {
			found(int(e.term))
		}
	}
	least, longest := max(minLetters, len(word)-most), min(maxLetters, len(word)+most)
	for n := least; n <= longest; n++ {
		b := bucketOf(word[0], n)
		for _, e := range t.entries[t.starts[b]:t.starts[b+1]] {
			if e.near(letters, most) {
				try(e)
			}
		}
		for i, e := range t.fresh {
			if t.places[i] == b && e.near(letters, most) {
				try(e)
			}
		}
	}
	t.otherFirst(x, word, found)
}

// otherFirst calls found with the terms that differ from a word in how they begin: by one edit.
func (t *table) otherFirst(x *inverted.Words, word []rune, found func(term int)) {
	var buffer [4 * (maxLetters + 1)]byte
	try := func(first rune, second, rest []rune) {
		b := buffer[:0]
		if first > 0 {
			b = utf8.AppendRune(b, first)
		}
		for _, r := range second {
			b = utf8.AppendRune(b, r)
		}
		for _, r := range rest {
			b = utf8.AppendRune(b, r)
		}
		if n, ok := x.Find(string(b)); ok {
			if _, _, begins, ok := shape(x.Term(n)); ok && begins != word[0] {
				found(n)
			}
		}
	}
	if len(word) > 1 {
		try(0, word[1:], nil)
		try(word[1], word[:1], word[2:])
	}
	for _, r := range t.firsts {
		if r != word[0] {
			try(r, word, nil)
			try(r, word[1:], nil)
		}
	}
}
