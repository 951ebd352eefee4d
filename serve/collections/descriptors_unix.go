//go:build unix

package collections

import "golang.org/x/sys/unix"

// descriptors is how many files this process may have open, 0 if that is not known.
func descriptors() int {
	var l unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_NOFILE, &l) != nil {
		return 0
	}
	return int(min(uint64(l.Cur), 1<<30))
}
