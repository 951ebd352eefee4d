// Package modelname reads the names that encoder/models opens, and says which kind of model a name means. It opens
// nothing. Start with [Hash], [Remote], [Static] and [Int8].
package modelname

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/lexsem/lexsem/internal/modelspec"
	"github.com/lexsem/lexsem/internal/provision"
)

// Err is the error for a name that no model can have.
var Err = errors.New("unusable name of a model")

// Default is the model of a new database if none is named. It runs in Go alone.
const Default = provision.DefaultModel + modelspec.Int8Suffix

// Unnamed returns the model that an empty name means: Default, or in ONNX Runtime the same in float32.
func Unnamed(onnx bool) string {
	if onnx {
		return provision.DefaultModel
	}
	return Default
}

// Hash reports whether name is that of a hash encoder, which needs no model, and returns its
// dimension. "hash" means hash-384.
func Hash(name string) (dim int, ok bool, err error) {
	rest, ok := strings.CutPrefix(name, "hash")
	if !ok || rest != "" && rest[0] != '-' {
		return 0, false, nil
	}
	if rest == "" {
		return 384, true, nil
	}
	dim, err = strconv.Atoi(rest[1:])
	if err != nil || dim < 8 || dim > 4096 {
		return 0, true, fmt.Errorf("%w: %q; use hash-8 to hash-4096", Err, name)
	}
	return dim, true, nil
}

// Prefixes of the names of models that a server runs.
const (
	OpenAI = "openai:"
	Ollama = "ollama:"
)

// Remote reports whether a server runs the model with the given name.
func Remote(name string) bool {
	return strings.HasPrefix(name, OpenAI) || strings.HasPrefix(name, Ollama)
}

// StaticPrefix stands before the name of the teacher.
const StaticPrefix = "static"

// Static reports whether a static model has this name, and returns the name of its teacher. The teacher of "static" is
// provision.DefaultModel.
func Static(name string) (teacher string, ok bool) {
	rest, ok := strings.CutPrefix(name, StaticPrefix)
	if !ok || rest != "" && rest[0] != ':' {
		return "", false
	}
	return cmp.Or(strings.TrimPrefix(rest, ":"), provision.DefaultModel), true
}

// StaticName returns the name in the fingerprint of the static model with that name: a folder is known by its own name.
func StaticName(name string) string {
	teacher, _ := Static(name)
	file, inBytes := Int8(teacher)
	if r, ok := Registered(file); ok {
		file = r.Spec.Model
	} else if abs, err := filepath.Abs(file); err == nil {
		file = filepath.Base(abs)
	}
	if inBytes {
		file += modelspec.Int8Suffix
	}
	return StaticPrefix + ":" + file
}

// Int8 returns the model of a name that ends with modelspec.Int8Suffix, unless a model or a
// folder has that whole name.
func Int8(name string) (file string, inBytes bool) {
	base := len(name) - len(modelspec.Int8Suffix)
	if base <= 0 || !strings.EqualFold(name[base:], modelspec.Int8Suffix) {
		return name, false
	}
	if _, registered := Registered(name); registered {
		return name, false
	}
	if _, err := os.Stat(name); err == nil {
		return name, false
	}
	return name[:base], true
}

// Registered returns the registered model with a name.
func Registered(name string) (m provision.Model, ok bool) {
	all := provision.Models()
	i := slices.IndexFunc(all, func(m provision.Model) bool { return strings.EqualFold(m.Spec.Model, name) })
	if i < 0 {
		return m, false
	}
	return all[i], true
}

// HasGraph reports whether the model in dir has a graph for ONNX Runtime.
func HasGraph(dir string) bool {
	_, err := os.Stat(filepath.Join(dir, "model.onnx"))
	return err == nil
}
