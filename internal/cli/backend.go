package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/lexsem/lexsem/encoder"
	"github.com/lexsem/lexsem/encoder/native"
	"github.com/lexsem/lexsem/encoder/onnx"
	"github.com/lexsem/lexsem/encoder/provision"
)

// What runs a model: ONNX Runtime, or Go. Their vectors are of one space.
const (
	backendAuto   = "auto"
	backendONNX   = "onnx"
	backendNative = "native"
)

// errNoCGO answers before anything is fetched that could not be used.
var errNoCGO = hinted(fmt.Errorf("%w: this program was built without cgo and cannot use ONNX Runtime", encoder.ErrUnavailable),
	"leave out --backend onnx and LEXSEM_BACKEND, or build it with CGO_ENABLED=1 and a C compiler on PATH")

// checkBackend refuses a name that --backend does not take.
func (g *globals) checkBackend() error {
	switch g.backend {
	case backendAuto, backendONNX, backendNative:
		return nil
	}
	return usagef("backend %q: use auto, onnx or native", g.backend)
}

// runtime says whether the library of ONNX Runtime is looked for, and fetched.
func (g *globals) runtime() provision.Runtime {
	switch {
	case g.backend == backendONNX:
		return provision.RuntimeFetched
	case g.backend == backendNative || !hasCGO:
		return provision.RuntimeNone
	}
	return provision.RuntimeAtHand
}

// wanted is a model and how it is run.
type wanted struct {
	provision.Request
	precision string // native.FP32 or native.Int8
}

// splitPrecision returns the model whose file is to be had for a name that
// --model takes, and the precision that it is run in: NAME-int8 is NAME with
// weights of a byte, unless a model or a folder is called so.
func splitPrecision(model string) (file, precision string) {
	base := len(model) - len(native.Int8Suffix)
	if base <= 0 || !strings.EqualFold(model[base:], native.Int8Suffix) {
		return model, native.FP32
	}
	for _, m := range provision.Models() {
		if strings.EqualFold(m.Spec.Model, model) {
			return model, native.FP32
		}
	}
	if _, err := os.Stat(model); err == nil {
		return model, native.FP32
	}
	return model[:base], native.Int8
}

// ensure brings the model onto this machine, and what runs it as far as
// --backend asks for that.
func (a *app) ensure(ctx context.Context, r wanted) (provision.Result, error) {
	switch {
	case a.backend == backendONNX && r.precision == native.Int8:
		return provision.Result{}, usagef("model %s%s is run in Go alone; leave out --backend onnx and LEXSEM_BACKEND", r.Model, native.Int8Suffix)
	case a.backend == backendONNX && !hasCGO:
		return provision.Result{}, errNoCGO
	}
	if r.Runtime == provision.RuntimeNone && !r.Offline && needsONNX(r.Model) {
		return provision.Result{}, hinted(fmt.Errorf("%w: model %s is run by ONNX Runtime alone", encoder.ErrUnavailable, r.Model),
			"use the model without -q, or a program built with cgo and no --backend native")
	}
	res, err := provision.Ensure(ctx, r.Request)
	if err != nil {
		return res, modelError(err)
	}
	return res, nil
}

// needsONNX tells of a registered model whether only ONNX Runtime runs it.
func needsONNX(model string) bool {
	return slices.ContainsFunc(provision.Models(), func(m provision.Model) bool {
		return strings.EqualFold(m.Spec.Model, model) && m.Spec.Precision != "fp32"
	})
}

// openModel opens the model that r brought here: with ONNX Runtime where its
// library is at hand, the model has a graph and many texts are to be encoded, else in
// Go. A model that Go cannot run is a reason to fetch the library, unless --backend says
// otherwise. It returns what runs the model.
func (a *app) openModel(ctx context.Context, r wanted, res provision.Result) (enc encoder.Encoder, backend string, err error) {
	graph := hasGraph(res.ModelDir)
	if !graph && a.backend == backendONNX {
		return nil, "", hinted(fmt.Errorf("%w: %s has no model.onnx, and none can be made of its weights", encoder.ErrUnavailable, res.ModelDir),
			"leave out --backend onnx and LEXSEM_BACKEND: the model may run in Go")
	}
	if res.Library == "" || !graph || a.brief() {
		e, err := native.Open(ctx, res.ModelDir, native.Options{Precision: r.precision})
		if err == nil {
			return e, backendNative, nil
		}
		if !graph || !errors.Is(err, native.ErrModel) || res.Library == "" && r.Runtime != provision.RuntimeAtHand {
			return nil, "", err
		}
		if res.Library == "" {
			r.Runtime = provision.RuntimeFetched
			var more error
			if res, more = provision.Ensure(ctx, r.Request); more != nil {
				return nil, "", errors.Join(err, modelError(more))
			}
		}
	}
	e, err := onnx.Open(ctx, res.ModelDir, onnx.Options{Library: res.Library})
	if err != nil {
		return nil, "", err
	}
	return e, backendONNX, nil
}

// brief says that a text or two are encoded, and that Go does so before ONNX Runtime
// has started: on amd64, whose kernels it has. Vectors of both are of one space.
func (a *app) brief() bool {
	return a.few && a.backend == backendAuto && runtime.GOARCH == "amd64"
}

// hasGraph reports whether the model in dir has what ONNX Runtime runs.
func hasGraph(dir string) bool {
	_, err := os.Stat(filepath.Join(dir, "model.onnx"))
	return err == nil
}

// backendWords says in words what runs a model.
func backendWords(backend string) string {
	if backend == backendONNX {
		return "ONNX Runtime"
	}
	return "Go, without ONNX Runtime"
}

// lacksLibraryOnly reports whether err says that the library of ONNX Runtime is
// missing and nothing else.
func lacksLibraryOnly(err error) bool {
	var m *provision.MissingError
	return errors.As(err, &m) && len(m.Missing) == 1 && m.Missing[0].Artifact == provision.LibraryArtifact
}
