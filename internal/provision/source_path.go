package provision

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/lexsem/lexsem/internal/modelspec"
	"github.com/lexsem/lexsem/internal/regular"
	"github.com/lexsem/lexsem/internal/transformer"
)

// The path source copies the files of a folder that the user named.
var _ = registerSource("path", func(ctx context.Context, s *session, t transfer) error {
	for _, f := range t.pkg.Files {
		if err := copyInto(ctx, filepath.Join(t.pkg.Name, f.Member), f, t.dir); err != nil {
			return err
		}
	}
	return nil
})

func copyInto(ctx context.Context, path string, f File, dir string) error {
	r, err := regular.Open(path)
	if err != nil {
		return err
	}
	defer r.Close()
	return store(ctx, r, f, dir)
}

// maxJSONBytes bounds a receipt.
const maxJSONBytes = 1 << 20

// adoptModel uses the model in the folder dir that the user named. A folder with
// model.onnx, tokenizer.json and lexsem-model.json is used in place. So is a folder of
// weights if no graph can be made of them, if it has Dense modules, or if no library is
// wanted. Otherwise the missing files are made in the cache: the description from the
// files of sentence-transformers, and model.onnx from safetensors.
func (s *session) adoptModel(ctx context.Context, dir string) (Provenance, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return Provenance{}, err
	}
	p, err := s.adopt(ctx, abs, filepath.Base(abs))
	if err == nil || ctx.Err() != nil {
		return p, err
	}
	return Provenance{}, &MissingError{Missing: []Missing{{Artifact: abs, Attempts: []Attempt{{"path", err}},
		Remedy: fmt.Sprintf("name a folder with %s and %s, or with %s, %s and %s",
			fileONNX, fileTokenizer, fileSafetensors, fileConfig, fileTokenizer)}}}
}

func (s *session) adopt(ctx context.Context, dir, name string) (Provenance, error) {
	names := []string{fileONNX, fileTokenizer}
	if _, err := os.Stat(filepath.Join(dir, fileONNX)); errors.Is(err, fs.ErrNotExist) {
		names = []string{fileSafetensors, fileConfig, fileTokenizer}
	}
	spec, described, err := s.describe(dir)
	if err != nil {
		return Provenance{}, err
	}
	if names[0] != fileONNX || len(spec.Dense) > 0 || spec.Static != "" || spec.Splade != nil {
		as, err := s.asItIs(dir, spec)
		if err != nil {
			return Provenance{}, err
		}
		if as {
			return Provenance{Artifact: name, Route: "path", Package: dir, Path: dir, Cached: true}, nil
		}
	}
	pkg := Package{Via: "path", Name: dir}
	key := sha256.New() // of all that the folder in the cache is made of
	for _, n := range names {
		sum, err := hashFile(ctx, filepath.Join(dir, n))
		if err != nil {
			return Provenance{}, err
		}
		pkg.Files = append(pkg.Files, File{Member: n, Name: n, SHA256: sum})
		fmt.Fprintln(key, n, sum)
	}
	if described && names[0] == fileONNX {
		return Provenance{Artifact: name, Route: "path", Package: dir, SHA256: pkg.Files[0].SHA256, Path: dir, Cached: true}, nil
	}
	if err := json.NewEncoder(key).Encode(spec); err != nil {
		return Provenance{}, err
	}
	id := fmt.Sprintf("local-%s-%.12x", name, key.Sum(nil))
	pkg.Version = id
	// The export of version 1 omitted heads. Registered models have no head, so their
	// version stays; a user's folder may have one.
	a := artifact{
		name: id, dir: filepath.Join(s.cache, "models", id), main: fileONNX, recipe: recipe(spec) + ", head", packages: []Package{pkg},
		finish: func(ctx context.Context, dir string) error { return completeModel(ctx, dir, spec) },
	}
	p, err := s.make(ctx, a)
	p.Artifact = name
	return p, err
}

// describe returns the description of the model in dir, and whether it is in a
// description file. Choices and assumptions are reported.
func (s *session) describe(dir string) (modelspec.Spec, bool, error) {
	if _, err := os.Lstat(filepath.Join(dir, modelspec.SpecFile)); err == nil {
		spec, err := modelspec.LoadSpec(dir)
		return spec, true, err
	}
	spec, notes, err := modelspec.Describe(dir)
	for _, note := range notes {
		s.report.logf("%s", note)
	}
	return spec, false, err
}

// asItIs reports whether the model in dir is opened in place, without a copy in the
// cache. It returns an error if a required file is missing.
func (s *session) asItIs(dir string, spec modelspec.Spec) (bool, error) {
	_, err := os.Stat(filepath.Join(dir, fileONNX))
	graph := err == nil
	if _, err := os.Stat(filepath.Join(dir, filePacked)); err == nil && !graph || spec.Static != "" || spec.Splade != nil && spec.Splade.Folder != "" {
		return true, nil
	}
	if _, err := os.Stat(filepath.Join(dir, fileTokenizer)); err != nil {
		return false, err
	}
	if graph {
		return len(spec.Dense) > 0, nil
	}
	if _, err := os.Stat(filepath.Join(dir, fileShards)); err == nil {
		return true, nil
	}
	if _, err := os.Stat(filepath.Join(dir, fileSafetensors)); err != nil {
		if _, pickle := os.Stat(filepath.Join(dir, filePickle)); pickle == nil {
			err = fmt.Errorf("%w; %s is not read, since reading it can run code: let transformers write it anew, save_pretrained(%q)", err, filePickle, dir)
		}
		return false, err
	}
	c, err := transformer.Load(filepath.Join(dir, fileConfig))
	if errors.Is(err, transformer.ErrConfig) { // the encoder says why it cannot run it, if it cannot
		return true, nil
	}
	return s.bare || len(spec.Dense) > 0 || spec.Splade != nil || !exportable(c), err
}
