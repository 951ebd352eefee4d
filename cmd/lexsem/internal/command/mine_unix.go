//go:build unix

package command

import (
	"os"
	"syscall"
)

// mine reports whether this user owns a folder, or is root.
func mine(dir string) bool {
	info, err := os.Stat(dir)
	if err != nil {
		return false
	}
	s, ok := info.Sys().(*syscall.Stat_t)
	return ok && (os.Geteuid() == 0 || int(s.Uid) == os.Geteuid())
}
