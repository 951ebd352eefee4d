package house_test

import (
	"bytes"
	"go/format"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestTrackedFiles: what git tracks is sources as gofmt writes them and small data, without
// what an editor, a merge or a profile leaves, and a newcomer reads the README to its end.
func TestTrackedFiles(t *testing.T) {
	cmd := exec.Command("git", "ls-files", "-z")
	cmd.Dir = "../../.."
	out, err := cmd.Output()
	if err != nil {
		t.Skipf("NOT TESTED: what git tracks; this is no checkout: %v", err)
	}
	marker := regexp.MustCompile(`(?m)^(<<<<<<<|>>>>>>>)( |$)`)
	n := 0
	for name := range strings.SplitSeq(strings.TrimSuffix(string(out), "\x00"), "\x00") {
		path := filepath.Join("../../..", filepath.FromSlash(name))
		info, err := os.Lstat(path)
		if err != nil {
			continue // removed, and not committed yet
		}
		n++
		if info.Size() > 1<<20 {
			t.Errorf("%s takes %d KiB; files of 1 MiB and more are fetched, not tracked", name, info.Size()>>10)
			continue
		}
		raw, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if marker.Match(raw) {
			t.Errorf("%s has the marks of a merge", name)
		}
		if strings.HasSuffix(name, ".go") {
			if formatted, err := format.Source(raw); err == nil && !bytes.Equal(formatted, raw) {
				t.Errorf("%s is not as gofmt writes it: gofmt -w %[1]s", name)
			}
		}
		if lines := bytes.Count(raw, []byte("\n")) - bytes.Count(raw, []byte("\n<!--")); name == "README.md" && lines > 150 {
			t.Errorf("README.md has %d lines; a newcomer reads 150", lines)
		}
	}
	if n < 500 {
		t.Fatalf("only %d files found", n)
	}
}

// TestNoDurationsByTheWallClock: what waits goes by the clock that nobody sets. time.Now
// holds both clocks; nanoseconds since 1970 are the wall clock alone.
func TestNoDurationsByTheWallClock(t *testing.T) {
	for _, dir := range []string{"engine", "engine/internal/*", "serve/share", "serve/httpapi", "store", "index", "modulate", "internal/train", "internal/ridge", "internal/inverted", "internal/late", "internal/local"} {
		files, err := filepath.Glob(filepath.Join("../../..", dir, "*.go"))
		if err != nil || len(files) == 0 {
			t.Fatal(dir, err)
		}
		for _, f := range files {
			raw, err := os.ReadFile(f)
			if err != nil {
				t.Fatal(err)
			}
			if !strings.HasSuffix(f, "_test.go") && regexp.MustCompile(`\.Unix(Nano|Milli|Micro)\(`).Match(raw) {
				t.Errorf("%s keeps a time of the wall clock", f)
			}
		}
	}
}
