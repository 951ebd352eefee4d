package bench

import (
	"context"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/lexsem/lexsem/internal/stat"
)

// Permutations is the number of sign flips of RandomizationTest in a report. The smallest possible p
// is 1/(Permutations+1).
const Permutations = 10_000

// Resamples is the number of bootstrap draws for the intervals of a report.
const Resamples = 2_000

// Comparison says how a system differs from dense on the same queries, by ndcg@10.
type Comparison struct {
	// Delta is the mean of the per-query differences, in [-1, 1].
	Delta float64 `json:"delta_ndcg@10"`
	// P is the two-sided p value of RandomizationTest, in (0, 1], without correction.
	P float64 `json:"p"`
	// PHolm is P with Holm's correction over the systems of the task, in (0, 1]. Reports show this
	// value. RandomizationTest leaves it 0, since it knows only one comparison.
	PHolm float64 `json:"p_holm"`
}

// weigh fills in the intervals of the results of one task, and how each
// compares with dense.
func (p *plan) weigh(ctx context.Context, row []Result) error {
	at := slices.IndexFunc(row, func(r Result) bool { return r.System == "dense" })
	err := parallel(ctx, len(row), func(i int) error {
		r := &row[i]
		names := slices.Sorted(maps.Keys(r.PerQuery))
		rows := make([][]float64, len(names))
		for j, name := range names {
			rows[j] = r.PerQuery[name]
		}
		intervals, err := stat.Bootstrap(rows, Resamples, p.Seed)
		if err != nil {
			return fmt.Errorf("intervals of %s on %s: %w", r.System, r.Task, err)
		}
		r.Intervals = map[string][2]float64{}
		for j, name := range names {
			r.Intervals[name] = [2]float64{intervals[j].Low, intervals[j].High}
		}
		if at < 0 || i == at {
			return nil
		}
		c, err := RandomizationTest(row[at].PerQuery[compareBy], r.PerQuery[compareBy], Permutations, p.Seed)
		if err != nil {
			return fmt.Errorf("comparing %s with dense on %s: %w", r.System, r.Task, err)
		}
		r.VsDense = &c
		return nil
	})
	if err != nil {
		return err
	}
	var ps []float64
	for _, r := range row {
		if r.VsDense != nil {
			ps = append(ps, r.VsDense.P)
		}
	}
	adjusted := stat.Holm(ps)
	for i := range row {
		if row[i].VsDense != nil {
			row[i].VsDense.PHolm, adjusted = adjusted[0], adjusted[1:]
		}
	}
	return nil
}

// RandomizationTest is Fisher's paired randomization test (Smucker, Allan and Carterette 2007) on
// per-query scores of two systems. Under the null hypothesis each query's difference could have the
// other sign. p is the share of sampled sign assignments, including the observed one, whose mean is at
// least as far from zero as the observed mean. Unequal lengths are an error. Cost O(flips · queries
// that differ).
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
