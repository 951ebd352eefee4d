package command

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/lexsem/lexsem/internal/testkit/encoders"
)

// TestBackground: index --background ends while the model is still silent, words find the files, and stats tells how far the
// vectors are. The process that makes them may be killed; --finish, or another --background, goes on.
func TestBackground(t *testing.T) {
	t.Parallel()
	for name, own := range map[string]bool{"named": false, "in the folder": true} {
		t.Run(name, func(t *testing.T) { t.Parallel(); testBackground(t, own) })
	}
}

// testBackground uses a database that is named, or its folder's own, from a folder below it.
func testBackground(t *testing.T, own bool) {
	dir := t.TempDir()
	db, notes := filepath.Join(dir, "db"), filepath.Join(dir, "notes")
	if err := os.MkdirAll(filepath.Join(notes, "sub"), 0o755); err != nil {
		t.Fatal(err)
	}
	where, background, at := []string{"--db", db}, []string{"--background"}, []string{notes}
	if own {
		db, where, background, at = filepath.Join(notes, folderName), nil, nil, nil
	}
	write := func(n int, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(notes, fmt.Sprintf("n%d.md", n)), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for i := range 20 {
		write(i, fmt.Sprintf("# Note %d\n\nA lantern in harbour %d.\n", i, i))
	}
	api := encoders.NewAPI(t, 8)
	speak := make(chan struct{})
	open := sync.OnceFunc(func() { close(speak) })
	t.Cleanup(open)
	api.Next = func(int, []string) encoders.Fault { <-speak; return encoders.Fault{} }
	run := func(args ...string) string {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), "lexsem", append(args, where...)...)
		cmd.Dir = filepath.Join(notes, "sub")
		cmd.Env = append(os.Environ(), "OPENAI_BASE_URL="+api.URL+"/v1", "OPENAI_API_KEY=k", "LEXSEM_VECTOR_CACHE=0", "LEXSEM_CACHE="+filepath.Join(dir, "cache"))
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("lexsem %s: %v\n%s", strings.Join(args, " "), err, out)
		}
		return string(out)
	}
	worker := func(out string) *os.Process {
		t.Helper()
		said := regexp.MustCompile(`note: process (\d+) makes the vectors`).FindStringSubmatch(out)
		if said == nil {
			t.Fatalf("no process: %s", out)
		}
		pid, err := strconv.Atoi(said[1])
		if err != nil {
			t.Fatal(err)
		}
		p, err := os.FindProcess(pid)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { p.Kill() })
		return p
	}
	waiting := func() int {
		t.Helper()
		said := regexp.MustCompile(`(\d+) of (\d+) passages have one`).FindStringSubmatch(run("stats", "--quiet"))
		if said == nil {
			return 0
		}
		have, _ := strconv.Atoi(said[1])
		all, _ := strconv.Atoi(said[2])
		return all - have
	}
	first := worker(run(append([]string{"index", "--model", "openai:small@8", notes}, background...)...))
	if n := waiting(); n != 20 {
		t.Errorf("%d passages wait, want 20", n)
	}
	if out := run("search", "--quiet", "--mode", "lexical", "harbour 7"); !strings.Contains(out, "n7.md") {
		t.Errorf("words find %s", out)
	}
	if err := first.Kill(); err != nil {
		t.Fatal(err)
	}
	if out := run("search", "--quiet", "--mode", "lexical", "harbour 7"); !strings.Contains(out, "n7.md") {
		t.Errorf("after the kill words find %s", out)
	}
	var said string
	if own { // a search that stores a changed file starts a process too
		write(5, "# Note 5\n\nA tower.\n")
		if said = run("search", "--mode", "lexical", "tower"); !strings.Contains(said, "n5.md") {
			t.Errorf("a changed file is not found: %s", said)
		}
	} else { // nothing is new, and the vectors are not there
		said = run(append(append([]string{"index"}, background...), at...)...)
	}
	second := worker(said)
	if n := waiting(); n != 20 {
		t.Errorf("%d passages wait after the kill, want 20", n)
	}
	open()
	for until := time.Now().Add(30 * time.Second); waiting() > 0; time.Sleep(50 * time.Millisecond) {
		if time.Now().After(until) {
			log, _ := os.ReadFile(filepath.Join(db, "background.log"))
			t.Fatalf("the vectors are not made:\n%s", log)
		}
	}
	if _, err := second.Wait(); err == nil {
		t.Error("the process is a child of this one")
	}
	write(3, "# Note 3\n\nA lighthouse.\n")
	if out := run(append([]string{"index", "--words-first", "--quiet"}, at...)...); !strings.Contains(out, "1 replaced") {
		t.Error(out)
	}
	if out := run("index", "--finish"); !strings.Contains(out, "20 passages have vectors") {
		t.Error(out)
	}
	if out := run(append(append([]string{"index", "--quiet"}, background...), at...)...); strings.Contains(out, "process") {
		t.Errorf("a process for nothing: %s", out)
	}
	run("doctor", "--quiet", "--db", db)
}
