package stat

import (
	"fmt"
	"math"
	"math/rand/v2"
)

// Permutations is the number of sign flips of RandomizationTest in a report. The smallest possible p
// is 1/(Permutations+1).
const Permutations = 10_000

// Resamples is the number of bootstrap draws for the intervals of a report.
const Resamples = 2_000

// Paired compares two systems on the same queries.
type Paired struct {
	Delta float64 // mean of the differences per query
	P     float64 // two-sided p value, in (0, 1]
}

// RandomizationTest is Fisher's paired randomization test (Smucker, Allan and Carterette 2007) on
// per-query scores of two systems. Under the null hypothesis each query's difference could have the
// other sign. p is the share of sampled sign assignments, including the observed one, whose mean is at
// least as far from zero as the observed mean. Unequal lengths are an error. Cost O(flips · queries
// that differ).
func RandomizationTest(a, b []float64, flips int, seed uint64) (Paired, error) {
	if len(a) != len(b) || len(a) == 0 {
		return Paired{}, fmt.Errorf("comparing %d scores with %d: a paired test needs the same queries on both sides", len(a), len(b))
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
	return Paired{Delta: sum / float64(len(a)), P: float64(far) / float64(flips+1)}, nil
}
