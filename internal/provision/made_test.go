package provision

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
)

// TestMake: a model is made once, by one of those that want it, and again if it is damaged or of another recipe. What
// fails leaves nothing.
func TestMake(t *testing.T) {
	r := Request{CacheDir: t.TempDir(), Offline: true, Verify: true}
	var made atomic.Int32
	get := func(recipe string) (Provenance, error) {
		return Make(t.Context(), r, "static-m", "static:m", "m", recipe, func(_ context.Context, dir string) error {
			made.Add(1)
			return os.WriteFile(filepath.Join(dir, fileSafetensors), []byte(recipe), 0o644)
		})
	}
	failed := errors.New("failed")
	if _, err := Make(t.Context(), r, "static-m", "static:m", "m", "1", func(_ context.Context, dir string) error {
		return errors.Join(failed, os.WriteFile(filepath.Join(dir, fileSafetensors), nil, 0o644))
	}); !errors.Is(err, failed) {
		t.Error(err)
	}
	if _, err := os.Stat(filepath.Join(r.CacheDir, "models", "static-m")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("what failed left a model: %v", err)
	}
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			if p, err := get("1"); err != nil || p.Artifact != "static:m" || p.Route != RouteMade || p.Package != "m" || p.Path == "" {
				t.Errorf("%+v, %v", p, err)
			}
		})
	}
	all.Wait()
	if made.Load() != 1 {
		t.Errorf("made %d times", made.Load())
	}
	want := func(what, recipe string, cached bool, times int32) {
		t.Helper()
		p, err := get(recipe)
		if err != nil || p.Cached != cached || made.Load() != times {
			t.Errorf("%s: %+v, %v, made %d times", what, p, err, made.Load())
		}
		if b, err := os.ReadFile(filepath.Join(p.Path, fileSafetensors)); string(b) != recipe {
			t.Errorf("%s: it holds %q, %v", what, b, err)
		}
	}
	want("again", "1", true, 1)
	want("another recipe", "2", false, 2)
	if err := os.WriteFile(filepath.Join(r.CacheDir, "models", "static-m", fileSafetensors), []byte("x"), 0o644); err != nil {
		t.Fatal(err)
	}
	want("damaged", "2", false, 3)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Make(ctx, r, "other", "static:other", "other", "1", func(ctx context.Context, _ string) error { return ctx.Err() }); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}
