package state

import (
	"math"
	"sync/atomic"
	"time"
)

// moment is the last time at which something happened. Setting the clock does not change
// it.
type moment struct {
	at atomic.Int64 // nanoseconds since began and one, 0 for never
}

var began = time.Now()

func (m *moment) set() { m.at.Store(int64(time.Since(began)) + 1) }

// since is the time since then; if it never happened, the maximum.
func (m *moment) since() time.Duration {
	at := m.at.Load()
	if at == 0 {
		return math.MaxInt64
	}
	return time.Since(began) - time.Duration(at-1)
}
