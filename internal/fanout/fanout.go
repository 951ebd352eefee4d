// Package fanout simulates queries that ask all shards at once and wait for the slowest. Start with
// [Simulate]. The same seed gives the same result. Shards are drawn independently, so slowness common to all
// of them is not modelled.
package fanout

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"time"
)

// ErrInvalid means that options or times cannot be simulated.
var ErrInvalid = errors.New("invalid simulation")

// Options describe the simulation.
type Options struct {
	// Shards are asked by each query, 1 or more.
	Shards int
	// Hedge is the share of answers that are waited for, in (0, 1), before another copy of a
	// shard is asked as well and the faster answer taken; 0 asks one copy alone.
	Hedge float64
	// Queries are drawn, 1 or more.
	Queries int
	// Seed makes the draws reproducible.
	Seed uint64
}

// Result holds the simulated times of queries.
type Result struct {
	P50, P90, P99, P999 time.Duration
	Asked               float64 // requests for each shard and query, 1 without hedging
}

// Simulate draws the times of each shard independently from the times of one shard. Common causes of
// slowness, such as an overloaded machine, are not modelled. Cost: Queries·Shards draws.
func Simulate(shard []time.Duration, o Options) (Result, error) {
	if len(shard) == 0 || o.Shards < 1 || o.Queries < 1 || !(o.Hedge >= 0 && o.Hedge < 1) {
		return Result{}, fmt.Errorf("%w: %d times of a shard, %d shards, %d queries, hedging after a share of %v; give one or more of each, and a share in [0, 1)", ErrInvalid, len(shard), o.Shards, o.Queries, o.Hedge)
	}
	after := time.Duration(math.MaxInt64)
	if o.Hedge > 0 {
		after = Quantile(shard, o.Hedge)
	}
	r := rand.New(rand.NewPCG(o.Seed, 0))
	draw := func() time.Duration { return shard[r.IntN(len(shard))] }
	took := make([]time.Duration, o.Queries)
	second := 0
	for i := range took {
		for range o.Shards {
			t := draw()
			if t > after {
				second++
				t = min(t, after+draw())
			}
			took[i] = max(took[i], t)
		}
	}
	return Result{
		P50: Quantile(took, .5), P90: Quantile(took, .9), P99: Quantile(took, .99), P999: Quantile(took, .999),
		Asked: 1 + float64(second)/float64(o.Queries*o.Shards),
	}, nil
}

// Quantile is the smallest of times that the given share of them does not exceed; times must not be empty.
func Quantile(times []time.Duration, share float64) time.Duration {
	sorted := slices.Sorted(slices.Values(times))
	return sorted[min(len(sorted)-1, max(0, int(math.Ceil(share*float64(len(sorted))))-1))]
}
