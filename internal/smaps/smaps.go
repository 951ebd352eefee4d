// Package smaps tells what of mapped files is in this process's memory.
package smaps

import (
	"fmt"
	"os"
	"strings"
)

// Resident is how many bytes of the mapped files whose path is wanted are in this process's memory, a file that
// was removed not among them. Cost: a walk over the page tables of the whole process, some 10 ms for 600 MB.
// Errors: the operating system's, so always where it is not Linux.
func Resident(is func(path string) bool) (bytes uint64, err error) {
	raw, err := os.ReadFile("/proc/self/smaps")
	if err != nil {
		return 0, err
	}
	wanted := false
	for line := range strings.Lines(string(raw)) {
		if kib, size := strings.CutPrefix(line, "Rss:"); size {
			n := uint64(0)
			if _, err := fmt.Sscan(kib, &n); err != nil {
				return 0, fmt.Errorf("/proc/self/smaps: %q: %w", line, err)
			}
			if wanted {
				bytes += n << 10
			}
		} else if !strings.HasSuffix(strings.Fields(line)[0], ":") { // a mapping begins
			at := strings.IndexByte(line, '/')
			wanted = at >= 0 && is(strings.TrimSuffix(line[at:], "\n"))
		}
	}
	return bytes, nil
}
