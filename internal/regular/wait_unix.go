//go:build unix

package regular

import "syscall"

// noWait prevents that opening a pipe waits for its writer.
const noWait = syscall.O_NONBLOCK
