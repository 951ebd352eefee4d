package bench

import (
	"fmt"
	"math"
	"math/rand/v2"
)

// Permutations is the number of sign flips of RandomizationTest in a report;
// the smallest p it can give is 1/(Permutations+1).
const Permutations = 10_000

// Comparison says how a system differs from the dense one on the same
// queries, by ndcg@10.
type Comparison struct {
	// Delta is the mean of the per-query differences, in [-1, 1].
	Delta float64 `json:"delta_ndcg@10"`
	// P is the two-sided p of RandomizationTest, in (0, 1].
	P float64 `json:"p"`
}

// RandomizationTest is Fisher's paired randomization test (Smucker, Allan and
// Carterette 2007) on per-query scores of two systems: under the hypothesis
// that the systems are alike, each query's difference could as well have the
// other sign. p is the share of the sampled sign assignments, the observed one
// included, whose mean is at least as far from zero as the observed. Unequal
// lengths are an error. Cost O(flips · queries that differ).
func RandomizationTest(a, b []float64, flips int, seed uint64) (Comparison, error) {
	if len(a) != len(b) || len(a) == 0 {
		return Comparison{}, fmt.Errorf("comparing %d scores with %d: a paired test needs the same queries on both sides", len(a), len(b))
	}
	var diff []float64
	sum := 0.0
	for i := range a {
		if d := b[i] - a[i]; d != 0 {
			diff = append(diff, d)
			sum += d
		}
	}
	rng := rand.New(rand.NewPCG(seed, uint64(len(a))))
	// Sums of the same terms in another order differ by rounding; count those
	// as equal.
	observed := math.Abs(sum) - 1e-9
	far := 1
	for range flips {
		s, bits := 0.0, uint64(0)
		for i, d := range diff {
			if i%64 == 0 {
				bits = rng.Uint64()
			}
			if bits&1 == 1 {
				d = -d
			}
			s += d
			bits >>= 1
		}
		if math.Abs(s) >= observed {
			far++
		}
	}
	return Comparison{Delta: sum / float64(len(a)), P: float64(far) / float64(flips+1)}, nil
}
