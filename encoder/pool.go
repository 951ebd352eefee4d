package encoder

import (
	"fmt"
	"math"
)

// Pooling is the way in which the states of the tokens become one vector.
type Pooling string

const (
	// PoolMean averages the states of all tokens of the text, [CLS] and [SEP]
	// included, padding excluded (the sentence-transformers way).
	PoolMean Pooling = "mean"
	// PoolCLS takes the state of the first token.
	PoolCLS Pooling = "cls"
)

// Validate returns an error that wraps ErrSpec unless p is a known pooling.
func (p Pooling) Validate() error {
	if p != PoolMean && p != PoolCLS {
		return fmt.Errorf(`%w: pooling %q is unknown; use "mean" or "cls"`, ErrSpec, string(p))
	}
	return nil
}

// Pool writes into dst, of length d, the unit vector of one text whose tokens
// have the states hidden, row-major [n × d], n ≥ 1. States of padding must not
// be among them: of a padded batch pass only the first rows of each text. It
// reports false, leaving dst undefined, where the states have no finite sum of
// a length above zero, p is unknown, or hidden is no whole number of rows.
// Cost O(n·d), no allocation.
func (p Pooling) Pool(dst, hidden []float32) bool {
	d := len(dst)
	if d == 0 || len(hidden) < d || len(hidden)%d != 0 {
		return false
	}
	switch p {
	case PoolMean:
		copy(dst, hidden[:d])
		for i := d; i < len(hidden); i += d {
			for j, x := range hidden[i : i+d] {
				dst[j] += x
			}
		}
	case PoolCLS:
		copy(dst, hidden[:d])
	default:
		return false
	}
	return normalize(dst)
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
