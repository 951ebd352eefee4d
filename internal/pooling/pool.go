// Package pooling makes one vector of the token states of a text. Start with [Pooling].
package pooling

import (
	"math"
	"slices"
)

// Pooling is the way in which token states become one vector. The names are those of
// sentence-transformers.
type Pooling string

const (
	// Mean averages the states of all tokens, [CLS] and [SEP] included, padding excluded.
	Mean Pooling = "mean"
	// CLS takes the state of the first token.
	CLS Pooling = "cls"
	// Max takes the largest value in each dimension.
	Max Pooling = "max"
	// Last takes the state of the last token.
	Last Pooling = "lasttoken"
	// Weighted averages the states with weights 1, 2, 3 and so on.
	Weighted Pooling = "weightedmean"
	// Sqrt divides the sum of the states by the square root of their number.
	Sqrt Pooling = "mean_sqrt_len_tokens"
)

// All are the known poolings.
var All = [...]Pooling{Mean, CLS, Max, Last, Weighted, Sqrt}

// Known reports whether p is one of All.
func (p Pooling) Known() bool { return slices.Contains(All[:], p) }

// Pool writes the unit vector of one text into dst, of length d. hidden are its token states, [n × d]
// row-major, n ≥ 1, without padding: for a padded batch pass only the rows of the text. It returns
// false and leaves dst undefined if the sum of states is not finite or has length zero, if p is
// unknown, or if hidden is not a whole number of rows. Cost: O(n·d), no allocation.
func (p Pooling) Pool(dst, hidden []float32) bool {
	_, ok := p.Sum(dst, hidden, 0)
	return ok && Normalize(dst)
}

// Sum writes the pooled rows of hidden, from the given one on, times weight into dst. weight is above
// zero.
func (p Pooling) Sum(dst, hidden []float32, from int) (weight float64, ok bool) {
	d := len(dst)
	if d == 0 || len(hidden) < d || len(hidden)%d != 0 {
		return 0, false
	}
	n := len(hidden) / d
	from = min(from, n-1) // there is always a last token
	rows := hidden[from*d:]
	switch p {
	case Mean, Sqrt:
		copy(dst, rows)
		for i := d; i < len(rows); i += d {
			for j, x := range rows[i : i+d] {
				dst[j] += x
			}
		}
		if weight = float64(n - from); p == Sqrt {
			weight = math.Sqrt(weight)
		}
		return weight, true
	case Weighted:
		clear(dst)
		for i := from; i < n; i++ {
			w := float32(i + 1)
			weight += float64(w)
			for j, x := range hidden[i*d : i*d+d] {
				dst[j] += w * x
			}
		}
		return weight, true
	case CLS:
		copy(dst, rows)
		return 1, true
	case Last:
		copy(dst, rows[len(rows)-d:])
		return 1, true
	case Max:
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

// Normalize scales v to unit length and reports whether that was possible.
func Normalize(v []float32) bool {
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
