package engine_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/lexsem/lexsem/encoder"
	"github.com/lexsem/lexsem/engine"
)

// TestOpenThatFailsLeavesNothing: wherever a first opening ends, by its context or by the encoder, the folder is as it was:
// missing, or as the user made it. A database that was there stays.
func TestOpenThatFailsLeavesNothing(t *testing.T) {
	for what, make := range map[string]func(dir string) error{
		"missing": func(string) error { return nil },
		"empty":   func(dir string) error { return os.Mkdir(dir, 0o700) },
		"disk":    func(dir string) error { return os.MkdirAll(filepath.Join(dir, "lost+found"), 0o700) },
	} {
		t.Run(what, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "db")
			if err := make(dir); err != nil {
				t.Fatal(err)
			}
			names := func() (all []string) {
				filepath.WalkDir(filepath.Dir(dir), func(path string, _ os.DirEntry, _ error) error { all = append(all, path); return nil })
				return all
			}
			before := len(names())
			fails := errors.New("no model")
			refused := engine.Options{OpenEncoder: func(context.Context, encoder.Fingerprint) (encoder.Encoder, error) { return nil, fails }}
			if _, err := engine.Open(t.Context(), dir, nil, refused); !errors.Is(err, fails) || len(names()) != before {
				t.Errorf("without a model: %v, %q", err, names())
			}
			for n := 0; ; n++ {
				if n > 1000 {
					t.Fatal("it never opens")
				}
				e, err := engine.Open(newCountdown(t.Context(), n), dir, hash(t), engine.Options{})
				if err == nil {
					add(t, e, []engine.Document{{ID: "a", Text: "kept"}})
					if err := e.Close(); err != nil {
						t.Fatal(err)
					}
					break
				}
				if !errors.Is(err, context.Canceled) || len(names()) != before {
					t.Fatalf("cancelled at %d: %v, %q", n, err, names())
				}
			}
			if _, err := engine.Open(t.Context(), dir, nil, refused); !errors.Is(err, fails) {
				t.Error(err)
			}
			e := open(t, dir, engine.Options{})
			if n, err := e.Count(t.Context(), engine.Filter{}); n != 1 || err != nil {
				t.Errorf("%d documents, %v", n, err)
			}
		})
	}
}
