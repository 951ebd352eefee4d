package share

import (
	"errors"

	"golang.org/x/sys/windows"
)

// ownerOf does not know the owner.
func ownerOf(string) (uid int, ok bool) { return 0, false }

// refused reports whether nobody listens on a socket.
func refused(err error) bool { return errors.Is(err, windows.WSAECONNREFUSED) }

// isReset reports whether the other end is gone.
func isReset(err error) bool {
	return errors.Is(err, windows.WSAECONNRESET) || errors.Is(err, windows.WSAECONNABORTED)
}
