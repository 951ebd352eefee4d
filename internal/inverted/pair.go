package inverted

import (
	"slices"
	"strings"

	"github.com/lexsem/lexsem/internal/snapshot"
	"github.com/lexsem/lexsem/internal/text"
)

type pair struct {
	words   [2]string
	weights [2]float64 // of the words in the query
}

func (p pair) weight(idf func(string) float64) float64 {
	return p.weights[0]*idf(p.words[0]) + p.weights[1]*idf(p.words[1])
}

// pairsOf returns the distinct pairs of neighbours in their order.
func pairsOf(terms []text.Term) []pair {
	var pairs []pair
	seen := map[[2]string]struct{}{}
	var c chain
	for i, t := range terms {
		var left [2]uint32
		switch {
		case !t.Beside:
			left = c.word(uint32(i + 1))
		case !whole(t.Text):
			left = c.piece(uint32(i + 1))
		}
		for _, n := range left {
			if n == 0 {
				continue
			}
			last := terms[n-1]
			w := [2]string{last.Text, t.Text}
			if _, ok := seen[w]; !ok {
				seen[w] = struct{}{}
				pairs = append(pairs, pair{w, [2]float64{weightIn(last), weightIn(t)}})
			}
		}
	}
	return pairs
}

// whole reports whether a term with Beside is a compound, such as err_conn_reset, which comes before
// its words. The others are pieces of the preceding word, and have only letters and digits.
func whole(term string) bool { return strings.ContainsAny(term, `_.-/\:>@+&=#`) }

// chain follows the terms of a text and returns the left neighbours of each, as numbers chosen by the
// caller, 0 for none. Words are neighbours, and so are pieces of a word. The first piece of a word has
// the word's left neighbours, and the last piece its right neighbours.
type chain struct {
	last, end uint32    // the last word, and the last piece of it
	before    [2]uint32 // what stood before that word
	pieces    bool      // the last word has some
}

// word adds a word.
func (c *chain) word(n uint32) (left [2]uint32) {
	c.before = [2]uint32{c.last, c.end}
	c.last, c.end, c.pieces = n, 0, false
	return c.before
}

// open reports whether a piece would have a left neighbour, or would replace one.
func (c *chain) open() bool { return c.end > 0 || !c.pieces && c.before != [2]uint32{} }

// piece adds a piece of the last word.
func (c *chain) piece(n uint32) (left [2]uint32) {
	if left = c.before; c.pieces {
		left = [2]uint32{c.end}
	}
	c.end, c.pieces = n, true
	return left
}

func weightIn(t text.Term) float64 {
	if t.Weight > 0 {
		return float64(t.Weight)
	}
	return 1
}

// alone marks the number of a single word, since no pair has this bit.
const alone = 1 << 63

// PairNumbers appends a number for each distinct pair of adjacent words of a document, ascending; one
// number for a document of one word, nothing for one without words or an absent one. Equal pairs have
// equal numbers within one value and the values made from it by edits. Error: ErrCorrupt.
func (x *Words) PairNumbers(dst []uint64, id uint64) (out []uint64, err error) {
	defer wrapped(&err)
	defer snapshot.Guard(&err)()
	slot, ok, err := x.slot(id)
	if !ok {
		return dst, err
	}
	w, err := x.walk(slot)
	if err != nil {
		return dst, err
	}
	at, n, last := len(dst), 0, uint32(0)
	for w.left > 0 {
		e := w.next()
		if e.beside {
			continue
		}
		if n > 0 {
			dst = append(dst, uint64(last)<<32|uint64(e.term))
		}
		last = e.term
		n++
	}
	if n == 1 {
		dst = append(dst, alone|uint64(last))
	}
	slices.Sort(dst[at:])
	return dst[:at+len(slices.Compact(dst[at:]))], w.end()
}
