package folder

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/lexsem/lexsem/engine"
	"github.com/lexsem/lexsem/internal/location"
	"github.com/lexsem/lexsem/internal/problems"
	"github.com/lexsem/lexsem/internal/regular"
)

// A root that was renamed or moved keeps its documents: if a recorded root no longer exists, and most of its files are
// below the present root, its documents become those of the present root. So do those of a root that is the same folder by
// another path, as through a link.

// sample is the number of files that are looked for if their root is gone.
const sample = 100

// adopt takes over the documents of roots that were moved here, and returns those roots.
func (f *Folder) adopt(ctx context.Context) ([]string, error) {
	if f.o.Moved == "" {
		roots, err := f.vanishedHere(ctx)
		if err != nil {
			return nil, err
		}
		for _, old := range roots {
			if _, err := f.adoptFrom(ctx, old); err != nil {
				return nil, err
			}
		}
		return roots, nil
	}
	old, err := filepath.Abs(f.o.Moved)
	if err != nil || old == f.root {
		return nil, err
	}
	n, err := f.adoptFrom(ctx, old)
	if err != nil || n > 0 {
		return []string{old}, err
	}
	if n, err = Recorded(ctx, f.db, f.root); err == nil && n == 0 {
		err = fmt.Errorf("%w: no documents are recorded from %s, which was to have moved; name the former path of the folder", engine.ErrInvalid, old)
	}
	return nil, err
}

// vanishedHere returns the vanished roots most of whose files are below this root, and other paths of this root. Their
// documents have the same ids here.
func (f *Folder) vanishedHere(ctx context.Context) (roots []string, err error) {
	names, err := filepath.Glob(filepath.Join(f.dir, stateFolder, "*.jsonl"))
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		old, err := rootOf(name, f.settings)
		if err != nil {
			return nil, err
		}
		if old == "" || old == f.root {
			continue
		}
		if there, err := os.Stat(old); err == nil {
			if here, err := os.Stat(f.root); err == nil && os.SameFile(there, here) {
				roots = append(roots, old)
			}
			continue
		}
		if _, err := os.Lstat(old); !errors.Is(err, fs.ErrNotExist) {
			continue
		}
		stamps, _, err := readStamps(name, old, f.settings)
		if err != nil {
			return nil, err
		}
		here, all := 0, 0
		for _, path := range slices.Sorted(maps.Keys(stamps)) {
			if s := stamps[path]; s.Documents > 0 && all < sample {
				if err := ctx.Err(); err != nil {
					return nil, err
				}
				if all++; f.has(s) {
					here++
				}
			}
		}
		if 2*here > all {
			roots = append(roots, old)
		}
	}
	return roots, nil
}

// rootOf is the root of a file of stamps, or "" if the file is damaged or has other settings.
func rootOf(name, settings string) (string, error) {
	h, err := regular.Open(name)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	line, err := bufio.NewReader(io.LimitReader(h, 1<<20)).ReadBytes('\n')
	if err == io.EOF {
		err = nil
	}
	if err := errors.Join(err, h.Close()); err != nil {
		return "", err
	}
	var head stampsHead
	if json.Unmarshal(line, &head) != nil || head.Version != stampsVersion || head.Settings != settings || stampsFile(filepath.Dir(name), head.Root) != name {
		return "", nil
	}
	return head.Root, nil
}

// has reports whether the file of a stamp is below this root: a file of the same size with the same time
// or content.
func (f *Folder) has(s stamp) bool {
	name := f.path(s.Path)
	info, err := os.Lstat(name)
	if err != nil || !info.Mode().IsRegular() || info.Size() != s.Size {
		return false
	}
	if info.ModTime().UnixNano() == s.Time {
		return true
	}
	data, err := regular.ReadFile(name, inMemory)
	if err != nil { // then it is not known
		return false
	}
	sum := sha256.Sum256(data)
	return bytes.Equal(sum[:], s.Digest)
}

// adoptFrom makes the documents recorded from another root those of this one. After an interruption it can be
// repeated.
func (f *Folder) adoptFrom(ctx context.Context, root string) (int, error) {
	old := &Folder{db: f.db, root: root, o: f.o, dir: f.dir, settings: f.settings, stamped: stampsFile(filepath.Join(f.dir, stateFolder), root)}
	if err := old.load(ctx); err != nil || len(old.docs) == 0 {
		return 0, err
	}
	ids := slices.Sorted(maps.Keys(old.docs))
	if err := f.load(ctx); err != nil {
		return 0, err
	}
	f.loaded = false // what follows changes it
	if err := f.noted.add(ids...); err != nil {
		return 0, err
	}
	for some := range slices.Chunk(ids, f.o.Batch) {
		patches := make([]engine.Patch, len(some))
		for i, id := range some {
			patches[i] = engine.Patch{ID: id, Metadata: old.docs[id].patch(location.Root, f.root)}
		}
		if _, err := f.db.Patch(ctx, patches); err != nil {
			return 0, err
		}
	}
	maps.Copy(old.stamps, f.stamps)
	if err := writeStamps(f.stamped, f.root, f.settings, old.mounts, old.stamps); err != nil {
		return 0, err
	}
	if err := problems.Write(f.dir, root, Skipped{}, nil); err != nil {
		return 0, err
	}
	for _, name := range []string{old.stamped, strings.TrimSuffix(old.stamped, filepath.Ext(old.stamped)) + ".ids"} {
		if err := os.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return 0, err
		}
	}
	return len(ids), nil
}
