package spelling

import (
	"context"
	"math/bits"
	"slices"
	"unicode"
	"unicode/utf8"

	"github.com/lexsem/lexsem/internal/inverted"
	"github.com/lexsem/lexsem/internal/text"
)

// Lengths of words, in letters, that are looked for.
const (
	minLetters = 3
	maxLetters = 32
)

// buckets is the number of combinations of a first letter modulo 32 and a length.
const buckets = 32 * (maxLetters + 1)

// entry is a term, with a bit for each of its letters modulo 32: if words differ by k edits, each has at
// most k bits that the other lacks.
type entry struct{ term, letters uint32 }

// near reports whether a word of the given letters may be at most most edits away.
func (e entry) near(letters uint32, most int) bool {
	return bits.OnesCount32(e.letters&^letters) <= most && bits.OnesCount32(letters&^e.letters) <= most
}

// table finds the terms of a vocabulary that are near a word. It takes 8 bytes a term. It never changes;
// grow makes a new one.
type table struct {
	numbering inverted.Numbering
	terms     int      // of the vocabulary, below which all are here
	starts    []uint32 // of the buckets in entries, and their end
	entries   []entry
	fresh     []entry // terms that came later
	places    []uint16
	firsts    []rune // first letters, ascending
}

// shape returns the parts of a term that a table keeps. ok is false for a term that repairs no word.
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

// looks is the number of terms between two looks at a context.
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

// take adds the terms that the table does not have yet.
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

// sort moves new terms into the buckets.
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

// grow returns a table with the terms added since; it is t if there are none. nil means that the vocabulary
// was replaced.
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

// near calls found with each term of x that begins with a word's first letter and is at most most edits
// away, and with terms one edit away that begin differently.
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

// otherFirst calls found with the terms that are one edit away from a word, at its beginning.
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
