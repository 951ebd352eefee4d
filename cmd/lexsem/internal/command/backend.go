package command

import (
	"context"
	"errors"
	"fmt"

	"github.com/lexsem/lexsem/encoder"
	"github.com/lexsem/lexsem/encoder/models"
	"github.com/lexsem/lexsem/internal/provision"
)

// checkBackend refuses a name that --backend does not take.
func (g *globals) checkBackend() error {
	switch g.backend {
	case models.BackendAuto, models.BackendONNX, models.BackendNative:
		return nil
	}
	return usagef("backend %q: use auto, onnx or native", g.backend)
}

// openEncoder opens a model by its name, and brings it onto this machine if it is not there.
func (a *app) openEncoder(ctx context.Context, model string) (encoder.Encoder, error) {
	if model == modelNone {
		return nil, errVectorsAlone
	}
	if a.tokenLimit < 0 {
		return nil, usagef("--token-limit %d: use a positive number", a.tokenLimit)
	}
	p := a.progress()
	defer p.done()
	enc, err := models.Open(ctx, model, a.modelOptions(p))
	if err != nil {
		return nil, modelError(err)
	}
	return enc, nil
}

// modelOptions returns the options for opening a model, from the global flags.
func (a *app) modelOptions(p *progress) models.Options {
	o := models.Options{
		Backend: a.backend, Brief: a.few, Late: a.name == "index", Library: a.library, CacheDir: a.cache, Offline: a.offline,
		TokenLimit: int64(a.tokenLimit), Getenv: a.Getenv,
		Progress: func(e provision.Event) {
			if e.Done {
				p.done()
				return
			}
			if e.Route == provision.RouteMade {
				p.update(step{stage: "making " + e.Artifact, done: int(e.Bytes), total: int(e.Total), unit: "tokens"})
				return
			}
			p.update(step{stage: "fetching " + e.Artifact, done: int(e.Bytes >> 10), total: int(e.Total >> 10), unit: "KiB", note: "by " + e.Route})
		},
	}
	if !a.quiet {
		o.Log = func(line string) {
			p.done()
			fmt.Fprintln(a.Stderr, line)
		}
	}
	return o
}

// modelHints are the remedies for errors of models, in terms of command-line flags.
var modelHints = map[error]string{
	models.ErrNoCGO:   "leave out --backend onnx and LEXSEM_BACKEND, or build it with CGO_ENABLED=1 and a C compiler on PATH",
	models.ErrNoGraph: "leave out --backend onnx and LEXSEM_BACKEND: the model can run in Go",
	models.ErrRuntime: "use the model without -q, or a program built with cgo and no --backend native",
	models.ErrOffline: "leave out --offline and LEXSEM_OFFLINE, or search with --mode lexical",
}

// modelError adds the remedy to an error of opening a model.
func modelError(err error) error {
	switch {
	case errors.Is(err, provision.ErrUnknownModel):
		return &usageError{msg: err.Error(), hint: "`lexsem setup --list` lists the models"}
	case errors.Is(err, models.ErrName):
		return &usageError{msg: err.Error()}
	}
	for e, hint := range modelHints {
		if errors.Is(err, e) {
			return hinted(err, hint)
		}
	}
	return err
}

// backendWords names the backend of a model in words.
func backendWords(backend string) string {
	if backend == models.BackendONNX {
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
