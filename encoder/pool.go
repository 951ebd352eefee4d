package encoder

import (
	"fmt"
	"math"
	"slices"
)

// Pooling is the way in which token states become one vector. The names are those of
// sentence-transformers.
type Pooling string

const (
	// PoolMean averages the states of all tokens, [CLS] and [SEP] included, padding excluded.
	PoolMean Pooling = "mean"
	// PoolCLS takes the state of the first token.
	PoolCLS Pooling = "cls"
	// PoolMax takes the largest value in each dimension.
	PoolMax Pooling = "max"
	// PoolLast takes the state of the last token.
	PoolLast Pooling = "lasttoken"
	// PoolWeighted averages the states with weights 1, 2, 3 and so on.
	PoolWeighted Pooling = "weightedmean"
	// PoolSqrt divides the sum of the states by the square root of their number.
	PoolSqrt Pooling = "mean_sqrt_len_tokens"
)

// Poolings are all known poolings.
var Poolings = [...]Pooling{PoolMean, PoolCLS, PoolMax, PoolLast, PoolWeighted, PoolSqrt}

// Validate returns an error that wraps ErrSpec unless p is a known pooling.
func (p Pooling) Validate() error {
	if !slices.Contains(Poolings[:], p) {
		return fmt.Errorf("%w: pooling %q is unknown; use one of %v", ErrSpec, string(p), Poolings)
	}
	return nil
}

// Pool writes the unit vector of one text into dst, of length d. hidden are its token states, [n × d]
// row-major, n ≥ 1, without padding: for a padded batch pass only the rows of the text. It returns
// false and leaves dst undefined if the sum of states is not finite or has length zero, if p is
// unknown, or if hidden is not a whole number of rows. Cost: O(n·d), no allocation.
func (p Pooling) Pool(dst, hidden []float32) bool {
	_, ok := p.sum(dst, hidden, 0)
	return ok && normalize(dst)
}

// sum writes the pooled rows of hidden, from the given one on, times weight into dst. weight is above
// zero.
func (p Pooling) sum(dst, hidden []float32, from int) (weight float64, ok bool) {
	d := len(dst)
	if d == 0 || len(hidden) < d || len(hidden)%d != 0 {
		return 0, false
	}
	n := len(hidden) / d
	from = min(from, n-1) // there is always a last token
	rows := hidden[from*d:]
	switch p {
	case PoolMean, PoolSqrt:
		copy(dst, rows)
		for i := d; i < len(rows); i += d {
			for j, x := range rows[i : i+d] {
				dst[j] += x
			}
		}
		if weight = float64(n - from); p == PoolSqrt {
			weight = math.Sqrt(weight)
		}
		return weight, true
	case PoolWeighted:
		clear(dst)
		for i := from; i < n; i++ {
			w := float32(i + 1)
			weight += float64(w)
			for j, x := range hidden[i*d : i*d+d] {
				dst[j] += w * x
			}
		}
		return weight, true
	case PoolCLS:
		copy(dst, rows)
		return 1, true
	case PoolLast:
		copy(dst, rows[len(rows)-d:])
		return 1, true
	case PoolMax:
		copy(dst, rows)
		for i := d; i < len(rows); i += d {
			for j, x := range rows[i : i+d] {
				dst[j] = max(dst[j], x)
			}
		}
		return 1, true
	}
	return 0, false
}

// normalize scales v to unit length and reports whether that was possible.
func normalize(v []float32) bool {
	var s float64
	for _, x := range v {
		s += float64(x) * float64(x)
	}
	if s == 0 || math.IsNaN(s) || math.IsInf(s, 0) {
		return false
	}
	f := 1 / math.Sqrt(s)
	for i := range v {
		v[i] = float32(float64(v[i]) * f)
	}
	return true
}
