package frame

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/lexsem/lexsem/internal/atomicfile"
	"github.com/lexsem/lexsem/internal/modelspec"
	"github.com/lexsem/lexsem/internal/private"
	"github.com/lexsem/lexsem/internal/regular"
	"github.com/lexsem/lexsem/internal/vec"
)

// Probes are the probe vectors of a model in a file. A file that cannot be used costs the time to encode the probe
// texts, and no more, so it has no errors.
type Probes struct {
	path    string
	of      string        // what the vectors depend on
	vectors *[4][]float32 // nil if they are not known
}

// mostFiles is the most that a model's folder may have: in a larger one the texts are encoded sooner.
const mostFiles = 256

// probeFile is the content.
type probeFile struct {
	Of     string       `json:"of"`
	Probes [4][]float32 `json:"probes"`
}

// OpenProbes reads the vectors of the model in dir from the file at path; "" is for none. Vectors depend on all files of
// the model, by their sizes, times and samples of their contents, since copies may have equal times, on the program and
// the library that runs the model, if any, by sizes and times, and on the kernels in use. dir may be a link; within it a
// link to a folder is not followed, and nothing is kept.
func OpenProbes(ctx context.Context, path, dir, library string, spec modelspec.Spec) (p Probes) {
	if path == "" {
		return
	}
	p.path = path
	of, files := fmt.Sprintf("%s %s %d", vec.Kernels(), spec.Precision, spec.MaxTokens), 0
	note := func(path string, info fs.FileInfo) {
		of += fmt.Sprintf("\n%s %d %d", path, info.Size(), info.ModTime().UnixNano())
	}
	program, err := os.Executable()
	if err != nil {
		return
	}
	if dir, err = filepath.EvalSymlinks(dir); err != nil {
		return
	}
	for _, path := range []string{program, library} {
		if path == "" {
			continue
		}
		info, err := os.Stat(path)
		if err != nil {
			return
		}
		note(path, info)
	}
	if err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if files++; files > mostFiles {
			return fs.SkipAll
		}
		if err = cmp.Or(err, ctx.Err()); err != nil {
			return err
		}
		info, err := os.Stat(path) // of what a link points to
		switch {
		case err != nil:
			return err
		case info.Mode().IsRegular():
			note(path, info)
			sum, err := sampled(path, info.Size())
			of += sum
			return err
		case !e.IsDir():
			return regular.ErrIrregular
		}
		return nil
	}); err != nil || files > mostFiles {
		return
	}
	p.of = of
	var f probeFile
	raw, err := os.ReadFile(p.path)
	if err != nil || json.Unmarshal(raw, &f) != nil || f.Of != of {
		return
	}
	p.vectors = &f.Probes
	return
}

// sampled is a digest of the beginning, the middle and the end of a file.
func sampled(path string, size int64) (string, error) {
	f, err := regular.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	h, piece := sha256.New(), make([]byte, 4<<10)
	for _, at := range []int64{0, size / 2, max(0, size-int64(len(piece)))} {
		n, err := f.ReadAt(piece, at)
		if err != nil && err != io.EOF {
			return "", err
		}
		h.Write(piece[:n])
	}
	return fmt.Sprintf(" %x", h.Sum(nil)[:8]), nil
}

// Known reports whether the vectors were in the file.
func (p Probes) Known() bool { return p.vectors != nil }

// save writes the vectors unless the file has them.
func (p Probes) save(vectors [4][]float32) {
	if p.of == "" || p.vectors != nil {
		return
	}
	raw, err := json.Marshal(probeFile{p.of, vectors})
	if err == nil && private.MkdirAll(filepath.Dir(p.path)) == nil {
		_ = atomicfile.Write(p.path, func(f *os.File) error {
			_, err := f.Write(raw)
			return err
		})
	}
}
