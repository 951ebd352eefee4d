// Package random gives each purpose of the bench its own stream of random numbers.
package random

import (
	"hash/fnv"
	"math/rand/v2"
)

// New returns a separate generator for a purpose. The purposes start
// with "bench", so no stream here is one of the trainer's.
func New(seed uint64, purpose ...string) *rand.Rand {
	h := fnv.New64a()
	h.Write([]byte("bench"))
	for _, p := range purpose {
		h.Write([]byte{0})
		h.Write([]byte(p))
	}
	return rand.New(rand.NewPCG(seed, h.Sum64()))
}
