package process

import (
	"syscall"
	"time"
)

// CPUTime is the processor time this process has used, in user and kernel
// mode, over all its threads.
func CPUTime() time.Duration {
	var created, exited, kernel, user syscall.Filetime
	process, err := syscall.GetCurrentProcess()
	if err != nil {
		return 0
	}
	if err := syscall.GetProcessTimes(process, &created, &exited, &kernel, &user); err != nil {
		return 0
	}
	ticks := func(f syscall.Filetime) int64 { return int64(f.HighDateTime)<<32 | int64(f.LowDateTime) }
	return time.Duration(100 * (ticks(kernel) + ticks(user))) // a tick is 100 ns
}
