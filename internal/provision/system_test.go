//go:build linux

package provision

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/lexsem/lexsem/encoder"
)

// realLibrary returns the path of a real library, which names its version.
func realLibrary(t *testing.T) string {
	t.Helper()
	r, err := Ensure(t.Context(), Request{Offline: os.Getenv("LEXSEM_OFFLINE") != "", Log: func(s string) { t.Log(s) }})
	if errors.Is(err, encoder.ErrUnavailable) && os.Getenv("LEXSEM_OFFLINE") != "" {
		t.Skipf("LEXSEM_OFFLINE is set and the cache is empty: %v", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	return r.Library
}

// foreign returns a copy of the library's head that claims another processor.
func foreign(t *testing.T, lib string) string {
	t.Helper()
	b, err := os.ReadFile(lib)
	if err != nil {
		t.Fatal(err)
	}
	b[18] ^= 0x55 // e_machine
	return writeFile(t, "libonnxruntime.so.1.27.0", b)
}

func TestInspectLibrary(t *testing.T) {
	lib, platform := realLibrary(t), runtime.GOOS+"/"+runtime.GOARCH
	dir := t.TempDir()
	link := filepath.Join(dir, "libonnxruntime.so") // no version in either name
	if err := os.Symlink(lib, link); err != nil {
		t.Fatal(err)
	}
	v, err := inspectLibrary(link, platform)
	if err != nil || !v.usable() || !strings.HasPrefix(v.text, "1.") {
		t.Errorf("the real library has the version %+v, %v", v, err)
	}
	for name, path := range map[string]string{
		"text":    writeFile(t, "libonnxruntime.so.1.27.0", []byte("no library")),
		"empty":   writeFile(t, "libonnxruntime.so.1.27.0", nil),
		"foreign": foreign(t, lib),
		"folder":  dir,
		"missing": filepath.Join(dir, "none"),
	} {
		if v, err := inspectLibrary(path, platform); err == nil {
			t.Errorf("%s: taken as %+v", name, v)
		}
	}
	// Where the file does not tell, the names do; elf files are read on Linux only.
	py := filepath.Join(t.TempDir(), "site-packages")
	for _, d := range []string{"onnxruntime/capi", "onnxruntime-1.26.0.dist-info"} {
		if err := os.MkdirAll(filepath.Join(py, d), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	dll := filepath.Join(py, "onnxruntime/capi/onnxruntime.dll")
	if err := os.WriteFile(dll, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		dll: "1.26.0",
		writeFile(t, "libonnxruntime.1.27.0.dylib", nil): "1.27.0",
		writeFile(t, "libonnxruntime.dylib", nil):        "",
	} {
		if v, err := inspectLibrary(path, "darwin/arm64"); err != nil || v.text != want {
			t.Errorf("%s: version %q, %v; want %q", path, v.text, err, want)
		}
	}
}

func TestVersions(t *testing.T) {
	for name, want := range map[string]struct {
		text   string
		usable bool
	}{
		".so.1.27.0": {"1.27.0", true}, ".so.1.24": {"1.24", true}, ".so.1.23.2": {"1.23.2", false},
		".so.1": {"", false}, ".so": {"", false}, ".1.27.0.dylib": {"1.27.0", true},
		"onnxruntime-1.31.1.dist-info": {"1.31.1", true}, "1.27.0": {"1.27.0", true},
		".so.2.0.0": {"2.0.0", false}, ".so.99999999999999999999.1": {"", false},
	} {
		if v := parseVersion(name); v.text != want.text || v.usable() != want.usable {
			t.Errorf("%s: %+v, usable %v", name, v, v.usable())
		}
	}
}

func TestFindLibrary(t *testing.T) {
	lib, platform := realLibrary(t), runtime.GOOS+"/"+runtime.GOARCH
	empty, full := t.TempDir(), t.TempDir()
	if err := os.WriteFile(filepath.Join(empty, "libonnxruntime.so.1.27.0"), []byte("no library"), 0o644); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(full, "libonnxruntime.so")
	if err := os.Symlink(lib, path); err != nil {
		t.Fatal(err)
	}
	t.Setenv("LD_LIBRARY_PATH", empty+":relative:"+full)
	s, _ := testSession(t, "http://127.0.0.1:1")
	s.offline = true
	p, err := s.ensureLibrary(t.Context(), "")
	if err != nil || p.Route != "system" || p.Path != path || !p.Cached || p.Version == "" {
		t.Errorf("%+v, %v", p, err)
	}
	if _, err := findLibrary([]string{filepath.Join(empty, "*"), "[bad"}, platform); err == nil || !strings.Contains(err.Error(), "not a shared library") {
		t.Errorf("%v", err)
	}
}

func TestUserLibrary(t *testing.T) {
	lib, platform := realLibrary(t), runtime.GOOS+"/"+runtime.GOARCH
	for _, path := range []string{lib, filepath.Dir(lib)} {
		if p, err := userLibrary(path, platform); err != nil || p.Path != lib || p.Route != "path" {
			t.Errorf("%s: %+v, %v", path, p, err)
		}
	}
	for name, path := range map[string]string{
		"missing":      filepath.Join(t.TempDir(), "none"),
		"empty folder": t.TempDir(),
		"text":         writeFile(t, "libonnxruntime.so", []byte("no library")),
		"foreign":      foreign(t, lib),
	} {
		if _, err := userLibrary(path, platform); !errors.Is(err, encoder.ErrUnavailable) || !strings.Contains(err.Error(), "remedy:") {
			t.Errorf("%s: %v", name, err)
		}
	}
}
