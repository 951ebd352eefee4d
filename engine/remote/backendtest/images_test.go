package backendtest_test

import (
	"errors"
	"path/filepath"
	"testing"

	"github.com/lexsem/lexsem/engine"
	"github.com/lexsem/lexsem/engine/remote"
	"github.com/lexsem/lexsem/engine/remote/backendtest"
	"github.com/lexsem/lexsem/internal/testkit/encoders"
)

// TestImagesStayEmbedded: an engine elsewhere keeps no files and no codebook, so images are
// refused before anything is made there.
func TestImagesStayEmbedded(t *testing.T) {
	enc := encoders.NewPixels(24)
	e, err := engine.Open(t.Context(), t.TempDir(), enc, engine.Options{VisualWords: 64})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	var there backendtest.Memory
	if _, err := remote.MigrateTo(t.Context(), e, &there, remote.MigrateOptions{Mark: filepath.Join(t.TempDir(), "mark")}); !errors.Is(err, engine.ErrInvalid) {
		t.Errorf("migration: %v", err)
	}
	if _, err := remote.Over(t.Context(), &there, enc, remote.Options{Create: true}); !errors.Is(err, engine.ErrInvalid) {
		t.Errorf("in front: %v", err)
	}
	if there.Created != 0 {
		t.Error("something was made there")
	}
}
