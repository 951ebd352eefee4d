//go:build unix

package collections

import "golang.org/x/sys/unix"

// descriptors is the maximum number of open files of this process, 0 if unknown.
func descriptors() int {
	var l unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_NOFILE, &l) != nil {
		return 0
	}
	return int(min(uint64(l.Cur), 1<<30))
}
