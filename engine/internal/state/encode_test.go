package state

import (
	"testing"
	"time"
)

// Vectors are made when documents have stopped coming, so that words find all of them first; but not later than
// encodeWait, and at once where somebody waits. Commits of vectors are no documents.
func TestVectorsWaitForWords(t *testing.T) {
	ago := func(d time.Duration) time.Time { return time.Now().Add(-d) }
	for name, c := range map[string]struct {
		commit          time.Duration // since the last
		encoded, lacked time.Time
		flushes         int
		waits           bool
	}{
		"documents come":            {0, time.Time{}, ago(rest), 0, true},
		"and came after vectors":    {soon / 8, ago(soon / 2), ago(rest), 0, true},
		"the last commit is theirs": {soon / 2, ago(soon / 8), ago(rest), 0, false},
		"no more come":              {soon, time.Time{}, ago(rest), 0, false},
		"they come for long":        {0, time.Time{}, ago(encodeWait), 0, false},
		"Flush":                     {0, time.Time{}, ago(rest), 1, false},
	} {
		m := maintainer{encodeEnd: c.encoded, lackedSince: c.lacked, urgent: c.flushes}
		if got := m.moreComes(c.commit); got != c.waits {
			t.Errorf("%s: waits is %v", name, got)
		}
	}
}
