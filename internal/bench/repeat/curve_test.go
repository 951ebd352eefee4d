package repeat

import (
	"context"
	"testing"

	"github.com/lexsem/lexsem/bench"
	"github.com/lexsem/lexsem/encoder"
	"github.com/lexsem/lexsem/internal/bench/corpustest"
)

// A curve over steps measures the bridge as it is after each, and past the end the whole fit.
func TestCurveOverSteps(t *testing.T) {
	o := bench.Options{Data: corpustest.Town(t, 50), Systems: []string{"dense", "slr"}, Tasks: []string{"keyword"}}
	c, err := RunCurve(context.Background(), encoder.NewHash(64), o, OverSteps, []int{1, 4, 1000})
	if err != nil {
		t.Fatal(err)
	}
	whole, err := bench.Run(context.Background(), encoder.NewHash(64), o)
	if err != nil {
		t.Fatal(err)
	}
	first, then, last := c.Points[0].Fit["slr"].Loss, c.Points[1].Fit["slr"].Loss, c.Points[2].Fit["slr"].Loss
	if !(first > then && then > last && last > 0) || last != whole.Fit["slr"].Loss {
		t.Errorf("losses %v, %v, %v; the whole fit ends with %v", first, then, last, whole.Fit["slr"].Loss)
	}
}
