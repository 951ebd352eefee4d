//go:build !unix

package trial

import (
	"testing"
	"time"
)

var began = time.Now()

// worked is the time by the clock.
func worked(testing.TB) time.Duration { return time.Since(began) }
