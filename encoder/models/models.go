// Package models opens an encoder by the name of its model, whatever its location and runtime. Start with
// [Open], which also fetches what is missing. [Find] and [Model.Open] are its two halves, for a caller that
// reports what was fetched before it opens the model. A name is one of
//
//   - a registered model, or a folder as sentence-transformers writes it. If the name ends
//     with "-int8", package native runs the model with weights of one byte.
//   - a folder of a vision transformer
//   - "static" or "static:NAME", a table of vectors that is made once of the model NAME (below)
//   - "NAME+splade:FOLDER", a model of vectors and a model like SPLADE beside it (encoder.WithSparse)
//   - "openai:NAME" or "ollama:NAME", a model that a server runs. "@DIM" at its end gives its dimension.
//   - "hash" or "hash-DIM", which needs no model and is for tests
//
// A static model has a vector for each token, and the vector of a text is their mean. Its table is made of its teacher,
// NAME or else Default in float32, on this machine (internal/distil). That takes MiniLM about ten seconds of a processor, and the
// table is kept in the cache. Encoding then takes microseconds a text. Beside words, a static model is as good as its
// teacher for source code, and weaker for prose. The teacher is any model that runs on this machine and has a
// tokenizer.json, by its name or its folder.
package models

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/lexsem/lexsem/encoder"
	"github.com/lexsem/lexsem/encoder/onnx"
	"github.com/lexsem/lexsem/internal/modelname"
	"github.com/lexsem/lexsem/internal/picture"
	"github.com/lexsem/lexsem/internal/provision"
)

// Default is the model for an empty name: a byte a weight takes half the time of float32 and loses a tenth of a point of
// nDCG@10 at most in the mean. With BackendONNX an empty name means the same model in float32, whose vectors are in another
// space.
const Default = modelname.Default

// Backends that run a model. Their vectors are in one space.
const (
	BackendAuto   = "auto"   // ONNX Runtime if its library is on this machine, else Go
	BackendONNX   = "onnx"   // ONNX Runtime; fetched if missing
	BackendNative = "native" // Go only
)

// Errors about names and backends. All except ErrName and ErrUnknown also wrap encoder.ErrUnavailable.
var (
	ErrName    = modelname.Err
	ErrNoCGO   = fmt.Errorf("%w: this program was built without cgo and cannot use ONNX Runtime", encoder.ErrUnavailable)
	ErrNoGraph = fmt.Errorf("%w: there is no model.onnx, and none can be made of the weights", encoder.ErrUnavailable)
	ErrRuntime = fmt.Errorf("%w: the model is run by ONNX Runtime alone", encoder.ErrUnavailable)
	ErrUnknown = provision.ErrUnknownModel
	ErrOffline = fmt.Errorf("%w: the model is behind a URL, and offline mode opens no connection", encoder.ErrSource)
)

// Event says how much of a file has arrived.
type Event = provision.Event

// MissingError lists where a file was looked for, and why each place failed. It wraps encoder.ErrUnavailable.
type MissingError = provision.MissingError

// Options say where to look for a model and what runs it. The zero value is a good default.
type Options struct {
	Backend string // BackendAuto (or ""), BackendONNX or BackendNative
	Brief   bool   // only a text or two are encoded: on amd64 BackendAuto then runs the model in Go, which starts sooner
	Late    bool   // perhaps no text is encoded: the model is read with the first
	Fetch   bool   // fetch ONNX Runtime also for BackendAuto
	AtHand  bool   // never fetch ONNX Runtime

	Library  string // path of libonnxruntime; "" means that it is searched
	CacheDir string // folder for what is fetched; "" means $LEXSEM_CACHE, else lexsem in os.UserCacheDir
	Offline  bool   // open no connection
	Verify   bool   // hash the files in the cache

	TokenLimit int64               // maximum number of tokens sent to a server; 0 means no limit
	Getenv     func(string) string // reads OPENAI_BASE_URL and OLLAMA_HOST; nil means os.Getenv
	Log        func(line string)   // if not nil, receives messages for a waiting user
	Progress   func(Event)         // if not nil, receives how much has arrived
}

// Open opens the model with the given name and fetches what is missing. The caller closes the encoder.
// Errors: ErrName, ErrUnknown, *MissingError, native.ErrModel, and those above.
func Open(ctx context.Context, name string, o Options) (encoder.Encoder, error) {
	if dense, sparse := encoder.SplitSparse(name); sparse != "" {
		return openSparse(ctx, dense, sparse, o)
	}
	if dim, ok, err := modelname.Hash(name); err != nil {
		return nil, err
	} else if ok {
		return encoder.NewHash(dim), nil
	}
	if modelname.Remote(name) {
		return openRemote(name, o)
	}
	name = o.folderOf(ctx, name)
	if vision(name) {
		enc, err := openVision(ctx, name, o)
		if err == nil {
			o.remember(enc, name)
		}
		return enc, err
	}
	m, err := Find(ctx, name, o)
	if err != nil {
		return nil, err
	}
	enc, _, err := m.Open(ctx)
	return enc, err
}

// openSparse opens a model of vectors and one of words.
func openSparse(ctx context.Context, dense, sparse string, o Options) (_ encoder.Encoder, err error) {
	var both [2]encoder.Encoder
	for i, name := range []string{dense, sparse} {
		if i == 1 {
			o.Backend, o.Log = BackendNative, nil // which alone gives logits of all tokens; its vectors need no note
		}
		if both[i], err = Open(ctx, name, o); err != nil {
			break
		}
		if i == 1 {
			_, err = both[i].Encode(ctx, encoder.Query, encoder.Texts("word"), encoder.NeedLogits)
		}
	}
	if errors.Is(err, encoder.ErrNoLogits) {
		err = fmt.Errorf("%w: %s: %w; after %q comes the folder of a SparseEncoder", ErrName, sparse, err, encoder.SparseMark)
	}
	var enc encoder.Encoder
	if err == nil {
		enc, err = encoder.WithSparse(both[0], both[1])
	}
	if err == nil {
		return enc, nil
	}
	for _, e := range both {
		if e != nil {
			err = errors.Join(err, e.Close())
		}
	}
	return nil, err
}

// Request returns the request to provision for opening the model with that name.
func (o Options) Request(name string) provision.Request {
	r := provision.Request{Model: name, Library: o.Library, CacheDir: o.CacheDir, Offline: o.Offline, Verify: o.Verify, Log: o.Log, Progress: o.Progress}
	switch {
	case o.Backend == BackendNative || !modelname.CGO:
		r.Runtime = provision.RuntimeNone
	case o.AtHand || o.Backend != BackendONNX && !o.Fetch:
		r.Runtime = provision.RuntimeAtHand
	}
	return r
}

// vision reports whether a name is the folder of a vision transformer.
func vision(dir string) bool {
	_, errPixels := os.Stat(filepath.Join(dir, picture.ConfigFile))
	_, errTokens := os.Stat(filepath.Join(dir, "tokenizer.json"))
	_, errTower := os.Stat(filepath.Join(dir, "vision_model.onnx"))
	return errPixels == nil && (errTower == nil || errors.Is(errTokens, os.ErrNotExist))
}

// openVision opens an encoder of images.
func openVision(ctx context.Context, dir string, o Options) (encoder.Encoder, error) {
	if !modelname.CGO || o.Backend == BackendNative {
		return nil, fmt.Errorf("%s: %w", dir, ErrRuntime)
	}
	o.Fetch = true
	library, err := provision.Library(ctx, o.Request(dir))
	if err != nil {
		return nil, err
	}
	return onnx.OpenImages(ctx, dir, onnx.Options{Library: library})
}
