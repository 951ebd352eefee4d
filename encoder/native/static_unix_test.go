//go:build unix

package native

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/lexsem/lexsem/encoder"
	"github.com/lexsem/lexsem/internal/safetensors/safetensorstest"
	"github.com/lexsem/lexsem/internal/snapshot"
)

// The table of a static model is mapped: a file that takes its place changes nothing, and one that is cut is an error.
func TestStaticFileChanges(t *testing.T) {
	vocab, table := staticTable()
	f := safetensorstest.New(nil)
	f.AddBF16("embeddings", table, len(vocab), 3)
	dir := staticFolder(t, "", f, map[string]string{fileConfig: `{"model_type":"model2vec"}`})
	e := open(t, dir, Options{})
	path := filepath.Join(dir, fileSafetensors)
	whole, aside := encode(t, e, encoder.Query, []string{"red"}, encoder.NeedDense)[0].Dense, path+".old"
	if err := os.Rename(path, aside); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if got := encode(t, e, encoder.Query, []string{"red"}, encoder.NeedDense)[0].Dense; got[0] != whole[0] || got[1] != whole[1] || got[2] != whole[2] {
		t.Errorf("%v after the file was replaced, %v before", got, whole)
	}
	if err := os.Truncate(aside, 0); err != nil {
		t.Fatal(err)
	}
	if _, err := e.Encode(t.Context(), encoder.Query, encoder.Texts("red"), encoder.NeedDense); !errors.Is(err, ErrModel) || errors.Is(err, snapshot.ErrDamaged) {
		t.Errorf("of a file that was cut: %v", err)
	}
}
