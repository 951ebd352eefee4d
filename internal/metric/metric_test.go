package metric

import (
	"errors"
	"math"
	"slices"
	"testing"

	"github.com/lexsem/lexsem/internal/fault"
)

func TestOf(t *testing.T) {
	for name, want := range map[string]string{"": "cosine", "cosine": "cosine", "dot": "dot", "l2": "l2"} {
		m, err := Of(name)
		if err != nil || m.String() != want || m.Directions() != (want == "cosine") {
			t.Errorf("%q: %s, directions %v, %v", name, m, m.Directions(), err)
		}
		if err := m.Needs("a thing"); m.Directions() != (err == nil) || err != nil && !errors.Is(err, fault.ErrInvalid) {
			t.Errorf("%q: %v", name, err)
		}
	}
	for _, name := range []string{"Dot", "euclid", " "} {
		if _, err := Of(name); !errors.Is(err, fault.ErrInvalid) {
			t.Errorf("%q: %v", name, err)
		}
	}
}

// TestVector: what is kept of a vector is a copy, as it was given where lengths count.
func TestVector(t *testing.T) {
	nan, inf := float32(math.NaN()), float32(math.Inf(1))
	for _, c := range []struct {
		m          Metric
		give, want []float32
	}{
		{"", []float32{3, 4}, []float32{0.6, 0.8}},
		{"dot", []float32{3, 4}, []float32{3, 4}}, {"l2", []float32{3, 4}, []float32{3, 4}},
		{"", []float32{0, 0}, nil}, {"dot", []float32{0, 0}, []float32{0, 0}}, {"l2", []float32{0, 0}, []float32{0, 0}},
		{"", []float32{1e30, 0}, []float32{1, 0}}, {"dot", []float32{1.1e18, 0}, nil}, {"l2", []float32{-1.1e18, 0}, nil}, {"dot", []float32{1e17, -1e17}, []float32{1e17, -1e17}},
		{"", []float32{nan, 0}, nil}, {"dot", []float32{nan, 0}, nil}, {"l2", []float32{inf, 0}, nil},
		{"", []float32{1}, nil}, {"dot", []float32{1, 2, 3}, nil}, {"l2", nil, nil},
	} {
		before := slices.Clone(c.give)
		got, err := c.m.Vector(c.give, 2)
		if c.want == nil {
			if !errors.Is(err, fault.ErrInvalid) {
				t.Errorf("%s keeps %v of %v, %v", c.m, got, c.give, err)
			}
			continue
		}
		if err != nil || !slices.Equal(got, c.want) || &got[0] == &c.give[0] || !slices.Equal(c.give, before) {
			t.Errorf("%s keeps %v of %v, %v", c.m, got, before, err)
		}
	}
}

// TestScore: a lower distance is a higher score, and none is minus zero.
func TestScore(t *testing.T) {
	for _, c := range []struct {
		m        Metric
		distance float32
		want     float64
	}{{"", 0.25, 0.75}, {"cosine", 2, -1}, {"dot", -7, 7}, {"dot", 7, -7}, {"l2", 4, -4}, {"l2", 0, 0}, {"dot", 0, 0}} {
		if got := c.m.Score(c.distance); got != c.want || math.Signbit(got) != (c.want < 0) {
			t.Errorf("%s: the distance %v scores %v, want %v", c.m, c.distance, got, c.want)
		}
	}
	q, rows := []float32{1, 2}, []float32{3, 4, -1, 0}
	for m, want := range map[Metric][]float32{"dot": {11, -1}, "l2": {-8, -8}, "": {11, -1}} {
		got := make([]float32, 2)
		if m.Scores(got, q, rows); !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", m, got, want)
		}
	}
}

func TestHolds(t *testing.T) {
	a, b := []float32{0.6, 0.8}, []float32{0.6000001, 0.8}
	for m, rounded := range map[Metric]bool{"": true, "dot": false, "l2": false} {
		if !m.Holds(a, slices.Clone(a)) || m.Holds(a, b) != rounded || m.Holds(a, []float32{0.6}) || m.Holds(nil, a) || m.Holds(a, []float32{0.8, 0.6}) {
			t.Errorf("%s", m)
		}
	}
}

func TestCosine(t *testing.T) {
	for _, c := range []struct {
		a, b []float32
		want float32
	}{
		{[]float32{3, 0}, []float32{0, 5}, 0}, {[]float32{3, 0}, []float32{7, 0}, 1}, {[]float32{1e-40, 0}, []float32{-1e18, 0}, -1},
		{[]float32{0, 0}, []float32{1, 0}, 0}, {[]float32{1, 0}, []float32{0, 0}, 0}, {[]float32{3, 4}, []float32{4, 3}, 0.96},
	} {
		if got := Cosine(c.a, c.b); float32(got) != c.want {
			t.Errorf("of %v and %v: %v, want %v", c.a, c.b, got, c.want)
		}
	}
}
