package store

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

const forgets = true

// forgetMapped takes the pages of files out of memory, which must stay mapped meanwhile. It leaves private mappings
// alone, whose pages may be nowhere else.
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

// residentFiles is how many bytes of files are in this process's memory, 0 where it is not known.
func residentFiles() uint64 {
	raw, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		return 0
	}
	var size, resident, shared uint64
	if _, err := fmt.Sscan(string(raw), &size, &resident, &shared); err != nil {
		return 0
	}
	return shared * uint64(os.Getpagesize())
}

// residentTables is how many bytes of the tables in a folder are in this process's memory, 0 where it is not known.
func residentTables(dir string) (bytes uint64) {
	raw, err := os.ReadFile("/proc/self/smaps")
	if err != nil {
		return 0
	}
	table := false
	for line := range strings.Lines(string(raw)) {
		if kib, is := strings.CutPrefix(line, "Rss:"); is {
			n := uint64(0)
			if _, err := fmt.Sscan(kib, &n); table && err == nil {
				bytes += n << 10
			}
		} else if !strings.HasSuffix(strings.Fields(line)[0], ":") { // a mapping begins
			at := strings.IndexByte(line, '/')
			table = at >= 0 && filepath.Dir(line[at:]) == dir && strings.HasSuffix(line, ".sst\n")
		}
	}
	return bytes
}
