package provision

import (
	"debug/elf"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"sort"
	"strconv"
	"strings"
)

var errNoLibrary = errors.New("no ONNX Runtime library is installed in the usual folders")

// versionPattern finds the version in names such as libonnxruntime.so.1.27.0,
// libonnxruntime.1.27.0.dylib or onnxruntime-1.27.0.dist-info, and in the
// symbol version VERS_1.27.0.
var versionPattern = regexp.MustCompile(`(?:^|[-_.])(\d+)\.(\d+)(\.\d+)?`)

// libraryVersion is a version of the library, or zero if unknown.
type libraryVersion struct {
	major, minor int
	text         string
}

func parseVersion(name string) libraryVersion {
	m := versionPattern.FindStringSubmatch(name)
	if m == nil {
		return libraryVersion{}
	}
	major, err1 := strconv.Atoi(m[1])
	minor, err2 := strconv.Atoi(m[2])
	if err1 != nil || err2 != nil {
		return libraryVersion{}
	}
	return libraryVersion{major, minor, m[1] + "." + m[2] + m[3]}
}

func (v libraryVersion) known() bool { return v.text != "" }

func (v libraryVersion) usable() bool {
	return v.major == minLibraryMajor && v.minor >= minLibraryMinor
}

// libraryGlobs returns the patterns under which installed libraries are found: loader
// paths, package managers, Python packages.
func libraryGlobs(platform string) []string {
	var dirs []string
	for _, env := range []string{"LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH"} {
		dirs = append(dirs, filepath.SplitList(os.Getenv(env))...)
	}
	dirs = append(dirs, "/usr/local/lib", "/usr/local/lib64", "/usr/lib", "/usr/lib64", "/usr/lib/*-linux-gnu",
		"/opt/homebrew/lib", "/opt/homebrew/opt/onnxruntime/lib", "/usr/local/opt/onnxruntime/lib",
		"/home/linuxbrew/.linuxbrew/lib", "/opt/onnxruntime/lib")
	var prefixes []string
	for _, env := range []string{"VIRTUAL_ENV", "CONDA_PREFIX"} {
		if v := os.Getenv(env); v != "" {
			prefixes = append(prefixes, v)
			dirs = append(dirs, filepath.Join(v, "lib"))
		}
	}
	if home, err := os.UserHomeDir(); err == nil {
		prefixes = append(prefixes, filepath.Join(home, ".local"), filepath.Join(home, ".pyenv/versions/*"))
	}
	prefixes = append(prefixes, "/usr/local", "/usr", "/opt/homebrew")
	for _, p := range prefixes {
		for _, sub := range []string{"lib/python3*/site-packages", "lib/python3*/dist-packages", "lib/python3/dist-packages", "Lib/site-packages"} {
			dirs = append(dirs, filepath.Join(p, sub, "onnxruntime", "capi"))
		}
	}
	names := []string{"libonnxruntime.so*"}
	switch {
	case strings.HasPrefix(platform, "windows/"):
		names = []string{"onnxruntime.dll"}
	case strings.HasPrefix(platform, "darwin/"):
		names = []string{"libonnxruntime*.dylib"}
	}
	var out []string
	for _, d := range dirs {
		if !filepath.IsAbs(d) {
			continue
		}
		for _, n := range names {
			out = append(out, filepath.Join(d, n))
		}
	}
	return out
}

// systemLibrary finds an installed library of a sufficient version. It loads nothing: the
// version comes from the file, its name, or the metadata of the Python package around it.
// Libraries of unknown version are skipped.
func systemLibrary(platform string) (Provenance, error) {
	return findLibrary(libraryGlobs(platform), platform)
}

func findLibrary(globs []string, platform string) (Provenance, error) {
	reason := errNoLibrary
	for _, g := range globs {
		paths, err := filepath.Glob(g)
		if err != nil {
			continue // a bracket in a folder's name; nothing to find there
		}
		sort.Strings(paths)
		for _, p := range paths {
			v, err := inspectLibrary(p, platform)
			switch {
			case err != nil:
				reason = err
			case !v.known():
				reason = fmt.Errorf("%s does not tell its version", p)
			case !v.usable():
				reason = fmt.Errorf("%s is of version %s, too old: %d.%d or newer is needed", p, v.text, minLibraryMajor, minLibraryMinor)
			default:
				return Provenance{Artifact: LibraryArtifact, Route: "system", Package: p, Version: v.text, Path: p, Cached: true}, nil
			}
		}
	}
	return Provenance{}, reason
}

// inspectLibrary returns the version of the library at path, or zero if it is unknown. It
// returns an error if the file cannot be a library for the platform.
func inspectLibrary(path, platform string) (libraryVersion, error) {
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return libraryVersion{}, err
	}
	info, err := os.Stat(real)
	if err != nil {
		return libraryVersion{}, err
	}
	if !info.Mode().IsRegular() {
		return libraryVersion{}, fmt.Errorf("%s is not a regular file", path)
	}
	if strings.HasPrefix(platform, "linux/") {
		v, err := inspectELF(real, platform)
		if err != nil || v.known() {
			return v, err
		}
	}
	base := strings.TrimPrefix(strings.TrimPrefix(filepath.Base(real), "lib"), "onnxruntime")
	if v := parseVersion(base); v.known() {
		return v, nil
	}
	// .../site-packages/onnxruntime/capi/onnxruntime.dll
	meta, err := filepath.Glob(filepath.Join(filepath.Dir(real), "..", "..", "onnxruntime-*.dist-info"))
	if err == nil && len(meta) == 1 {
		return parseVersion(filepath.Base(meta[0])), nil
	}
	return libraryVersion{}, nil
}

// inspectELF reads the architecture and the version that the library gives
// its symbols (VERS_1.27.0).
func inspectELF(path, platform string) (libraryVersion, error) {
	f, err := elf.Open(path)
	if err != nil {
		return libraryVersion{}, fmt.Errorf("%s is not a shared library: %w", path, err)
	}
	defer f.Close()
	want := map[string]elf.Machine{"linux/amd64": elf.EM_X86_64, "linux/arm64": elf.EM_AARCH64}[platform]
	if want != 0 && f.Machine != want {
		return libraryVersion{}, fmt.Errorf("%s is for %v, this machine is %s", path, f.Machine, platform)
	}
	versions, err := f.DynamicVersions()
	if err != nil {
		return libraryVersion{}, nil // it has none
	}
	for _, v := range versions {
		if name, ok := strings.CutPrefix(v.Name, "VERS_"); ok {
			return parseVersion(name), nil
		}
	}
	return libraryVersion{}, nil
}

// userLibrary uses the library that the user named: a file, or a folder with one. It is
// refused only if it certainly cannot work.
func userLibrary(path, platform string) (Provenance, error) {
	fail := func(err error) (Provenance, error) {
		return Provenance{}, &MissingError{Missing: []Missing{{Artifact: LibraryArtifact,
			Attempts: []Attempt{{"path", err}},
			Remedy: fmt.Sprintf("name a %s of ONNX Runtime %d.%d or newer for %s/%s, or name none and let it be fetched",
				libraryName(platform), minLibraryMajor, minLibraryMinor, runtime.GOOS, runtime.GOARCH)}}}
	}
	info, err := os.Stat(path)
	if err != nil {
		return fail(err)
	}
	abs, err := filepath.Abs(path)
	if err != nil {
		return fail(err)
	}
	if info.IsDir() {
		name := libraryName(platform)
		globs := []string{filepath.Join(abs, name), filepath.Join(abs, name+".*"), filepath.Join(abs, "libonnxruntime.*.dylib")}
		p, err := findLibrary(globs, platform)
		if err != nil {
			return fail(fmt.Errorf("in %s: %w", path, err))
		}
		abs = p.Path
	}
	v, err := inspectLibrary(abs, platform)
	if err != nil {
		return fail(err)
	}
	if v.known() && !v.usable() {
		return fail(fmt.Errorf("%s is of version %s, too old: %d.%d or newer is needed", path, v.text, minLibraryMajor, minLibraryMinor))
	}
	return Provenance{Artifact: LibraryArtifact, Route: "path", Package: abs, Version: v.text, Path: abs, Cached: true}, nil
}
