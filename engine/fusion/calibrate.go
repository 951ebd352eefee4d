package fusion

import "math"

const (
	// defaultSpread is √(1 − mean cosine of unrelated texts) of all-MiniLM-L6-v2 (encoder.Unrelated), the model for
	// which the weights were chosen.
	defaultSpread = 0.977
	// asDefault is how far the spread of a model may be from that of the default one, as a share, to count as the
	// same: 64 sentences do not measure it more exactly.
	asDefault = 0.1
	// mostScale bounds the scale of a model that gives all texts nearly one vector.
	mostScale = 4
)

// Calibrate adapts f to the mean cosine of unrelated texts with an encoder (encoder.Unrelated): the higher it is, the
// more a difference of two cosines means. In Calibrated, the contributions of vectors are multiplied by κ, the spread
// of the default model divided by that of this one; other kinds do not change. 0 means unknown, and κ is 1.
func (f Options) Calibrate(unrelated float64) Options {
	f.scale = Scale(unrelated)
	return f
}

// Scale is κ of Calibrate, from 1 to 4.
func Scale(unrelated float64) float64 {
	if unrelated == 0 || math.IsNaN(unrelated) {
		return 1
	}
	spread := math.Sqrt(max(0, 1-unrelated)) / defaultSpread
	if spread > 1-asDefault {
		return 1
	}
	return min(mostScale, 1/spread)
}
