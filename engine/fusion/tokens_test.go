package fusion

import (
	"math"
	"testing"

	"github.com/lexsem/lexsem/internal/inverted"
	"github.com/lexsem/lexsem/internal/late"
)

func TestAnswered(t *testing.T) {
	for _, c := range []struct{ whole, near, second, front, presence, nearWords, want float64 }{
		{0.5, 0.5, 0.5, 0.5, 0, 0, 0.75},
		{0.8, 0.4, 0.4, 0.2, 0, 0, 0.75},
		{0.4, 0.8, 0.4, 0.2, 0, 0, 0.75},
		{0.4, 0.4, 0.8, 0.2, 0, 0, 0.65},
		{-0.2, -0.2, -0.2, -0.2, 0, 0, -0.05},
		{0.5, 0.5, 0.5, 0.5, 0.0625, 0, 0.75 - 0.1/32},
		{0.5, 0.4, 0.2, 0.3, 1, 0.5, 0.675},
		{0.5, 0.3, 0.3, 0.3, 1, 0.5, 0.675},
		{0.9, 0.9, 0.9, 0.9, 1, 1, 1.25},
	} {
		got := Answered(late.Match{Whole: c.whole, Near: c.near, Second: c.second, Front: c.front}, inverted.Match{Presence: c.presence, Near: c.nearWords})
		if math.Abs(got-c.want) > 1e-12 {
			t.Errorf("%+v: %g", c, got)
		}
	}
}
