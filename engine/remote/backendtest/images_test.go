package backendtest_test

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/lexsem/lexsem/encoder"
	"github.com/lexsem/lexsem/engine"
	"github.com/lexsem/lexsem/engine/remote"
	"github.com/lexsem/lexsem/engine/remote/backendtest"
	"github.com/lexsem/lexsem/internal/testkit/encoders"
)

// TestImagesStayEmbedded: an engine elsewhere keeps no files and no codebook, so images are
// refused before anything is made there.
func TestImagesStayEmbedded(t *testing.T) {
	refused(t, encoders.NewPixels(24), "images")
}

// TestImpactsStayEmbedded: an engine elsewhere keeps no impacts, so a model with a second one that weighs words is
// refused, with the name of the model that serves.
func TestImpactsStayEmbedded(t *testing.T) {
	enc, err := encoder.WithSparse(encoder.NewHash(24), encoder.NewHash(8))
	if err != nil {
		t.Fatal(err)
	}
	refused(t, enc, "use the model hash-24 alone")
}

func refused(t *testing.T, enc encoder.Encoder, says string) {
	t.Helper()
	e, err := engine.Open(t.Context(), t.TempDir(), enc, engine.Options{VisualWords: 64})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	var there backendtest.Memory
	if _, err := remote.MigrateTo(t.Context(), e, &there, remote.MigrateOptions{Mark: filepath.Join(t.TempDir(), "mark")}); !errors.Is(err, engine.ErrInvalid) || !strings.Contains(err.Error(), says) {
		t.Errorf("migration: %v", err)
	}
	if _, err := remote.Over(t.Context(), &there, enc, remote.Options{Create: true}); !errors.Is(err, engine.ErrInvalid) || !strings.Contains(err.Error(), says) {
		t.Errorf("in front: %v", err)
	}
	if there.Created != 0 {
		t.Error("something was made there")
	}
}
