package command

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/lexsem/lexsem/encoder"
	"github.com/lexsem/lexsem/engine"
)

// TestStoredModel: the model of a database is known without its derived state, also where that is damaged, while it is
// open for reading, and of a database that was never written to or that has vectors alone.
func TestStoredModel(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "db")
	want := func(want string) {
		t.Helper()
		if got, err := storedModel(t.Context(), dir); err != nil || got != want {
			t.Errorf("model %q, %v; want %q", got, err, want)
		}
	}
	want("")
	e, err := engine.Open(t.Context(), dir, encoder.NewHash(16), engine.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err = e.Add(t.Context(), []engine.Document{{ID: "a", Text: "the key turns"}}); err != nil {
		t.Fatal(err)
	}
	if _, err := storedModel(t.Context(), dir); !errors.Is(err, engine.ErrLocked) {
		t.Errorf("while it is open for writing: %v", err)
	}
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	want("hash-16")
	if err := os.WriteFile(filepath.Join(dir, "derived", "words.snap"), []byte("no"), 0o600); err != nil {
		t.Fatal(err)
	}
	want("hash-16")
	reader, err := engine.Open(t.Context(), dir, encoder.NewHash(16), engine.Options{ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	want("hash-16")
	if err := reader.Close(); err != nil {
		t.Fatal(err)
	}
	dir = filepath.Join(t.TempDir(), "db")
	if e, err = engine.Open(t.Context(), dir, nil, engine.Options{Dim: 8}); err == nil {
		err = e.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	want(modelNone)
}
