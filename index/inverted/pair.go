package inverted

import (
	"slices"

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

// pairsOf returns the distinct pairs of adjacent words in their order.
func pairsOf(terms []text.Term) []pair {
	var pairs []pair
	seen := map[[2]string]struct{}{}
	last := -1
	for i, t := range terms {
		if t.Beside {
			continue
		}
		if last >= 0 {
			w := [2]string{terms[last].Text, t.Text}
			if _, ok := seen[w]; !ok {
				seen[w] = struct{}{}
				pairs = append(pairs, pair{w, [2]float64{weightIn(terms[last]), weightIn(t)}})
			}
		}
		last = i
	}
	return pairs
}

func weightIn(t text.Term) float64 {
	if t.Weight > 0 {
		return float64(t.Weight)
	}
	return 1
}

// alone is the bit of the number of a word that stands alone: no pair has it.
const alone = 1 << 63

// PairNumbers appends a number for each distinct pair of adjacent words of a document, ascending;
// one number for a document of one word, none for one without words or an absent one. Equal pairs
// have equal numbers within one value and the values that edits make from it. Error: ErrCorrupt.
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
