package index

import (
	"errors"
	"testing"
)

// A chunk is checked once, whatever comes of it; what is damaged stays so.
func TestLazyChecksOnce(t *testing.T) {
	bad := errors.New("bad")
	calls := [3]int{}
	l := newLazy(3, func(c int) error {
		calls[c]++
		if c == 1 {
			return bad
		}
		return nil
	})
	for range 3 {
		for c, want := range []error{nil, bad, nil, nil} { // the last is not of the snapshot
			if err := l.check(c); err != want {
				t.Errorf("chunk %d: %v, want %v", c, err, want)
			}
		}
	}
	if calls != [3]int{1, 1, 1} || l.left.Load() != 1 {
		t.Errorf("checked %v times, %d left", calls, l.left.Load())
	}
}
