// Package smaps measures how much of the mapped files of this process is in memory. Start with [Resident]
// or, for all files at little cost, [Files]. It works only on Linux.
package smaps

import (
	"fmt"
	"os"
	"slices"
	"strings"
)

// Resident returns how many bytes of the mapped files selected by is are in this process's memory; removed
// files do not count. Cost: a walk over the page tables of the whole process, some 10 ms for 600 MB. Errors:
// the operating system's; always one on other systems than Linux.
func Resident(is func(path string) bool) (bytes uint64, err error) {
	err = each(is, func(m mapping) { bytes += m.resident })
	return bytes, err
}

// Files returns how many bytes of all files are in this process's memory, 0 if unknown. Cost: some microseconds.
func Files() uint64 {
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

// Huge returns how many bytes of the selected files are in mappings that request large pages, whether in memory or not.
// Cost and errors: those of Resident.
func Huge(is func(path string) bool) (bytes uint64, err error) {
	err = each(is, func(m mapping) {
		if m.huge {
			bytes += m.size
		}
	})
	return bytes, err
}

// mapping holds the figures of a mapped file, in bytes.
type mapping struct {
	size, resident uint64
	huge           bool
}

// each calls visit with all mappings of the selected files.
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
