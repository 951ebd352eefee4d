package fusion

import (
	"math"
	"slices"
	"testing"
)

// TestCalibrate: what vectors give counts by the spread of the encoder, the words as ever, and the default model as before.
func TestCalibrate(t *testing.T) {
	for unrelated, want := range map[float64]float64{0: 1, 0.046: 1, -0.05: 1, 0.1: 1, 0.2: 1, 0.5: 0.977 / math.Sqrt(0.5), 0.778: 0.977 / math.Sqrt(0.222), 0.999: 4, 1: 4, 1.5: 4, math.NaN(): 1} {
		if got := Scale(unrelated); math.Abs(got-want) > 1e-12 {
			t.Errorf("of %v the scale is %v, want %v", unrelated, got, want)
		}
	}
	for _, o := range []Options{{}, {Unknown: .25, Tokens: .7}, {Kind: RRF}, {Kind: Convex}} {
		plain, same, scaled := candidates(), candidates(), candidates()
		for _, cs := range [][]Candidate{plain, same, scaled} {
			for i := range cs {
				cs[i].Tokens = cs[i].Dense / 3
			}
		}
		for err, ok := range map[error]bool{o.Fuse(plain): true, o.Calibrate(0.046).Fuse(same): true, o.Calibrate(0.75).Fuse(scaled): true} {
			if err != nil && ok {
				t.Fatal(err)
			}
		}
		if !slices.Equal(plain, same) {
			t.Errorf("%+v: the default model changed the scores: %+v, %+v", o, plain, same)
		}
		by := func(cs []Candidate, ord uint64) Candidate {
			return cs[slices.IndexFunc(cs, func(c Candidate) bool { return c.Ord == ord })]
		}
		for _, c := range plain {
			want := c.Score
			if o.Kind == "" {
				f, _ := o.fill()
				want += (Scale(0.75) - 1) * ((1-f.Unknown)*c.Dense + f.Tokens*c.Tokens)
			}
			got := by(scaled, c.Ord)
			if math.Abs(got.Score-want) > 1e-12 {
				t.Errorf("%+v: %d has %v, want %v", o, c.Ord, got.Score, want)
			}
			sum := 0.0
			for _, x := range o.Calibrate(0.75).Terms(got) {
				sum += x.Weight * x.Value
			}
			if o.Kind == "" && math.Abs(sum-got.Score) > 1e-12 {
				t.Errorf("terms add up to %v of %v", sum, got.Score)
			}
		}
	}
}
