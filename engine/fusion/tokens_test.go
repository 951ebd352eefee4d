package fusion

import "testing"

func TestAnswered(t *testing.T) {
	for _, c := range []struct{ tokens, presence, want float64 }{
		{0.5, 0, 0.5}, {-0.2, 0, 0}, {0.5, 0.5, 0.5}, {0.5, 1, 0.8}, {0.9, 1, 0.9}, {0.1, 0.25, 0.2},
	} {
		if got := Answered(c.tokens, c.presence); got != c.want {
			t.Errorf("tokens %g, presence %g: %g, want %g", c.tokens, c.presence, got, c.want)
		}
	}
}
