package models

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/lexsem/lexsem/internal/provision"
	"github.com/lexsem/lexsem/internal/testkit/encoders"
)

// TestFolderRemembered: the name that a database has of a model opens the folder again that it was last opened from, also
// with weights of one byte and as a static model; in another cache, and without the folder, the name is unknown.
func TestFolderRemembered(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "mine")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	encoders.NewTiny(1, encoders.Tiny{Positions: 64}).Write(t, dir)
	o := Options{CacheDir: t.TempDir(), Offline: true, Backend: BackendNative}
	open := func(name string) (string, error) {
		enc, err := Open(t.Context(), name, o)
		if err != nil {
			return "", err
		}
		defer enc.Close()
		return Of(enc.Fingerprint()), nil
	}
	var names []string
	for _, given := range []string{dir, dir + "-int8", "static:" + dir} {
		stored, err := open(given)
		if err != nil || strings.Contains(stored, string(filepath.Separator)) {
			t.Fatalf("%s: %s, %v", given, stored, err)
		}
		again, err := open(stored)
		if err != nil || again != stored {
			t.Errorf("%s: the database's name %s opens %s, %v", given, stored, again, err)
		}
		names = append(names, stored)
	}
	kept := o.CacheDir
	o.CacheDir = t.TempDir()
	if _, err := open(names[0]); !errors.Is(err, provision.ErrUnknownModel) {
		t.Errorf("another cache: %v", err)
	}
	o.CacheDir = kept
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	if _, err := open(names[0]); !errors.Is(err, provision.ErrUnknownModel) {
		t.Errorf("without the folder: %v", err)
	}
}
