// Package testcorpus makes passages for tests of package modulate and those below it: vectors with tokens,
// without an encoder. Start with [Passage].
package testcorpus

import (
	"math"
	"math/rand/v2"
	"slices"

	"github.com/lexsem/lexsem/internal/vec"
)

// Unit is a random vector [d] of length 1.
func Unit(r *rand.Rand, d int) []float32 {
	x := make([]float32, d)
	for !vec.Normalize(x) {
		for i := range x {
			x[i] = float32(r.NormFloat64())
		}
	}
	return x
}

// IDs returns up to n distinct tokens, in [2, vocab).
func IDs(r *rand.Rand, vocab, n int) (ids []int32) {
	for range n {
		if t := int32(2 + r.IntN(vocab-2)); !slices.Contains(ids, t) {
			ids = append(ids, t)
		}
	}
	return ids
}

// Passage is a random passage of 24 tokens at most. Its vector leans towards the directions of its tokens,
// so that a regression finds something.
func Passage(r *rand.Rand, d, vocab int) (x []float32, tokens []int32) {
	tokens = IDs(r, vocab, 5+r.IntN(20))
	x = Unit(r, d)
	for _, t := range tokens {
		vec.Axpy(x, 0.3, Unit(rand.New(rand.NewPCG(uint64(t), 9)), d))
	}
	vec.Normalize(x)
	return x, tokens
}

// Words returns n tokens with frequencies like those of text: of 100, about 60 are distinct.
func Words(r *rand.Rand, vocab, n int) []int32 {
	z := rand.NewZipf(r, 1.1, 3, uint64(vocab-1))
	ids := make([]int32, n)
	for i := range ids {
		ids[i] = int32(z.Uint64())
	}
	return ids
}

// Same reports whether two vectors are equal bit for bit.
func Same(a, b []float32) bool {
	return slices.EqualFunc(a, b, func(x, y float32) bool { return math.Float32bits(x) == math.Float32bits(y) })
}

// MaxDiff is the greatest difference of two components.
func MaxDiff(a, b []float32) float64 {
	var m float64
	for i := range a {
		m = max(m, math.Abs(float64(a[i])-float64(b[i])))
	}
	return m
}
