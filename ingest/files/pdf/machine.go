package pdf

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"sync"

	"github.com/klippa-app/go-pdfium"
	"github.com/klippa-app/go-pdfium/webassembly"
	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/experimental"
)

// PDFs are read by PDFium, compiled to WebAssembly. It runs in a machine without access
// to files and network, with bounded memory, and can be stopped at any moment, so a
// hostile file can do no harm. It is compiled when the first PDF is read, which takes
// some seconds of a core; the result is cached in the user's cache folder.

// maxMemory is the most memory that reading one PDF may take, in bytes.
const maxMemory = 176 << 20

// oneBlock is the memory of a machine as one block; only its used parts are resident. Memory that grows
// by copying would take four times as much, since the copies are garbage for a while.
type oneBlock struct{ b []byte }

// Reallocate implements experimental.LinearMemory.
func (m *oneBlock) Reallocate(size uint64) []byte {
	if size > maxMemory {
		return nil
	}
	if m.b == nil {
		m.b = make([]byte, maxMemory)
	}
	return m.b[:size]
}

// Free implements experimental.LinearMemory.
func (m *oneBlock) Free() { m.b = nil }

// starting is a start of the machines in progress.
type starting struct {
	done chan struct{} // closed at its end
	pool pdfium.Pool
	err  error
}

var started struct {
	sync.Mutex
	start *starting // the last one, nil if that has failed
}

// machines returns the machines, and starts them if necessary. A start continues when a
// caller's context ends, since others may wait for it.
func machines(ctx context.Context) (pdfium.Pool, error) {
	started.Lock()
	start := started.start
	if start == nil {
		start = &starting{done: make(chan struct{})}
		started.start = start
		go func() {
			if start.pool, start.err = begin(); start.err != nil {
				started.Lock()
				started.start = nil
				started.Unlock()
			}
			close(start.done)
		}()
	}
	started.Unlock()
	select {
	case <-start.done:
		return start.pool, start.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func begin() (pdfium.Pool, error) {
	config := wazero.NewRuntimeConfig().
		WithCoreFeatures(api.CoreFeaturesV2 | experimental.CoreFeaturesExceptionHandling). // PDFium needs them
		WithCloseOnContextDone(true).
		WithMemoryLimitPages(maxMemory >> 16)
	if dir, err := cacheFolder(); err == nil { // else it is compiled in each process
		if cache, err := wazero.NewCompilationCacheWithDir(dir); err == nil {
			config = config.WithCompilationCache(cache)
		}
	}
	inOneBlock := experimental.MemoryAllocatorFunc(func(_, _ uint64) experimental.LinearMemory { return &oneBlock{} })
	pool, err := webassembly.Init(webassembly.Config{
		Context:       experimental.WithMemoryAllocator(context.Background(), inOneBlock),
		MaxTotal:      runtime.GOMAXPROCS(0),
		FSConfig:      wazero.NewFSConfig(), // no files
		RuntimeConfig: config,
		Stdout:        io.Discard,
		Stderr:        io.Discard,
	})
	if err != nil {
		return nil, fmt.Errorf("the PDF reader does not start: %w", err)
	}
	return pool, nil
}

// cacheFolder is the folder for compiled code, next to that of the models.
func cacheFolder() (string, error) {
	dir := os.Getenv("LEXSEM_CACHE")
	if dir == "" {
		user, err := os.UserCacheDir()
		if err != nil {
			return "", err
		}
		dir = filepath.Join(user, "lexsem")
	}
	return filepath.Join(dir, "pdfium"), nil
}
