//go:build unix

package process

import (
	"syscall"
	"time"
)

// CPUTime is the processor time this process has used, in user and system
// mode, over all its threads.
func CPUTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
