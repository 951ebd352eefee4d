package stat

import (
	"slices"
	"testing"
)

func TestMedian(t *testing.T) {
	for _, c := range []struct {
		of   []float64
		want float64
	}{{nil, 0}, {[]float64{3}, 3}, {[]float64{4, 1}, 2.5}, {[]float64{9, 1, 2}, 2}, {[]float64{8, 1, 2, 4}, 3}} {
		was := slices.Clone(c.of)
		if got := Median(c.of); got != c.want || !slices.Equal(c.of, was) {
			t.Errorf("%v: %v, want %v; now %v", was, got, c.want, c.of)
		}
	}
}
