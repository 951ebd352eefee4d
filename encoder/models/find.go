package models

import (
	"context"
	"errors"
	"fmt"
	"runtime"

	"github.com/lexsem/lexsem/encoder"
	"github.com/lexsem/lexsem/encoder/native"
	"github.com/lexsem/lexsem/encoder/onnx"
	"github.com/lexsem/lexsem/internal/modelname"
	"github.com/lexsem/lexsem/internal/provision"
)

// Model is a model that is on this machine: a registered one, or one in a folder.
type Model struct {
	provision.Result
	name      string // as Find was given it, or the folder that was remembered for it
	o         Options
	request   provision.Request
	precision string
}

// Find brings a model onto this machine, and its runtime if the options ask for it. Errors:
// those of Open.
func Find(ctx context.Context, name string, o Options) (*Model, error) {
	if teacher, ok := modelname.Static(name); ok {
		return findStatic(ctx, teacher, o)
	}
	name = o.folderOf(ctx, name)
	if teacher, ok := modelname.Static(name); ok {
		m, err := findStatic(ctx, teacher, o)
		if err == nil {
			m.name = name
		}
		return m, err
	}
	m := &Model{name: name, o: o, precision: native.FP32}
	file, inBytes := modelname.Int8(name)
	m.request = o.Request(file)
	if inBytes {
		m.precision, m.request.Runtime = native.Int8, provision.RuntimeNone
	}
	if r, ok := modelname.Registered(file); ok && !r.HasGraph() {
		m.request.Runtime = provision.RuntimeNone
	}
	switch {
	case o.Backend == BackendONNX && inBytes:
		return nil, fmt.Errorf("%w: %s is run in Go alone", ErrName, name)
	case o.Backend == BackendONNX && !modelname.CGO:
		return nil, ErrNoCGO
	case m.request.Runtime == provision.RuntimeNone && !o.Offline && needsRuntime(file):
		return nil, fmt.Errorf("%s: %w", name, ErrRuntime)
	}
	var err error
	if m.Result, err = provision.Ensure(ctx, m.request); err != nil {
		return nil, err
	}
	return m, nil
}

// Backend returns the backend that will run the model, as far as it is known before Open.
func (m *Model) Backend() string {
	if m.Library != "" && modelname.HasGraph(m.ModelDir) {
		return BackendONNX
	}
	return BackendNative
}

// Open opens the model. It uses ONNX Runtime if the library is on this machine, the model has a graph
// and many texts are to be encoded; else it runs the model in Go. If Go cannot run the model, the
// library is fetched, unless the options forbid it. It also returns the backend in use.
func (m *Model) Open(ctx context.Context) (enc encoder.Encoder, backend string, err error) {
	if enc, backend, err = m.open(ctx); err == nil {
		m.o.remember(enc, m.name)
	}
	return enc, backend, err
}

func (m *Model) open(ctx context.Context) (encoder.Encoder, string, error) {
	graph := modelname.HasGraph(m.ModelDir)
	if !graph && m.o.Backend == BackendONNX {
		return nil, "", fmt.Errorf("%s: %w", m.ModelDir, ErrNoGraph)
	}
	library := m.Library
	if library == "" || !graph || m.o.InGo() {
		e, err := native.Open(ctx, m.ModelDir, native.Options{Precision: m.precision, Late: m.o.Brief || m.o.Late, Probes: m.o.probes(m.ModelDir, m.precision)})
		if err == nil {
			return e, BackendNative, nil
		}
		if !graph || !errors.Is(err, native.ErrModel) || library == "" && m.request.Runtime != provision.RuntimeAtHand {
			return nil, "", err
		}
		if library == "" {
			r := m.request
			r.Runtime = provision.RuntimeFetched
			more, failed := provision.Ensure(ctx, r)
			if failed != nil {
				return nil, "", errors.Join(err, failed)
			}
			library = more.Library
		}
	}
	e, err := onnx.Open(ctx, m.ModelDir, onnx.Options{Library: library, Late: m.o.Late, Probes: m.o.probes(m.ModelDir, m.precision+"-onnx")})
	if err != nil {
		return nil, "", err
	}
	return e, BackendONNX, nil
}

// InGo reports whether a model is run in Go although ONNX Runtime could run it, because Go
// starts sooner.
func (o Options) InGo() bool {
	return o.Brief && (o.Backend == BackendAuto || o.Backend == "") && runtime.GOARCH == "amd64"
}

// needsRuntime reports whether only ONNX Runtime runs a registered model.
func needsRuntime(name string) bool {
	m, ok := modelname.Registered(name)
	return ok && m.Spec.Precision != "fp32"
}
