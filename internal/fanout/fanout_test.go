package fanout

import (
	"errors"
	"math"
	"testing"
	"time"
)

// even are times of 1 to n ms.
func even(n int) []time.Duration {
	out := make([]time.Duration, n)
	for i := range out {
		out[i] = time.Duration(i+1) * time.Millisecond
	}
	return out
}

// The slowest of s independent answers stays below x with the probability of one to the power of s; a hedged one
// exceeds x if the first does, and the second what is left of it.
func TestSimulate(t *testing.T) {
	const n = 1000
	for _, shards := range []int{1, 3, 30} {
		r, err := Simulate(even(n), Options{Shards: shards, Queries: 20_000, Seed: 1})
		if err != nil || r.Asked != 1 {
			t.Fatal(r, err)
		}
		for _, c := range []struct {
			got   time.Duration
			share float64
		}{{r.P50, .5}, {r.P90, .9}, {r.P99, .99}, {r.P999, .999}} {
			want := n * math.Pow(c.share, 1/float64(shards))
			if got := float64(c.got) / 1e6; math.Abs(got-want) > .02*n {
				t.Errorf("%d shards: %.1f ms at %v, want %.1f", shards, got, c.share, want)
			}
		}
	}
	r, err := Simulate(even(n), Options{Shards: 1, Queries: 200_000, Seed: 1, Hedge: .5})
	if err != nil || math.Abs(r.Asked-1.5) > .01 {
		t.Fatal(r, err)
	}
	// Above 500 ms: P(first > x)·P(second > x − 500 ms) = .01 at 900.98 ms.
	x := 0.0
	for p := 1.0; p > .01; x += .01 {
		p = (1 - x/n) * (1 - max(0, x-n/2)/n)
	}
	if got := float64(r.P99) / 1e6; math.Abs(got-x) > 10 {
		t.Errorf("hedged: %.1f ms at .99, want %.1f", got, x)
	}
}

func TestRefused(t *testing.T) {
	for _, o := range []Options{{Shards: 0, Queries: 1}, {Shards: 1}, {Shards: 1, Queries: 1, Hedge: 1}, {Shards: 1, Queries: 1, Hedge: -.1}, {Shards: 1, Queries: 1, Hedge: math.NaN()}} {
		if _, err := Simulate(even(3), o); !errors.Is(err, ErrInvalid) {
			t.Errorf("%+v: %v", o, err)
		}
	}
	if _, err := Simulate(nil, Options{Shards: 1, Queries: 1}); !errors.Is(err, ErrInvalid) {
		t.Error(err)
	}
}

func TestQuantile(t *testing.T) {
	for share, want := range map[float64]time.Duration{0: 1, .1: 1, .5: 5, .91: 10, 1: 10} {
		if got := Quantile(even(10), share); got != want*time.Millisecond {
			t.Errorf("%v: %v", share, got)
		}
	}
}
