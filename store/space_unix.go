//go:build linux || darwin || freebsd

package store

import "golang.org/x/sys/unix"

// freeBytes is the space on dir's disk that this user may use.
func freeBytes(dir string) (uint64, error) {
	var st unix.Statfs_t
	if err := unix.Statfs(dir, &st); err != nil {
		return 0, err
	}
	// Signed on some systems, and negative there on a disk that is over full.
	return uint64(max(int64(st.Bavail), 0)) * uint64(st.Bsize), nil
}
