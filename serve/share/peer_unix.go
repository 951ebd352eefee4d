//go:build linux || darwin || freebsd

package share

import "net"

// peerUser is the user of the process at the other end; ok is false if the system does
// not tell.
func peerUser(c *net.UnixConn) (uid int, ok bool, err error) {
	raw, err := c.SyscallConn()
	if err != nil {
		return 0, false, err
	}
	var sys error
	if err := raw.Control(func(fd uintptr) { uid, sys = socketUser(int(fd)) }); err != nil {
		return 0, false, err
	}
	if sys != nil {
		return 0, false, sys
	}
	return uid, true, nil
}
