//go:build linux || darwin || freebsd

package store

import "golang.org/x/sys/unix"

// freeBytes is the space on dir's disk that this user may fill.
func freeBytes(dir string) (uint64, error) {
	var st unix.Statfs_t
	if err := unix.Statfs(dir, &st); err != nil {
		return 0, err
	}
	if st.Bavail < 0 {
		return 0, nil
	}
	return uint64(st.Bavail) * uint64(st.Bsize), nil
}
