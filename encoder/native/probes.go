package native

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/lexsem/lexsem/internal/atomicfile"
	"github.com/lexsem/lexsem/internal/modelspec"
	"github.com/lexsem/lexsem/internal/private"
	"github.com/lexsem/lexsem/internal/vec"
)

// probes are the probe vectors of a model in a file. A file that cannot be used costs the time to encode the probe
// texts, and no more, so it has no errors.
type probes struct {
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

// open reads the vectors of the model in dir. Vectors depend on the description, the sizes and times of all files of
// the model and of this program, and the kernels in use.
func (p *probes) open(ctx context.Context, dir string, spec modelspec.Spec, dim int) {
	if p.path == "" {
		return
	}
	of, files := fmt.Sprintf("%s %s %d", vec.Kernels(), spec.Precision, spec.MaxTokens), 0
	note := func(path string, info fs.FileInfo) {
		of += fmt.Sprintf("\n%s %d %d", path, info.Size(), info.ModTime().UnixNano())
	}
	program, err := os.Executable()
	if err != nil {
		return
	}
	info, err := os.Stat(program)
	if err != nil {
		return
	}
	note(program, info)
	if err := filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
		if files++; files > mostFiles {
			return fs.SkipAll
		}
		if err = cmp.Or(err, ctx.Err()); err != nil {
			return err
		}
		info, err := os.Stat(path) // of what a link points to
		if err == nil && info.Mode().IsRegular() {
			note(path, info)
		}
		return err
	}); err != nil || files > mostFiles {
		return
	}
	p.of = of
	var f probeFile
	raw, err := os.ReadFile(p.path)
	if err != nil || json.Unmarshal(raw, &f) != nil || f.Of != of {
		return
	}
	for _, v := range f.Probes {
		if len(v) != dim {
			return
		}
	}
	p.vectors = &f.Probes
}

// save writes the vectors unless the file has them.
func (p *probes) save(vectors [4][]float32) {
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
