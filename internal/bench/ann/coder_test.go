//go:build !windows

package ann

import (
	"context"
	"testing"
	"time"
)

// TestWhyNotCoder is the measurement behind the index of our own: the
// baseline finds few neighbours whatever its candidate pool, and panics in
// searches after deletes.
func TestWhyNotCoder(t *testing.T) {
	r, err := Run(context.Background(), Options{Index: "coder", N: 3000, NumQueries: 100, Dim: 64, Ef: []int{20, 400}, timed: time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	if a, b := r.Points[0].Recall, r.Points[1].Recall; a > .6 || b > .6 {
		t.Errorf("recall is %v and %v at ef 20 and 400; has the library been mended?", a, b)
	}
	r, err = Run(context.Background(), Options{Index: "coder", N: 3000, NumQueries: 100, Dim: 64, Ef: []int{20}, Delete: .3, timed: time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	if p := r.Points[0]; p.Panics+p.Ghosts == 0 {
		t.Errorf("no panics and no ghosts after deletes: %+v; has the library been mended?", p)
	}
}
