package fusion

import (
	"math"
	"testing"
)

func TestAnswered(t *testing.T) {
	for _, c := range []struct{ tokens, presence, want float64 }{
		{0.5, 0, 0.5}, {-0.2, 0, 0}, {0.5, 0.0625, 0.5 - 0.2/32}, {0.5, 1, 0.6}, {0.9, 1, 0.7}, {0.01, 0.0625, 0.05 - 0.2/32},
	} {
		if got := Answered(c.tokens, c.presence); math.Abs(got-c.want) > 1e-12 {
			t.Errorf("tokens %g, presence %g: %g, want %g", c.tokens, c.presence, got, c.want)
		}
	}
}
