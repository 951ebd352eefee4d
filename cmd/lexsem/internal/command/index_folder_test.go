package command

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/lexsem/lexsem/encoder"
	"github.com/lexsem/lexsem/engine"
	"github.com/lexsem/lexsem/internal/testkit/trial"
)

// notes makes a folder of n files.
func notes(t *testing.T, n int) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "notes")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	for i := range n {
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("%d.txt", i)), fmt.Appendf(nil, "document number%d", i), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// TestKillIndexFolder: whenever the first sync of a folder is killed, finished batches
// stay, and the same command ends it.
func TestKillIndexFolder(t *testing.T) {
	const n = 600
	dir := notes(t, n)
	db := filepath.Join(t.TempDir(), "db")
	args := []string{"index", "--db", db, "--model", "hash", "--batch", "8", "--json", dir}
	killed, before := 0, 0
	for round := range trial.Rounds(t, 4, 60) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		cmd := exec.CommandContext(ctx, "lexsem", args...)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Duration(60+40*round) * time.Millisecond)
		if cmd.Process.Kill() == nil {
			killed++
		}
		_ = cmd.Wait() // killed, or done
		cancel()
		e, err := engine.Open(t.Context(), db, encoder.NewHash(384), engine.Options{})
		if err != nil {
			t.Fatalf("round %d: the database does not open: %v", round, err)
		}
		now, err := e.Count(t.Context(), engine.Filter{})
		if err := errors.Join(err, e.Close()); err != nil {
			t.Fatal(err)
		}
		if now < before || now%8 != 0 {
			t.Errorf("round %d: %d documents, %d before; want whole batches", round, now, before)
		}
		before = now
	}
	out, err := exec.CommandContext(t.Context(), "lexsem", args...).Output()
	if err != nil {
		t.Fatal(err)
	}
	var s indexSummary
	if err := json.Unmarshal(out, &s); err != nil || s.Stored != n || s.Unchanged < before || s.Added != n-before || s.Replaced+s.Removed != 0 {
		t.Errorf("killed %d times with %d documents stored, the last run did %s (%v)", killed, before, out, err)
	}
}

// TestWatchFolder: --watch takes over changes, names what becomes unreadable until it is mended, and ends well on Ctrl-C.
func TestWatchFolder(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("signals cannot be sent to a child on Windows")
	}
	dir := notes(t, 3)
	db := filepath.Join(t.TempDir(), "db")
	c := start(t, "index", "--db", db, "--model", "hash", "--watch", "--json", dir)
	lines := bufio.NewScanner(c.out)
	next := func() (s indexSummary) {
		t.Helper()
		if !lines.Scan() {
			t.Fatalf("no line; stderr: %s", c.said)
		}
		if err := json.Unmarshal(lines.Bytes(), &s); err != nil {
			t.Fatal(err)
		}
		return s
	}
	if s := next(); s.Added != 3 || s.Stored != 3 || s.Root != dir {
		t.Errorf("the first sync did %+v", s)
	}
	if err := errors.Join(os.WriteFile(filepath.Join(dir, "new.md"), []byte("# New\n\ntext"), 0o644), os.Remove(filepath.Join(dir, "0.txt"))); err != nil {
		t.Fatal(err)
	}
	added, removed := 0, 0
	for added < 1 || removed < 1 {
		s := next()
		added, removed = added+s.Added, removed+s.Removed
	}
	listed := func() string { return printed(t, "", "index", "--db", db, "--problems") }
	at := filepath.Join(dir, "1.txt")
	if err := os.WriteFile(at, []byte("\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR"), 0o644); err != nil {
		t.Fatal(err)
	}
	if s := next(); len(s.Failed) != 1 || s.Failed[0].Path != at || s.Failed[0].Stale != 1 || s.Stored != 3 || !strings.HasPrefix(listed(), "stale ") {
		t.Errorf("of a file that cannot be read any more: %+v; listed is %s", s, listed())
	}
	if err := os.WriteFile(at, []byte("mended"), 0o644); err != nil {
		t.Fatal(err)
	}
	if s := next(); len(s.Failed) != 0 || s.Replaced != 1 || !strings.Contains(listed(), "nothing of its files") {
		t.Errorf("of a file that was mended: %+v; listed is %s", s, listed())
	}
	if err := c.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	if err := c.Wait(); err != nil || added != 1 || removed != 1 {
		t.Fatalf("added %d, removed %d, ended with %v; stderr: %s", added, removed, err, c.said)
	}
	out, err := exec.CommandContext(t.Context(), "lexsem", "index", "--db", db, "--json", dir).Output()
	var s indexSummary
	if e := json.Unmarshal(out, &s); err != nil || e != nil || s.Unchanged != 3 || s.Added+s.Replaced+s.Removed != 0 {
		t.Errorf("behind the watch a sync did %s (%v)", out, err)
	}
}

// A corpus is told by its passages, queries and judgements together, as BEIR and MTEB lay them out.
func TestJudgedCorpus(t *testing.T) {
	for want, names := range map[string][]string{
		"corpus.jsonl": {"corpus.jsonl", "queries.jsonl", "qrels/test.tsv"},
		"corpus":       {"corpus/a-0.parquet", "queries/a-0.parquet", "data/test-0.parquet"},
		"":             {"corpus/a-0.parquet", "queries.jsonl", "data/test-0.parquet"},
	} {
		dir := filepath.Join(t.TempDir(), "a[b]*")
		for i, name := range names {
			if got := judgedCorpus(dir); got != "" {
				t.Errorf("%v are taken for %q", names[:i], got)
			}
			name = filepath.Join(dir, filepath.FromSlash(name))
			if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(name, nil, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if got := judgedCorpus(dir); got != want {
			t.Errorf("%v are %q, want %q", names, got, want)
		}
	}
}
