package stat

import (
	"errors"
	"math"
	"testing"
)

// The weighted mean of the strata, and an interval that knows of all of them.
func TestStratifiedMeans(t *testing.T) {
	mean, iv, err := StratifiedMeans([]Stratum{
		{Rows: [][]float64{{0, 1}, {1, 1}}, Weight: 1},
		{Rows: [][]float64{{.5, .5, .5}, {0, 0, .75}}, Weight: 3},
	}, 2000, 1)
	if err != nil || math.Abs(mean[0]-.5) > 1e-12 || math.Abs(mean[1]-(1+3*.25)/4) > 1e-12 {
		t.Fatalf("%v, %v", mean, err)
	}
	// The first measure varies in the first stratum alone, by 1/4 of (0, ½, 1).
	if math.Abs(iv[0].Low-.375) > 1e-12 || math.Abs(iv[0].High-.625) > 1e-12 {
		t.Errorf("interval %v", iv[0])
	}
	if math.Abs(iv[1].Low-.25) > 1e-12 || iv[1].High < .8 {
		t.Errorf("interval %v", iv[1])
	}
	held := 0
	for r := range 300 {
		rng := newTestRand(uint64(r))
		sample := func(n int) []float64 {
			x := make([]float64, n)
			for i := range x {
				x[i] = rng.Float64()
			}
			return x
		}
		_, iv, err := StratifiedMeans([]Stratum{{Rows: [][]float64{sample(80)}, Weight: 1}, {Rows: [][]float64{sample(60)}, Weight: 2}}, 300, 9)
		if err != nil {
			t.Fatal(err)
		}
		if iv[0].Low <= .5 && .5 <= iv[0].High {
			held++
		}
	}
	if share := float64(held) / 300; share < .9 || share > .99 {
		t.Errorf("%.3f of the intervals hold the true mean, want about .95", share)
	}
	for name, bad := range map[string][]Stratum{
		"nothing":   nil,
		"no items":  {{Rows: [][]float64{{}}, Weight: 1}},
		"uneven":    {{Rows: [][]float64{{1, 2}, {1}}, Weight: 1}},
		"measures":  {{Rows: [][]float64{{1}}, Weight: 1}, {Rows: [][]float64{{1}, {1}}, Weight: 1}},
		"no weight": {{Rows: [][]float64{{1}}}},
	} {
		if _, _, err := StratifiedMeans(bad, 100, 1); !errors.Is(err, ErrSample) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
