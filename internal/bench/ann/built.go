package ann

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/lexsem/lexsem/bench"
	"github.com/lexsem/lexsem/internal/atomicfile"
	"github.com/lexsem/lexsem/internal/filelock"
)

// savedBuild records the progress of a mapped build: Done is the number of vectors in the saved index, and the
// times are those of all steps so far. It is stored as a file, so that an interrupted build can be continued.
type savedBuild struct {
	Done            int     `json:"done"`
	BuildSeconds    float64 `json:"build_seconds"`
	BuildCPUSeconds float64 `json:"build_cpu_seconds"`
	SaveSeconds     float64 `json:"save_seconds"`

	dir  string
	lock *os.File
}

// openBuilt opens the folder below o.Dir of the build that o describes, and creates it if it does not exist. No other
// process may build in it until close.
func openBuilt(o Options) (_ *savedBuild, err error) {
	b := &savedBuild{dir: filepath.Join(o.Dir, fmt.Sprintf("ann-%s-%dx%d-seed%d-asked%d-m%d-%d-by%d-step%d",
		o.Index, o.N, o.Dim, o.Seed, o.NumQueries, o.M, o.EfConstruction, o.Threads, o.Step))}
	if err := os.Mkdir(b.dir, 0o777); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, err
	}
	if b.lock, err = os.Create(filepath.Join(b.dir, "LOCK")); err != nil {
		return nil, err
	}
	if err := filelock.Try(b.lock, true); err != nil {
		b.lock.Close()
		if errors.Is(err, filelock.ErrHeld) {
			err = fmt.Errorf("%w: another process builds this index in %s; wait for it, or name another folder", bench.ErrOption, b.dir)
		}
		return nil, err
	}
	data, err := os.ReadFile(b.state())
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return b, nil
	case err == nil:
		err = json.Unmarshal(data, b)
	}
	if err == nil && (b.Done < 0 || b.Done > o.N) {
		err = fmt.Errorf("%d vectors of %d", b.Done, o.N)
	}
	if err == nil {
		err = b.clear()
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("reading %s: %w; remove the folder to build anew", b.state(), err), filelock.Release(b.lock))
	}
	return b, nil
}

func (b *savedBuild) state() string { return filepath.Join(b.dir, "built.json") }

// index is the name of the index file with that number of vectors.
func (b *savedBuild) index(done int) string {
	return filepath.Join(b.dir, fmt.Sprintf("%d.snap", done))
}

// keep records that the index file with done vectors is complete, and removes the previous one.
func (b *savedBuild) keep(done int) error {
	b.Done = done
	data, err := json.Marshal(b)
	if err != nil {
		return err
	}
	if err := atomicfile.Write(b.state(), func(f *os.File) error { _, err := f.Write(data); return err }); err != nil {
		return err
	}
	return b.clear()
}

// clear removes files of indexes with fewer vectors, and files that a killed process left.
func (b *savedBuild) clear() error {
	files, err := os.ReadDir(b.dir)
	if err != nil {
		return err
	}
	for _, f := range files {
		path := filepath.Join(b.dir, f.Name())
		if strings.HasSuffix(path, ".snap") && path != b.index(b.Done) || strings.Contains(f.Name(), atomicfile.Mark) {
			if err := os.Remove(path); err != nil {
				return err
			}
		}
	}
	return nil
}

// close releases the folder. With remove, or if nothing was saved, it also deletes the folder.
func (b *savedBuild) close(remove bool) error {
	if b.Done > 0 && !remove {
		return filelock.Release(b.lock)
	}
	return errors.Join(filelock.Release(b.lock), os.RemoveAll(b.dir))
}
