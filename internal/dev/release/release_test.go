package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/lexsem/lexsem/internal/testkit/trial"
)

var sample = []file{{"top/LICENSE", []byte("terms"), false}, {"top/lexsem", bytes.Repeat([]byte("program"), 1000), true}}

// An archive is the same bytes at every time of the day, and holds what it was given.
func TestArchives(t *testing.T) {
	at := time.Date(2026, 1, 2, 3, 4, 6, 0, time.UTC)
	for name, pack := range map[string]func([]file, time.Time) ([]byte, error){"tar": tarred, "zip": zipped} {
		a, err := pack(sample, at)
		if err != nil {
			t.Fatal(err)
		}
		b, err := pack(sample, at.In(time.FixedZone("far", 5*3600)))
		if err != nil || !bytes.Equal(a, b) {
			t.Errorf("%s: two archives differ, %v", name, err)
		}
	}
	packed, err := tarred(sample, at)
	if err != nil {
		t.Fatal(err)
	}
	z, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil || !z.ModTime.IsZero() || z.Name != "" {
		t.Errorf("gzip: %v, %v, %q", err, z.ModTime, z.Name)
	}
	r := tar.NewReader(z)
	for _, f := range sample {
		h, err := r.Next()
		if err != nil {
			t.Fatal(err)
		}
		data, err := io.ReadAll(r)
		if err != nil || h.Name != f.name || h.Mode != f.mode() || h.Uid != 0 || h.Uname != "" || !h.ModTime.Equal(at) || !bytes.Equal(data, f.data) {
			t.Errorf("%+v, %v", h, err)
		}
	}
	if packed, err = zipped(sample, at); err != nil {
		t.Fatal(err)
	}
	zr, err := zip.NewReader(bytes.NewReader(packed), int64(len(packed)))
	if err != nil || len(zr.File) != 2 || zr.File[1].Name != "top/lexsem" || !zr.File[1].Modified.Equal(at) {
		t.Errorf("zip: %v, %v", zr, err)
	}
}

func TestVersions(t *testing.T) {
	for v, want := range map[string]bool{"1.2.3": true, "0.1.0-rc.1": true, "1.2.3+meta": true, "1.2": false, "v1.2.3": false, "latest": false, "1.2.3 -X a=b": false} {
		if versions.MatchString(v) != want {
			t.Errorf("%q: %v", v, !want)
		}
	}
}

func TestLicencesIn(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "NOTICE"), []byte("by us"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := licencesIn(dir); err == nil {
		t.Error("a module without a licence is released")
	}
	if err := os.WriteFile(filepath.Join(dir, "license.md"), []byte("terms"), 0o644); err != nil {
		t.Fatal(err)
	}
	if texts, err := licencesIn(dir); err != nil || len(texts) != 2 {
		t.Errorf("%q, %v", texts, err)
	}
}

// TestReproducible makes an archive twice, which takes minutes: in long runs alone. The second time everything is
// compiled anew.
func TestReproducible(t *testing.T) {
	if !trial.Long() {
		t.Skip("set LEXSEM_LONG to build a release twice")
	}
	t.Chdir("../../..")
	sums := func(target string) string {
		r := release{ctx: t.Context(), out: t.TempDir(), version: "0.0.1", commit: "0123", at: time.Unix(1e9, 0).UTC()}
		if err := r.make([]string{target}); err != nil {
			t.Fatal(err)
		}
		b, err := os.ReadFile(filepath.Join(r.out, "SHA256SUMS"))
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	first := sums("linux/amd64")
	t.Setenv("GOCACHE", t.TempDir())
	if second := sums("linux/amd64"); first != second || strings.Count(first, "\n") != 1 {
		t.Errorf("two releases differ:\n%s\n%s", first, second)
	}
}
