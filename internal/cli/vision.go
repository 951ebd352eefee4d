package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/lexsem/lexsem/encoder"
	"github.com/lexsem/lexsem/encoder/onnx"
	"github.com/lexsem/lexsem/encoder/picture"
	"github.com/lexsem/lexsem/encoder/provision"
	"github.com/lexsem/lexsem/engine"
	"github.com/lexsem/lexsem/internal/regular"
)

// isVision says whether a model is a folder of a vision transformer.
func isVision(model string) bool {
	_, errPixels := os.Stat(filepath.Join(model, picture.ConfigFile))
	_, errTokens := os.Stat(filepath.Join(model, "tokenizer.json"))
	_, errTower := os.Stat(filepath.Join(model, "vision_model.onnx"))
	return errPixels == nil && (errTower == nil || errors.Is(errTokens, os.ErrNotExist))
}

// openVision opens an encoder of images, which ONNX Runtime alone runs.
func (a *app) openVision(ctx context.Context, dir string) (encoder.Encoder, error) {
	if !hasCGO || a.backend == backendNative {
		return nil, hinted(fmt.Errorf("%w: vision transformers are run by ONNX Runtime alone", encoder.ErrUnavailable),
			"use a program built with cgo, and no --backend native")
	}
	p := a.progress()
	defer p.done()
	r := a.request(dir, p)
	r.Runtime = provision.RuntimeFetched
	library, err := provision.Library(ctx, r.Request)
	if err != nil {
		return nil, err
	}
	return onnx.OpenImages(ctx, dir, onnx.Options{Library: library})
}

// readImage reads the file of an image.
func readImage(a *app, name string) ([]byte, error) {
	if name != "-" {
		return regular.ReadFile(name, engine.MaxImageBytes)
	}
	b, err := io.ReadAll(io.LimitReader(a.Stdin, engine.MaxImageBytes+1))
	if err == nil && len(b) > engine.MaxImageBytes {
		err = fmt.Errorf("standard input: %w: more than %d bytes", regular.ErrTooLarge, engine.MaxImageBytes)
	}
	return b, err
}
