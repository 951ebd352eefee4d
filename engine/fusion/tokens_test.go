package fusion

import (
	"math"
	"testing"

	"github.com/lexsem/lexsem/internal/inverted"
	"github.com/lexsem/lexsem/internal/late"
)

func TestAnswered(t *testing.T) {
	for _, c := range []struct{ whole, near, front, presence, nearWords, want float64 }{
		{0.5, 0.5, 0.5, 0, 0, 0.5},
		{0.5, 0.4, 0.2, 0, 0, 0.4},
		{-0.2, -0.2, -0.2, 0, 0, -0.05},
		{0.5, 0.5, 0.5, 0.0625, 0, 0.5 - 0.1/32},
		{0.5, 0.4, 0.3, 1, 0.5, 0.475},
		{0.5, 0.3, 0.3, 1, 0.5, 0.475},
		{0.9, 0.9, 0.9, 1, 1, 0.8},
	} {
		got := Answered(late.Match{Whole: c.whole, Near: c.near, Front: c.front}, inverted.Match{Presence: c.presence, Near: c.nearWords})
		if math.Abs(got-c.want) > 1e-12 {
			t.Errorf("%+v: %g", c, got)
		}
	}
}
