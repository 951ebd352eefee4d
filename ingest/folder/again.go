package folder

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"path/filepath"
	"strings"

	"github.com/lexsem/lexsem/ingest/files"
	"github.com/lexsem/lexsem/internal/regular"
)

// A search may bring a folder up to date that another process has indexed. So that it stores the same documents, each sync keeps
// its options beside the stamps.

// kept are the options that decide what a sync stores.
type kept struct {
	Root                    string
	Prefix                  string
	Exclude                 []string
	Columns                 files.Columns
	MaxBytes                int64
	Keep, NoDefaultExcludes bool
	DropVectors, GlobalIDs  bool
}

// maxKept bounds the file of kept options.
const maxKept = 1 << 20

func optionsFile(stamped string) string {
	return strings.TrimSuffix(stamped, filepath.Ext(stamped)) + ".options"
}

// remember writes the options of the root if they are others than those of the last sync.
func (f *Folder) remember() error {
	o := f.o
	now, err := json.Marshal(kept{f.root, o.Prefix, o.Exclude, o.Columns, o.MaxBytes, o.Keep, o.NoDefaultExcludes, o.DropVectors, o.GlobalIDs})
	if err != nil {
		return err
	}
	name := optionsFile(f.stamped)
	was, err := regular.ReadFile(name, maxKept)
	if err == nil && bytes.Equal(was, now) {
		return nil
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return replace(name, now)
}

// Again returns o with the options that decide what a sync stores as the last sync of a root had them. dir is the folder of the
// database. ok is false if none is known; o is then unchanged.
func Again(dir, root string, o Options) (_ Options, ok bool, err error) {
	if root, err = filepath.Abs(root); err != nil {
		return o, false, err
	}
	data, err := regular.ReadFile(optionsFile(stampsFile(filepath.Join(dir, stateFolder), root)), maxKept)
	if errors.Is(err, fs.ErrNotExist) {
		return o, false, nil
	}
	var k kept
	if err != nil || json.Unmarshal(data, &k) != nil || k.Root != root { // what is damaged, the next sync writes again
		return o, false, err
	}
	o.Prefix, o.Exclude, o.Columns, o.MaxBytes = k.Prefix, k.Exclude, k.Columns, k.MaxBytes
	o.Keep, o.NoDefaultExcludes, o.DropVectors, o.GlobalIDs = k.Keep, k.NoDefaultExcludes, k.DropVectors, k.GlobalIDs
	return o, true, nil
}

// Behind counts the files that are new, changed or gone since the last sync of the root. It stores nothing, and leaves out files
// that the last sync could not read, which the next one reads anyway. Its cost is one look at each file; files that were changed
// within seconds of that sync are read.
func (f *Folder) Behind(ctx context.Context) (n int, err error) {
	if err := f.enter(ctx); err != nil {
		return 0, err
	}
	defer f.leave()
	dir, err := openRoot(f.root)
	if err != nil {
		return 0, reason(err)
	}
	defer func() { err = errors.Join(err, dir.Close()) }()
	if f.stamps, f.mounts, err = readStamps(f.stamped, f.root, f.settings); err != nil {
		return 0, err
	}
	f.loaded = false
	if err := f.loadProblems(); err != nil {
		return 0, err
	}
	w, err := f.walker(dir)
	if err == nil {
		err = w.all(ctx)
	}
	if err != nil {
		return 0, err
	}
	found := 0
	for _, x := range w.files {
		if err := ctx.Err(); err != nil {
			return 0, err
		}
		s, ok := f.stamps[x.path]
		if ok {
			found++
		}
		if _, lacks := f.lacks[x.path]; lacks {
			continue
		}
		same := ok && s.fits(x)
		if same && s.Racy {
			h, err := openBelow(dir, x.path)
			if gone(err) {
				continue
			}
			if err != nil {
				return 0, err
			}
			sum := sha256.New()
			_, err = io.Copy(sum, &until{ctx, h})
			if err = errors.Join(err, h.Close()); err != nil {
				return 0, err
			}
			same = bytes.Equal(sum.Sum(nil), s.Digest)
		}
		if !same {
			n++
		}
	}
	if !f.o.Keep && len(w.closed) == 0 {
		n += len(f.stamps) - found
	}
	return n, nil
}
