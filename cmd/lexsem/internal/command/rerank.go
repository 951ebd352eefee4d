package command

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/lexsem/lexsem/encoder"
	"github.com/lexsem/lexsem/encoder/models"
	"github.com/lexsem/lexsem/encoder/native"
	"github.com/lexsem/lexsem/encoder/onnx"
	"github.com/lexsem/lexsem/engine"
	"github.com/lexsem/lexsem/engine/rerank"
	"github.com/lexsem/lexsem/internal/modelname"
	"github.com/lexsem/lexsem/internal/provision"
	"github.com/lexsem/lexsem/internal/secret"
)

// rerankNone turns the second stage off even if the variable names a reranker.
const rerankNone = "none"

// rerankFlags are the flags that name a second stage.
type rerankFlags struct {
	where, model *string
	depth        *int
}

func declareRerank(f *flags) rerankFlags {
	r := rerankFlags{
		where: f.str("rerank", "", "`WHERE`second stage that reorders the first hits: the folder of a cross-encoder, or the URL of a reranking server; none for no second stage; the key of a server is in "+rerank.KeyVariable),
		model: f.str("rerank-model", "", "`NAME`model of the server, which must speak the API of Cohere and Jina; default that of Text Embeddings Inference"),
		depth: f.int("rerank-depth", 0, fmt.Sprintf("hits that the second stage reads; default %d", engine.DefaultRerank)),
	}
	f.checks = append(f.checks, r.check)
	return r
}

func (r rerankFlags) check() error {
	switch {
	case *r.depth < 0 || *r.depth > engine.MaxRerank:
		return hinted(usagef("--rerank-depth %d: use a number from 1 to %d", *r.depth, engine.MaxRerank), "--rerank none switches reranking off")
	case *r.model != "" && !isURL(*r.where):
		return hinted(usagef("--rerank-model %s needs a reranking server", *r.model), "name the server with --rerank http://HOST:PORT/rerank")
	case *r.depth > 0 && !r.given():
		return hinted(usagef("--rerank-depth %d without a reranker", *r.depth), "name one with --rerank")
	}
	return nil
}

// given reports whether a reranker is named; commands without these flags name none.
func (r rerankFlags) given() bool { return r.where != nil && *r.where != "" && *r.where != rerankNone }

func isURL(s string) bool {
	return strings.HasPrefix(s, "http://") || strings.HasPrefix(s, "https://")
}

// reranker opens the reranker that the flags name; nil if they name none. The caller calls
// close after the last search.
func (a *app) reranker(ctx context.Context, r rerankFlags) (_ engine.Reranker, close func() error, err error) {
	switch {
	case !r.given():
		return nil, func() error { return nil }, nil
	case !isURL(*r.where):
		c, err := a.openCross(ctx, *r.where)
		if err != nil {
			return nil, nil, err
		}
		return c, c.Close, nil
	case a.offline:
		return nil, nil, hinted(fmt.Errorf("%w: %s is a server, and --offline opens no connection", rerank.ErrServer, secret.URL(*r.where)),
			"leave out --offline and LEXSEM_OFFLINE, or name the folder of a cross-encoder")
	}
	s, err := rerank.New(rerank.Options{URL: *r.where, Model: *r.model})
	if err != nil {
		return nil, nil, usagef("--rerank: %v", err)
	}
	return s, func() error { return nil }, nil
}

// cross is a cross-encoder in a folder, run by any backend.
type cross interface {
	engine.Reranker
	Close() error
}

// openCross opens the cross-encoder in dir. As with other models, ONNX Runtime runs it if
// the library is present and the folder has a graph; otherwise Go does.
func (a *app) openCross(ctx context.Context, dir string) (cross, error) {
	if info, err := os.Stat(dir); err != nil || !info.IsDir() {
		return nil, hinted(usagef("--rerank %s is neither a folder nor a URL", secret.URL(dir)), "name the folder of a cross-encoder, or a server as http://HOST:PORT/rerank")
	}
	graph := modelname.HasGraph(dir)
	if a.backend == models.BackendONNX && (!graph || !modelname.CGO) {
		if !modelname.CGO {
			return nil, modelError(models.ErrNoCGO)
		}
		return nil, hinted(fmt.Errorf("%w: %s has no model.onnx", encoder.ErrUnavailable, dir), "leave out --backend onnx and LEXSEM_BACKEND: the model can run in Go")
	}
	library := ""
	if graph {
		p := a.progress()
		defer p.done()
		var err error
		if library, err = provision.Library(ctx, a.modelOptions(p).Request("")); err != nil {
			return nil, modelError(err)
		}
	}
	if library == "" || a.modelOptions(nil).InGo() && hasWeights(dir) {
		c, err := native.OpenCross(ctx, dir, native.Options{})
		if err == nil {
			return c, nil
		}
		if library == "" || !errors.Is(err, native.ErrModel) {
			if graph && errors.Is(err, native.ErrModel) {
				err = hinted(err, "`lexsem setup --backend onnx` fetches ONNX Runtime, which runs its model.onnx")
			}
			return nil, err
		}
	}
	c, err := onnx.OpenCross(ctx, dir, onnx.Options{Library: library})
	if err != nil {
		return nil, err
	}
	return c, nil
}

// hasWeights reports whether the model in dir has weights that Go can run.
func hasWeights(dir string) bool {
	_, err := os.Stat(filepath.Join(dir, "model.safetensors"))
	return err == nil
}
