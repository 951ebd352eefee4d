package command

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/lexsem/lexsem/internal/testkit/reranktest"
)

// indexing is an index run that has stored n documents and waits for more.
func indexing(t *testing.T, dir string, n int) *child {
	t.Helper()
	c := start(t, "index", "--db", dir, "--model", "hash-64", "--batch", "10", "-")
	for i := range n {
		if _, err := fmt.Fprintf(c.in, "{\"_id\": \"d%d\", \"text\": \"document number%d speaks of keys%d and of words\", \"n\": %d}\n", i, i, i%7, i); err != nil {
			t.Fatal(err)
		}
	}
	c.stores(t, dir, n)
	return c
}

// TestBesideIndex: while documents are indexed, other commands work as if alone, and those that
// cannot say who is in their way.
func TestBesideIndex(t *testing.T) {
	t.Setenv("LEXSEM_CACHE", t.TempDir())
	base := t.TempDir()
	dir := filepath.Join(base, "db")
	holder := indexing(t, dir, 50)
	who := fmt.Sprintf("process %d (lexsem index)", holder.Process.Pid)
	more := filepath.Join(base, "more.jsonl")
	if err := os.WriteFile(more, []byte("{\"_id\":\"m1\",\"text\":\"more words\"}\n{\"_id\":\"m2\",\"text\":\"even more words\"}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	export := filepath.Join(base, "export.jsonl")
	type ask struct {
		args string
		code int
		want string // in what is printed
	}
	command := func(c ask) []string { return append(strings.Fields(c.args), "--db", dir, "--quiet") }
	said := func(c ask, code int, out, notes string) {
		if code != c.code || !strings.Contains(out+notes, c.want) {
			t.Errorf("%s: exit %d, %s%s; want exit %d and %q", c.args, code, out, notes, c.code, c.want)
		}
	}
	refused := map[ask]*child{} // all at once, since each waits a second for the holder to end
	for _, c := range []ask{
		{"index --metric dot " + more, 1, "is in use by " + who + " with metric cosine, not dot"},
		{"index --model hash-32 " + more, 6, who},
		{"index --chunk-tokens 20 " + more, 4, who},
		{"reembed --model hash-32", 4, who},
		{"doctor --repair", 4, who},
	} {
		refused[c] = start(t, command(c)...)
	}
	for c, child := range refused {
		out, err := io.ReadAll(child.out)
		if err != nil {
			t.Fatal(err)
		}
		_ = child.Wait() // the exit code says how it ended
		said(c, child.ProcessState.ExitCode(), string(out), child.said.String())
	}
	for _, c := range []ask{
		{"stats", 0, "open in     " + who},
		{"search number3", 0, "d3"},
		{"search --mode lexical number17", 0, "d17"},
		{"search --variant rlr-local --mode dense --json number17", 0, `"variant":"rlr-local"`},
		{"search --rerank " + reranktest.NewAPI(t).URL + " number3", 0, "the first 50 reranked"},
		{"explain --id d3 keys3", 0, "found at"},
		{"get d5", 0, "number5"},
		{"get none", 3, "none"},
		{"list --limit 1", 0, "d0"},
		{"count --filter n<10", 0, "10"},
		{"index --metric cosine " + more, 0, "2 added, 0 replaced"},
		{"delete m1", 0, "1 document deleted"},
		{"delete m1", 3, "m1"},
		{"export " + export, 0, "51 documents"},
		{"delete m2", 0, "1 document deleted"},
		{"import " + export, 0, "1 added, 0 replaced, 50 unchanged; 51 stored"},
		{"backup " + filepath.Join(base, "backup"), 0, "part 1"},
		{"compact", 0, "documents"},
		{"fit --variant rlr-local", 0, "local bridges over 51 passages"},
		{"embed --variant rlr --role query --input lines " + more, 0, `"vector":[`},
		{"doctor", 0, who + " since"},
	} {
		code, out, notes := lexsem(t, command(c)...)
		said(c, code, out, notes)
	}
	code, out, notes := lexsem(t, "stats", "--db", dir, "--json")
	var s statsSummary
	if err := json.Unmarshal([]byte(out), &s); code != 0 || err != nil || s.HeldBy == nil || s.HeldBy.PID != holder.Process.Pid || s.HeldBy.Model != "hash-64" {
		t.Errorf("%v; %s%s", err, out, notes)
	}
	holder.in.Close()
	if err := holder.Wait(); err != nil {
		t.Error(err)
	}
	if code, out, _ := lexsem(t, "stats", "--db", dir, "--json"); code != 0 || strings.Contains(out, "held_by") {
		t.Error(out)
	}
	if _, err := os.Lstat(filepath.Join(dir, "socket")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the socket is left: %v", err)
	}
}

// TestKilledHolder: what a killed process leaves keeps no other from the database, and a
// run that asked it goes on by itself.
func TestKilledHolder(t *testing.T) {
	t.Setenv("LEXSEM_CACHE", t.TempDir())
	dir := filepath.Join(t.TempDir(), "db")
	first := indexing(t, dir, 50)
	second := start(t, "index", "--db", dir, "--batch", "10", "-")
	feed := func(from, to int) {
		for i := from; i < to; i++ {
			if _, err := fmt.Fprintf(second.in, "{\"_id\": \"s%d\", \"text\": \"another document%d\"}\n", i, i); err != nil {
				t.Fatal(err, second.said)
			}
		}
	}
	feed(0, 20)
	second.stores(t, dir, 70)
	if err := first.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	first.Wait()
	if _, err := os.Lstat(filepath.Join(dir, "socket")); err != nil {
		t.Errorf("a killed process leaves a socket: %v", err)
	}
	feed(20, 40)
	second.in.Close()
	out, err := io.ReadAll(second.out)
	if err := errors.Join(err, second.Wait()); err != nil || !strings.Contains(string(out), "40 added, 0 replaced") {
		t.Errorf("%v: %s%s", err, out, second.said)
	}
	if code, out, notes := lexsem(t, "count", "--db", dir); code != 0 || strings.TrimSpace(out) != "90" {
		t.Errorf("exit %d: %s%s", code, out, notes)
	}

	dir = filepath.Join(t.TempDir(), "db")
	third := indexing(t, dir, 50)
	third.Process.Kill()
	third.Wait()
	if code, out, notes := lexsem(t, "search", "--db", dir, "--quiet", "number3"); code != 0 || !strings.Contains(out, "d3") {
		t.Errorf("exit %d: %s%s", code, out, notes)
	}
	if _, err := os.Lstat(filepath.Join(dir, "socket")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the socket is left: %v", err)
	}
}

// TestServeOutlivesHolder: a server that began with a database which another process had
// open goes on by itself when that one is done, or killed: it has what was stored there,
// and stores more.
func TestServeOutlivesHolder(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("signals cannot be sent to a child on Windows")
	}
	t.Setenv("LEXSEM_CACHE", t.TempDir())
	for _, killed := range []bool{false, true} {
		dir := filepath.Join(t.TempDir(), "db")
		holder := indexing(t, dir, 20)
		url, server := served(t, "--db", dir)
		held := func() (pid int) {
			t.Helper()
			code, out, notes := lexsem(t, "stats", "--db", dir, "--json")
			var s statsSummary
			if err := json.Unmarshal([]byte(out), &s); code != 0 || err != nil || s.HeldBy == nil {
				t.Fatalf("%v; exit %d: %s%s", err, code, out, notes)
			}
			return s.HeldBy.PID
		}
		finds := func(word, id string) {
			t.Helper()
			code, body := call(t, "POST", url+"/v1/search", fmt.Sprintf(`{"query": %q, "k": 1}`, word))
			if code != 200 || !strings.Contains(body, fmt.Sprintf(`"id":%q`, id)) {
				t.Fatalf("killed %v: %d %s; %s", killed, code, body, server.said)
			}
		}
		finds("number3", "d3")
		if code, body := call(t, "PUT", url+"/v1/documents/before", `{"text": "stored by way of the holder"}`); code != 200 {
			t.Fatal(code, body)
		}
		if pid := held(); pid != holder.Process.Pid {
			t.Fatalf("process %d has the database open, want %d", pid, holder.Process.Pid)
		}
		var err error
		if killed {
			err = holder.Process.Kill()
		} else {
			err = holder.in.Close()
		}
		if err != nil {
			t.Fatal(err)
		}
		if err := holder.Wait(); (err != nil) != killed {
			t.Fatalf("killed %v: %v, %s", killed, err, holder.said)
		}
		finds("number17", "d17")
		finds("holder", "before")
		if pid := held(); pid != server.Process.Pid {
			t.Errorf("process %d has the database open, want the server %d", pid, server.Process.Pid)
		}
		if code, body := call(t, "PUT", url+"/v1/documents/after", `{"text": "stored by the server alone"}`); code != 200 {
			t.Fatal(code, body)
		}
		finds("alone", "after")
		if err := server.Process.Signal(os.Interrupt); err != nil {
			t.Fatal(err)
		}
		if err := server.Wait(); err != nil {
			t.Errorf("killed %v: %v, %s", killed, err, server.said)
		}
		if code, out, notes := lexsem(t, "count", "--db", dir); code != 0 || strings.TrimSpace(out) != "22" {
			t.Errorf("killed %v: exit %d: %s%s", killed, code, out, notes)
		}
	}
}
