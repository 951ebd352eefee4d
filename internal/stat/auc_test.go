package stat

import (
	"errors"
	"testing"
)

func TestAUC(t *testing.T) {
	for _, c := range []struct {
		positive, negative []float64
		want               float64
	}{
		{[]float64{2, 3}, []float64{1}, 1},
		{[]float64{1}, []float64{2, 3}, 0},
		{[]float64{2}, []float64{2}, .5},
		{[]float64{3, 1}, []float64{2, 1, 0, 4}, 4.5 / 8},
	} {
		if got, err := AUC(c.positive, c.negative); got != c.want || err != nil {
			t.Errorf("%v against %v: %v, %v; want %v", c.positive, c.negative, got, err, c.want)
		}
	}
	for _, c := range [][2][]float64{{nil, {1}}, {{1}, nil}} {
		if _, err := AUC(c[0], c[1]); !errors.Is(err, ErrSample) {
			t.Errorf("%v: %v", c, err)
		}
	}
}
