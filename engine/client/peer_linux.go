package client

import (
	"net"

	"golang.org/x/sys/unix"
)

// peerUser is the user of the process at the other end; ok is false where the system
// does not tell.
func peerUser(c *net.UnixConn) (uid int, ok bool, err error) {
	raw, err := c.SyscallConn()
	if err != nil {
		return 0, false, err
	}
	var cred *unix.Ucred
	var sys error
	if err := raw.Control(func(fd uintptr) { cred, sys = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED) }); err != nil {
		return 0, false, err
	}
	if sys != nil {
		return 0, false, sys
	}
	return int(cred.Uid), true, nil
}
