package stat

import "slices"

// Median is the median, the mean of the two in the middle for an even number of values, or 0 without values.
func Median(x []float64) float64 {
	if len(x) == 0 {
		return 0
	}
	s := slices.Sorted(slices.Values(x))
	return (s[(len(s)-1)/2] + s[len(s)/2]) / 2
}
