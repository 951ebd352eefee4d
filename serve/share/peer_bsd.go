//go:build darwin || freebsd

package share

import "golang.org/x/sys/unix"

// socketUser is the user of the process at the other end of a socket.
func socketUser(fd int) (int, error) {
	cred, err := unix.GetsockoptXucred(fd, unix.SOL_LOCAL, unix.LOCAL_PEERCRED)
	if err != nil {
		return 0, err
	}
	return int(cred.Uid), nil
}
