package provision

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/lexsem/lexsem/internal/atomicfile"
)

// stamp shows whether a file may have changed since it was hashed. A change that keeps
// the size and restores the time is found only when the file is hashed again, as `lexsem
// doctor` does.
type stamp struct {
	Size int64 `json:"size"`
	Time int64 `json:"time"` // of the last change, in ns since 1970
}

func stampOf(info fs.FileInfo) stamp { return stamp{info.Size(), info.ModTime().UnixNano()} }

// check compares every file in dir with its digest. Unless all is set, an unchanged stamp
// suffices. It reports whether it updated stamps.
func (r *receipt) check(ctx context.Context, dir string, all bool) (stamped bool, err error) {
	for name, want := range r.Files {
		if err := ctx.Err(); err != nil {
			return false, err
		}
		if !filepath.IsLocal(name) {
			return false, fmt.Errorf("%s lists %q", receiptFile, name)
		}
		path := filepath.Join(dir, name)
		info, err := os.Stat(path)
		if err != nil {
			return false, err
		}
		now := stampOf(info)
		if !all && info.Mode().IsRegular() && r.Stamps[name] == now {
			continue
		}
		got, err := hashFile(ctx, path)
		if err != nil {
			return false, err
		}
		if got != want {
			return false, fmt.Errorf("%w: %s has %s, want %s", ErrDigest, name, got, want)
		}
		if r.Stamps[name] != now {
			if r.Stamps == nil {
				r.Stamps = map[string]stamp{}
			}
			r.Stamps[name], stamped = now, true
		}
	}
	return stamped, nil
}

// write puts the receipt into dir, for all who may read the files beside it: a cache that one user fills serves others.
func (r *receipt) write(dir string) error {
	b, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	return atomicfile.Write(filepath.Join(dir, receiptFile), func(f *os.File) error {
		_, err := f.Write(append(b, '\n'))
		return errors.Join(err, f.Chmod(0o644))
	})
}
