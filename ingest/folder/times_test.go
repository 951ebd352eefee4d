package folder

import (
	"testing"
	"time"
)

// TestTimesOfFiles: times that no int64 holds in nanoseconds are the nearest, and the order of times stays.
func TestTimesOfFiles(t *testing.T) {
	before := int64(0)
	for i, at := range []string{"0001-01-01", "1601-01-01", "1677-09-21", "1678-01-01", "1970-01-01", "2026-11-29", "2038-01-20", "2262-04-01", "2446-05-10"} {
		day, err := time.Parse(time.DateOnly, at)
		if err != nil {
			t.Fatal(err)
		}
		n := nanoseconds(day)
		if i > 0 && n < before {
			t.Errorf("%s lies before the one before it: %d", at, n)
		}
		if y := day.Year(); y > 1677 && y < 2262 && !time.Unix(0, n).Equal(day) {
			t.Errorf("%s: %d", at, n)
		}
		before = n
	}
}
