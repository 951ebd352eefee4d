// Package process measures this process: its processor time, memory and files.
package process

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
)

// Usage is Memory of this process in bytes.
type Usage struct{ Resident, Peak, Anonymous, Mapped int64 }

// Memory collects garbage, returns it to the system, and measures what remains, with the
// mapped derived files below dir. It returns nil if the system has no /proc.
func Memory(dir string) (*Usage, error) {
	if runtime.GOOS != "linux" {
		return nil, nil
	}
	debug.FreeOSMemory() // collects first
	u, err := Resident()
	if err != nil {
		return nil, err
	}
	derived, err := filepath.Abs(filepath.Join(dir, "derived"))
	if err != nil {
		return nil, err
	}
	raw, err := os.ReadFile("/proc/self/maps")
	if err != nil {
		return nil, err
	}
	for lines := bufio.NewScanner(bytes.NewReader(raw)); lines.Scan(); {
		f := strings.Fields(lines.Text())
		if len(f) < 6 || !strings.HasPrefix(f[5], derived+"/") {
			continue
		}
		var from, to int64
		if _, err := fmt.Sscanf(f[0], "%x-%x", &from, &to); err != nil {
			return nil, fmt.Errorf("/proc/self/maps: %q: %w", lines.Text(), err)
		}
		u.Mapped += to - from
	}
	return u, nil
}

// Resident reads the Memory of this process without mapped files, from Linux's /proc.
func Resident() (*Usage, error) {
	u := &Usage{}
	raw, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return nil, err
	}
	for field, to := range map[string]*int64{"VmRSS:": &u.Resident, "VmHWM:": &u.Peak, "RssAnon:": &u.Anonymous} {
		_, rest, ok := strings.Cut(string(raw), field)
		if !ok {
			return nil, fmt.Errorf("/proc/self/status says nothing of %s", field)
		}
		kib, err := strconv.ParseInt(strings.Fields(rest)[0], 10, 64)
		if err != nil {
			return nil, fmt.Errorf("/proc/self/status: %s %w", field, err)
		}
		*to = kib << 10
	}
	return u, nil
}

// ForgetPeak resets the peak of resident memory.
func ForgetPeak() error {
	if runtime.GOOS != "linux" {
		return nil
	}
	return os.WriteFile("/proc/self/clear_refs", []byte("5"), 0)
}

// DiskBytes is the size of all files below dir.
func DiskBytes(dir string) (int64, error) {
	bytes, _, err := DiskUse(dir)
	return bytes, err
}

// DiskUse is the size and number of all files below dir. It leaves out files that
// disappear while it counts.
func DiskUse(dir string) (bytes int64, files int, err error) {
	err = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			var info fs.FileInfo
			if info, err = d.Info(); err == nil {
				bytes, files = bytes+info.Size(), files+1
			}
		}
		if path != dir && errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		return err
	})
	return bytes, files, err
}

// MiB converts bytes to MiB for reports.
func MiB(bytes int64) *float64 { return new(float64(bytes) / (1 << 20)) }
