//go:build unix

package regular

import "syscall"

// noWait prevents that opening a pipe waits for its writer; noFollow, that a link is opened.
const (
	noWait   = syscall.O_NONBLOCK
	noFollow = syscall.O_NOFOLLOW
)
