package command

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestFresh: a search stores at most mostFresh changed files, and says so if there are more, or if the folder is gone. It finds
// what is stored in either case.
func TestFresh(t *testing.T) {
	dir := t.TempDir()
	run := func(args ...string) (string, string) {
		t.Helper()
		var out, notes bytes.Buffer
		args = append(args, "--db", filepath.Join(dir, "src", folderName))
		if code := Run(context.Background(), Env{Args: args, Stdout: &out, Stderr: &notes}); code != exitOK {
			t.Fatalf("lexsem %s: %d\n%s", strings.Join(args, " "), code, notes.String())
		}
		return out.String(), notes.String()
	}
	write := func(from, to int, text string) {
		t.Helper()
		for i := from; i < to; i++ {
			name := filepath.Join(dir, "src", "sub", fmt.Sprintf("n%d.txt", i))
			if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(name, fmt.Appendf(nil, "%s %d", text, i), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	finds := func(what, notes string, lines int) {
		t.Helper()
		out, got := run("search", "--mode", "lexical", "--places", what)
		if !strings.Contains(out, fmt.Sprintf("%d line", lines)) || notes == "" && got != "" || !strings.Contains(got, notes) {
			t.Errorf("%s: %s%s; want %d lines and %q", what, out, got, lines, notes)
		}
	}
	write(0, mostFresh+1, "lantern")
	run("index", "--quiet", "--model", "hash", filepath.Join(dir, "src"))
	finds("lantern", "", mostFresh+1)
	write(0, mostFresh+1, "walrus")
	finds("walrus", fmt.Sprintf("note: searching what is stored: %d files are new, changed or gone; `lexsem index` stores", mostFresh+1), 0)
	write(0, 1, "lantern") // as it was
	write(mostFresh+1, mostFresh+2, "lantern")
	if err := os.Rename(filepath.Join(dir, "src", "sub"), filepath.Join(dir, "sub")); err != nil {
		t.Fatal(err)
	}
	finds("walrus", "note: searching what is stored: ", 0)
}
