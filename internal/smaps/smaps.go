// Package smaps tells how much of the mapped files of this process is in memory. Start with [Resident]. It
// works on Linux alone; elsewhere it returns an error.
package smaps

import (
	"fmt"
	"os"
	"slices"
	"strings"
)

// Resident is how many bytes of the mapped files whose path is wanted are in this process's memory, a file that
// was removed not among them. Cost: a walk over the page tables of the whole process, some 10 ms for 600 MB.
// Errors: the operating system's, so always where it is not Linux.
func Resident(is func(path string) bool) (bytes uint64, err error) {
	err = each(is, func(m mapping) { bytes += m.resident })
	return bytes, err
}

// Huge is how many bytes of them are in mappings for which large pages are asked, in memory or not. Cost and errors: those of Resident.
func Huge(is func(path string) bool) (bytes uint64, err error) {
	err = each(is, func(m mapping) {
		if m.huge {
			bytes += m.size
		}
	})
	return bytes, err
}

// mapping is what is told of a mapped file, in bytes.
type mapping struct {
	size, resident uint64
	huge           bool
}

// each calls visit with all mappings of files whose path is wanted.
func each(is func(path string) bool, visit func(mapping)) error {
	raw, err := os.ReadFile("/proc/self/smaps")
	if err != nil {
		return err
	}
	wanted, m := false, mapping{}
	end := func() {
		if wanted {
			visit(m)
		}
	}
	for line := range strings.Lines(string(raw)) {
		name, value, _ := strings.Cut(line, ":")
		switch {
		case strings.ContainsRune(name, ' '): // a mapping begins
			end()
			at := strings.IndexByte(line, '/')
			wanted, m = at >= 0 && is(strings.TrimSuffix(line[at:], "\n")), mapping{}
		case !wanted:
		case name == "Size":
			err = kib(line, value, &m.size)
		case name == "Rss":
			err = kib(line, value, &m.resident)
		case name == "VmFlags":
			m.huge = slices.Contains(strings.Fields(value), "hg")
		}
		if err != nil {
			return err
		}
	}
	end()
	return nil
}

func kib(line, value string, bytes *uint64) error {
	if _, err := fmt.Sscan(value, bytes); err != nil {
		return fmt.Errorf("/proc/self/smaps: %q: %w", line, err)
	}
	*bytes <<= 10
	return nil
}
