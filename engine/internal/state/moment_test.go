package state

import (
	"math"
	"testing"
	"time"
)

func TestMoment(t *testing.T) {
	var m moment
	if got := m.since(); got != math.MaxInt64 {
		t.Fatalf("never was %v ago", got)
	}
	before := time.Now()
	m.set()
	if got := m.since(); got < 0 || got > time.Since(before) {
		t.Fatalf("%v ago, of %v", got, time.Since(before))
	}
}
