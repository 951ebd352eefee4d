package encodertest

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	_ "embed"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"
)

//go:embed testdata/crosses.tar.gz
var crosses []byte

// Crosses unpacks tiny cross-encoders with random weights, as model hubs have them, by
// model_type: what testdata/record_crosses.py recorded. That of bert has a model.onnx, too.
func Crosses(t testing.TB) map[string]string {
	t.Helper()
	z, err := gzip.NewReader(bytes.NewReader(crosses))
	if err != nil {
		t.Fatal(err)
	}
	root, out := t.TempDir(), map[string]string{}
	for r := tar.NewReader(z); ; {
		h, err := r.Next()
		if err == io.EOF {
			return out
		}
		if err != nil {
			t.Fatal(err)
		}
		b, readErr := io.ReadAll(r)
		path := filepath.Join(root, filepath.FromSlash(h.Name))
		if err := errors.Join(readErr, os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, b, 0o644)); err != nil {
			t.Fatal(err)
		}
		out[filepath.Base(filepath.Dir(path))] = filepath.Dir(path)
	}
}

// CrossCase is a query, texts, and the reference's logits of the pairs.
type CrossCase struct {
	Query  string
	Texts  []string
	Logits []float64
}

// CrossCases are those of a folder that Crosses unpacked.
func CrossCases(t testing.TB, dir string) []CrossCase {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(dir, "cases.json"))
	if err != nil {
		t.Fatal(err)
	}
	var out []CrossCase
	if err := json.Unmarshal(b, &out); err != nil || len(out) < 4 {
		t.Fatalf("%d cases, %v", len(out), err)
	}
	return out
}
