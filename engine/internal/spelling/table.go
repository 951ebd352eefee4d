package spelling

import (
	"cmp"
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

// tail is a term in its lower 32 bits, after the hash of what follows its first letter.
type tail uint64

func (t tail) hash() uint32   { return uint32(t >> 32) }
func (t tail) bucket() uint32 { return uint32(t >> 48) }
func (t tail) term() int      { return int(uint32(t)) }

const tailBuckets = 1 << 16

// tailHash returns the hash of a text for tails: FNV-1a.
func tailHash(s string) uint32 {
	h := uint32(2166136261)
	for i := range len(s) {
		h = (h ^ uint32(s[i])) * 16777619
	}
	return h
}

// table finds the terms of a vocabulary that are near a word. It takes 16 bytes a term. It never changes;
// grow makes a new one.
type table struct {
	numbering  inverted.Numbering
	terms      int      // of the vocabulary, below which all are here
	starts     []uint32 // of the buckets in entries, and their end
	entries    []entry
	tails      []tail   // by the bucket of their hash
	tailStarts []uint32 // of the buckets in tails, and their end
	fresh      []entry  // terms that came later
	freshTails []tail
	places     []uint16
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

// newTable makes the table of a vocabulary. Cost: some 100 ns a term.
func newTable(ctx context.Context, x *inverted.Words) (*table, error) {
	t := &table{numbering: x.Numbering(), starts: make([]uint32, buckets+1), tailStarts: make([]uint32, tailBuckets+1)}
	if err := t.take(ctx, x); err != nil {
		return nil, err
	}
	t.sort()
	return t, nil
}

// take adds the terms that the table does not have yet.
func (t *table) take(ctx context.Context, x *inverted.Words) error {
	for ; t.terms < x.Terms(); t.terms++ {
		if t.terms%looks == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		term := x.Term(t.terms)
		bucket, letters, _, ok := shape(term)
		if !ok {
			continue
		}
		t.fresh = append(t.fresh, entry{uint32(t.terms), letters})
		_, first := utf8.DecodeRuneInString(term)
		t.freshTails = append(t.freshTails, tail(tailHash(term[first:]))<<32|tail(t.terms))
		t.places = append(t.places, bucket)
	}
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
	t.tailStarts, t.tails = bucketed(slices.Concat(t.tails, t.freshTails))
	t.starts, t.entries, t.fresh, t.freshTails, t.places = starts, entries, nil, nil, nil
}

// bucketed sorts tails into their buckets, and returns the starts of these.
func bucketed(all []tail) ([]uint32, []tail) {
	starts, sorted := make([]uint32, tailBuckets+1), make([]tail, len(all))
	for _, a := range all {
		starts[a.bucket()+1]++
	}
	for b := range tailBuckets {
		starts[b+1] += starts[b]
	}
	at := slices.Clone(starts)
	for _, a := range all {
		sorted[at[a.bucket()]] = a
		at[a.bucket()]++
	}
	return starts, sorted
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

// near calls found with each term of x that at least least documents have, that begins with a word's first letter and
// is at most most edits away, and with terms one edit away that begin differently.
func (t *table) near(x *inverted.Words, word []rune, most, least int, found func(term int)) {
	if len(word) == 0 || len(word) > maxLetters {
		return
	}
	var letters uint32
	for _, r := range word {
		letters |= 1 << (r & 31)
	}
	var scratch [maxLetters]rune
	try := func(e entry) {
		if int(e.term) >= x.Terms() || x.DF(int(e.term)) < least {
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
	shortest, longest := max(minLetters, len(word)-most), min(maxLetters, len(word)+most)
	for n := shortest; n <= longest; n++ {
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
	t.otherFirst(x, word, least, found)
}

// otherFirst calls found with the terms that are one edit away from a word, at its beginning: without its first
// letter, with its first two swapped, then those with another first letter, in the order of the letters.
func (t *table) otherFirst(x *inverted.Words, word []rune, least int, found func(term int)) {
	whole, second := string(word), string(word[1:])
	for _, other := range []string{second, swapped(word)} {
		if n, ok := x.Find(other); ok && x.DF(n) >= least {
			if _, _, first, ok := shape(x.Term(n)); ok && first != word[0] {
				found(n)
			}
		}
	}
	type match struct {
		first rune
		tail  string
		term  int
	}
	var all []match
	try := func(n int, rest string) {
		if n >= x.Terms() || x.DF(n) < least {
			return
		}
		term := x.Term(n)
		first, size := utf8.DecodeRuneInString(term)
		if first != word[0] && term[size:] == rest {
			all = append(all, match{first, rest, n})
		}
	}
	for _, rest := range []string{whole, second} { // a letter before the word, and one in place of its first
		h := tailHash(rest)
		b := h >> 16
		for _, tails := range [][]tail{t.tails[t.tailStarts[b]:t.tailStarts[b+1]], t.freshTails} {
			for _, tail := range tails {
				if tail.hash() == h {
					try(tail.term(), rest)
				}
			}
		}
	}
	slices.SortFunc(all, func(a, b match) int { return cmp.Or(cmp.Compare(a.first, b.first), len(b.tail)-len(a.tail)) })
	for _, m := range all {
		found(m.term)
	}
}

// swapped is a word with its first two letters in the other order.
func swapped(word []rune) string {
	if len(word) < 2 {
		return ""
	}
	return string(word[1]) + string(word[0]) + string(word[2:])
}
