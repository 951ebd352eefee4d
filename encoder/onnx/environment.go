//go:build cgo

package onnx

import (
	"fmt"
	"path/filepath"
	"sync"

	ort "github.com/yalue/onnxruntime_go"
)

// environment is the ONNX Runtime of the process. Once loaded it stays: unloading a
// library that has started threads is not safe.
var environment struct {
	sync.Mutex
	library string // path it was loaded from; "" while it is not
}

// load loads the library at path unless the process already has it.
func load(path string) error {
	if path == "" {
		return unavailable("no path of libonnxruntime was given; name one in Options.Library")
	}
	real, err := filepath.Abs(path)
	if err != nil {
		return unavailable("path of libonnxruntime: %w", err)
	}
	if r, err := filepath.EvalSymlinks(real); err == nil {
		real = r
	}
	environment.Lock()
	defer environment.Unlock()
	switch {
	case environment.library == real:
		return nil
	case environment.library != "":
		return fmt.Errorf("this process already runs ONNX Runtime from %s and cannot load %s too; use one library", environment.library, real)
	case ort.IsInitialized():
		return fmt.Errorf("this process has initialised ONNX Runtime elsewhere; let only one of the two do so")
	}
	ort.SetSharedLibraryPath(real)
	if err := ort.InitializeEnvironment(ort.WithLogLevelError()); err != nil {
		return unavailable("load %s: %w; use libonnxruntime 1.24 or newer, built for this system", real, err)
	}
	environment.library = real
	return nil
}
