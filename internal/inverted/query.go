package inverted

import (
	"math"
)

// query is a query prepared for one state of an index.
type query struct {
	terms  []queryTerm
	limit  float64  // BM25: what no score reaches, by all terms of the query
	base   float64  // BM25: k1 (1 - b)
	slope  float64  // BM25: k1 b / avgdl
	table  []uint32 // hash of term -> 1 + index in terms
	shift  uint
	counts []uint32 // of terms in the document at hand; bits of weights
}

// queryTerm is one distinct term that the index has.
type queryTerm struct {
	term   uint32
	weight float64 // BM25: query weight · idf · (k1+1)
}

// ready builds the hash table over the terms.
func (q *query) ready() {
	bits := uint(2)
	for 1<<bits < 4*len(q.terms) {
		bits++
	}
	q.shift = 32 - bits
	if cap(q.table) < 1<<bits {
		q.table = make([]uint32, 1<<bits)
	}
	q.table = q.table[:1<<bits]
	clear(q.table)
	for i, t := range q.terms {
		h := q.hash(t.term)
		for q.table[h] != 0 {
			h = (h + 1) & uint32(len(q.table)-1)
		}
		q.table[h] = uint32(i) + 1
	}
	if cap(q.counts) < len(q.terms) {
		q.counts = make([]uint32, len(q.terms))
	}
	q.counts = q.counts[:len(q.terms)]
}

func (q *query) hash(term uint32) uint32 { return term * 0x9E3779B1 >> q.shift }

// find returns 1 + the index of a term, 0 if the query lacks it.
func (q *query) find(term uint32) uint32 {
	h := q.hash(term)
	for {
		i := q.table[h]
		if i == 0 || q.terms[i-1].term == term {
			return i
		}
		h = (h + 1) & uint32(len(q.table)-1)
	}
}

// saturate is the contribution of a term that occurs count times in a document of the
// given length. The conversions prevent fused operations, so the number is the same
// wherever it is computed.
func (q *query) saturate(weight float64, count, length uint32) float64 {
	tf := float64(count)
	return float64(weight*tf) / (tf + (q.base + float64(q.slope*float64(length))))
}

// bound is the maximum contribution of a posting in a block.
func (q *query) bound(b *block, weight float64, weights bool) float64 {
	if weights {
		return float64(weight * weightOf(b.top))
	}
	best := 0.0
	for i, length := range b.shortest {
		if length == math.MaxUint32 {
			continue
		}
		count := uint32(i) + 1
		if i == 2 {
			count = b.top
		}
		best = max(best, q.saturate(weight, count, length))
	}
	return best
}

// weightOf decodes the value of a weighted posting.
func weightOf(value uint32) float64 { return float64(math.Float32frombits(value)) }

// score is the score of a document: contributions summed in the order of the query. It is
// the only definition of a score; searches find the documents with the highest ones.
func (q *query) score(c *core, slot uint32) (float64, error) {
	clear(q.counts)
	w, err := c.walk(slot)
	if err != nil {
		return 0, err
	}
	for w.left > 0 {
		e := w.next()
		if i := q.find(e.term); i == 0 {
			continue
		} else if c.weights {
			q.counts[i-1] = math.Float32bits(e.weight)
		} else {
			q.counts[i-1]++
		}
	}
	if err := w.end(); err != nil {
		return 0, err
	}
	return q.sum(c, slot)
}

// sum adds the contributions of the terms counted in a document.
func (q *query) sum(c *core, slot uint32) (float64, error) {
	sum := 0.0
	if c.weights {
		for i, n := range q.counts {
			if n > 0 {
				sum += float64(q.terms[i].weight * weightOf(n))
			}
		}
		return sum, nil
	}
	length, err := c.length(slot)
	if err != nil {
		return 0, err
	}
	return q.bm25(length), nil
}

// bm25 adds the contributions of the terms counted in a document of a length.
func (q *query) bm25(length uint32) float64 {
	sum := 0.0
	for i, n := range q.counts {
		if n > 0 {
			sum += q.saturate(q.terms[i].weight, n, length)
		}
	}
	return sum
}

// every is the number of documents between two looks at a context.
const every = 64
