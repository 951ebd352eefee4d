// Package testmodel gives tests models in folders, together with cases recorded from a reference
// implementation. Start with [Unpack], then [Cases]. [Edited] copies a folder and changes one file.
package testmodel

import (
	"archive/tar"
	"compress/gzip"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

// Unpack unpacks a .tar.gz of folders and returns the path of each by its last name.
func Unpack(t testing.TB, archive io.Reader) map[string]string {
	t.Helper()
	z, err := gzip.NewReader(archive)
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

// Cases returns those in a folder's cases.json, which must have at least n.
func Cases[Case any](t testing.TB, dir string, n int) (out []Case) {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(dir, "cases.json"))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(b, &out); err != nil || len(out) < n {
		t.Fatalf("%d cases, %v", len(out), err)
	}
	return out
}

// Edited copies a folder and replaces the content of one file by the result of change; nil removes
// the file.
func Edited(t testing.TB, dir, name string, change func(b []byte) []byte) string {
	t.Helper()
	out := t.TempDir()
	if err := os.CopyFS(out, os.DirFS(dir)); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(out, name)
	b, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	if b = change(b); b == nil {
		err = os.Remove(path)
	} else {
		err = os.WriteFile(path, b, 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
	return out
}
