package store

import (
	"fmt"
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

const forgets = true

// forgetMapped removes the pages of files from memory; the files must stay mapped meanwhile. It does not touch
// private mappings, whose pages may exist nowhere else.
func forgetMapped(paths map[string]bool) error {
	raw, err := os.ReadFile("/proc/self/maps")
	if err != nil {
		return err
	}
	for line := range strings.Lines(string(raw)) {
		at := strings.IndexByte(line, '/')
		if at < 0 || !paths[strings.TrimSuffix(line[at:], "\n")] {
			continue
		}
		var from, to uintptr
		var mode string
		if _, err := fmt.Sscanf(line, "%x-%x %s", &from, &to, &mode); err != nil {
			return fmt.Errorf("/proc/self/maps: %q: %w", line, err)
		}
		if !strings.HasSuffix(mode, "s") {
			continue
		}
		if _, _, errno := unix.Syscall(unix.SYS_MADVISE, from, to-from, unix.MADV_DONTNEED); errno != 0 {
			return os.NewSyscallError("madvise", errno)
		}
	}
	return nil
}
