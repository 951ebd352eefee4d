package folder_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/lexsem/lexsem/encoder"
	"github.com/lexsem/lexsem/engine"
	"github.com/lexsem/lexsem/ingest/folder"
	"github.com/lexsem/lexsem/internal/testkit/encoders"
)

// Of a folder with both a database of images takes the images, and one of texts the rest; what is gone
// is removed.
func TestImages(t *testing.T) {
	dir := t.TempDir()
	for i, in := range encoders.Images(t, 20) {
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("red-boat_%d.bmp", i)), in.Data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "notes.txt"), []byte("notes"), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		enc  encoder.Encoder
		want int
	}{{encoders.NewPixels(24), 20}, {encoder.NewHash(16), 1}} {
		e, err := engine.Open(t.Context(), t.TempDir(), c.enc, engine.Options{VisualWords: 64})
		if err != nil {
			t.Fatal(err)
		}
		defer e.Close()
		f, err := folder.Open(t.Context(), e, dir, folder.Options{})
		if err != nil {
			t.Fatal(err)
		}
		r, err := f.Sync(t.Context())
		if err != nil || r.Added != c.want || len(r.Failed) > 0 {
			t.Fatalf("%+v, %v", r, err)
		}
		if c.want == 1 {
			continue
		}
		b, err := os.ReadFile(filepath.Join(dir, "red-boat_7.bmp"))
		if err != nil {
			t.Fatal(err)
		}
		found, err := e.Search(t.Context(), engine.Query{Image: b, Mode: engine.ModeLexical, K: 1})
		if err != nil || found.Hits[0].ID != "red-boat_7.bmp" || found.Hits[0].Title != "red boat 7" {
			t.Errorf("%+v, %v", found.Hits, err)
		}
		if err := os.Remove(filepath.Join(dir, "red-boat_7.bmp")); err != nil {
			t.Fatal(err)
		}
		if r, err := f.Sync(t.Context()); err != nil || r.Removed != 1 || r.Unchanged != 19 {
			t.Errorf("%+v, %v", r, err)
		}
		// One that is no image any more stays, and is named.
		if err := os.WriteFile(filepath.Join(dir, "red-boat_8.bmp"), []byte("no image"), 0o644); err != nil {
			t.Fatal(err)
		}
		r, err = f.Sync(t.Context())
		var stale *folder.StaleError
		if err != nil || r.Removed > 0 || len(r.Failed) != 1 || !errors.As(r.Failed[0], &stale) || stale.Documents != 1 {
			t.Errorf("%+v, %v", r, err)
		}
	}
}
