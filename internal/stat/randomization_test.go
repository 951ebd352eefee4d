package stat

import (
	"math"
	"math/rand/v2"
	"testing"
)

func TestRandomizationTestByHand(t *testing.T) {
	// Three equal differences: of the 8 sign assignments the two with all
	// signs alike reach the observed mean, so p → 1/4.
	c, err := RandomizationTest([]float64{0, 0, 0}, []float64{1, 1, 1}, 40_000, 1)
	if err != nil || math.Abs(c.P-.25) > .01 || c.Delta != 1 {
		t.Errorf("three wins: %+v, %v; want p .25, delta 1", c, err)
	}
	// Differences 3 and -1: |sum| 2 or 4, always at least 2.
	c, _ = RandomizationTest([]float64{0, 1}, []float64{3, 0}, 1000, 1)
	if c.P != 1 || c.Delta != 1 {
		t.Errorf("3 and -1: %+v, want p 1, delta 1", c)
	}
	// Differences .1 and .2 and .3 in any order sum to the same but for
	// rounding; the observed assignment and its mirror are 2 of 8.
	c, _ = RandomizationTest([]float64{0, 0, 0}, []float64{.3, .1, .2}, 40_000, 1)
	if math.Abs(c.P-.25) > .01 {
		t.Errorf("unequal wins: p %v, want .25", c.P)
	}
	same := []float64{.5, .2, 1}
	c, _ = RandomizationTest(same, same, 100, 1)
	if c.P != 1 || c.Delta != 0 {
		t.Errorf("equal systems: %+v", c)
	}
	if _, err := RandomizationTest(same, same[:2], 100, 1); err == nil {
		t.Error("unequal lengths are accepted")
	}
	if _, err := RandomizationTest(nil, nil, 100, 1); err == nil {
		t.Error("nothing to compare is accepted")
	}
}

func TestRandomizationTestSignAndSeed(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 0))
	a, b := make([]float64, 300), make([]float64, 300)
	for i := range a {
		a[i] = rng.Float64()
		b[i] = a[i] + .02 + .1*rng.NormFloat64()
	}
	x, _ := RandomizationTest(a, b, 2000, 7)
	y, _ := RandomizationTest(b, a, 2000, 7)
	again, _ := RandomizationTest(a, b, 2000, 7)
	if x != again {
		t.Errorf("the same seed gives %v and %v", x, again)
	}
	if math.Abs(x.Delta+y.Delta) > 1e-12 || math.Abs(x.P-y.P) > .02 {
		t.Errorf("turned round: %v and %v", x, y)
	}
	if x.P > .05 {
		t.Errorf("a shift of a fifth of the deviation on 300 queries has p %v", x.P)
	}
}

// TestRandomizationTestIsCalibrated: where both systems are alike, p is at
// most .1 in about a tenth of the cases.
func TestRandomizationTestIsCalibrated(t *testing.T) {
	rng := rand.New(rand.NewPCG(2, 0))
	low := 0
	const cases = 1000
	for i := range cases {
		a, b := make([]float64, 30), make([]float64, 30)
		for j := range a {
			a[j], b[j] = rng.Float64(), rng.Float64()
		}
		if c, _ := RandomizationTest(a, b, 300, uint64(i)); c.P <= .1 {
			low++
		}
	}
	if share := float64(low) / cases; share < .06 || share > .14 {
		t.Errorf("p ≤ .1 in %.3f of the cases, want about .1", share)
	}
}
