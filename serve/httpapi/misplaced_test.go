package httpapi

import (
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/lexsem/lexsem/encoder"
	"github.com/lexsem/lexsem/engine"
)

// Something else in the place of a file of a database is no failure of the server: the answer names it, and not where the
// database is.
func TestMisplaced(t *testing.T) {
	for _, name := range []string{"LEXSEM", "LOCK", "HEAD"} {
		dir := t.TempDir()
		e, err := engine.Open(t.Context(), dir, encoder.NewHash(8), engine.Options{})
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(dir, name)
		if err := errors.Join(e.Close(), os.Remove(path), os.Mkdir(path, 0o700)); err != nil {
			t.Fatal(err)
		}
		_, err = engine.Open(t.Context(), dir, encoder.NewHash(8), engine.Options{})
		if got := errorOf(err); got.Status != http.StatusConflict || got.Code != "foreign" || !strings.Contains(got.Message, name) || strings.Contains(got.Message, dir) {
			t.Errorf("a folder in place of %s: %+v", name, got)
		}
	}
}
