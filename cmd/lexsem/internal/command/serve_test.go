package command

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/lexsem/lexsem/encoder"
	"github.com/lexsem/lexsem/engine"
)

// served starts `lexsem serve` in a process of its own and returns its address, once
// it says that it listens.
func served(t *testing.T, args ...string) (url string, c *child) {
	t.Helper()
	c = start(t, append([]string{"serve", "--model", "hash-64", "--addr", "127.0.0.1:0"}, args...)...)
	line, err := c.out.ReadString('\n')
	m := regexp.MustCompile(`^listening on (https?://127\.0\.0\.1:\d+)\n$`).FindStringSubmatch(line)
	if m == nil {
		t.Fatalf("%q, %v: %s", line, err, c.said)
	}
	return m[1], c
}

func call(t *testing.T, method, url, body string, header ...string) (int, string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	got, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer got.Body.Close()
	raw, err := io.ReadAll(got.Body)
	if err != nil {
		t.Fatal(err)
	}
	return got.StatusCode, string(raw)
}

// TestServe asks the program itself, and ends it by a signal and by a kill: what was
// acknowledged is there afterwards.
func TestServe(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "db")
	for _, end := range []os.Signal{os.Interrupt, os.Kill} {
		url, c := served(t, "--db", dir)
		id := "signal"
		if end == os.Kill {
			id = "kill"
		}
		if code, body := call(t, "PUT", url+"/v1/documents/"+id, `{"text": "rotate the very secret keys"}`); code != 200 {
			t.Fatal(code, body)
		}
		if code, body := call(t, "POST", url+"/v1/search", `{"query": "very secret keys", "k": 1}`); code != 200 || !strings.Contains(body, `"rank":1`) {
			t.Fatal(code, body)
		}
		if code, body := call(t, "PUT", url+"/v1/collections/"+id, ""); code != 201 {
			t.Fatal(code, body)
		}
		if code, body := call(t, "PUT", url+"/v1/collections/"+id+"/documents/in", `{"text": "in a collection"}`); code != 200 {
			t.Fatal(code, body)
		}
		if err := c.Process.Signal(end); err != nil {
			t.Fatal(err)
		}
		if err := c.Wait(); (err != nil) != (end == os.Kill) {
			t.Fatalf("after %v: %v: %s", end, err, c.said)
		}
		if log := c.said.String(); !strings.Contains(log, "route=/v1/search") || strings.Contains(log, "secret") {
			t.Error(log)
		}
	}
	db, err := engine.Open(t.Context(), dir, encoder.NewHash(64), engine.Options{MustExist: true})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	for _, id := range []string{"signal", "kill"} {
		if _, err := db.Get(t.Context(), id); err != nil {
			t.Error(err)
		}
		in, err := engine.Open(t.Context(), filepath.Join(dir, "collections", id), encoder.NewHash(64), engine.Options{MustExist: true})
		if err != nil {
			t.Fatal(err)
		}
		_, err = in.Get(t.Context(), "in")
		if err := errors.Join(err, in.Close()); err != nil {
			t.Error(err)
		}
	}
}

func TestServeKeysAndReadOnly(t *testing.T) {
	dir := t.TempDir()
	db, err := engine.Open(t.Context(), filepath.Join(dir, "db"), encoder.NewHash(64), engine.Options{})
	if err != nil {
		t.Fatal(err)
	}
	_, err = db.Add(t.Context(), []engine.Document{{ID: "a", Text: "an apple"}})
	if err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	keys := filepath.Join(dir, "keys")
	if err := os.WriteFile(keys, []byte("read reader-0123456789\nwriter-0123456789\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	url, _ := served(t, "--db", filepath.Join(dir, "db"), "--read-only", "--quiet", "--api-key-file", keys)
	for _, x := range []struct {
		method, path, key string
		want              int
	}{
		{"GET", "/healthz", "", 200}, {"GET", "/v1/stats", "", 401}, {"GET", "/v1/stats", "reader-0123456789", 200},
		{"DELETE", "/v1/documents/a", "reader-0123456789", 403}, {"DELETE", "/v1/documents/a", "writer-0123456789", 403}, {"GET", "/v1/documents/a", "writer-0123456789", 200},
	} {
		if code, body := call(t, x.method, url+x.path, "", "x-api-key", x.key); code != x.want {
			t.Errorf("%s %s with %q: %d %s", x.method, x.path, x.key, code, body)
		}
	}
}

// TestServeEndsWithItsContext runs the command in this process.
func TestServeEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	out, in := io.Pipe()
	code := make(chan int, 1)
	go func() {
		code <- Run(ctx, Env{Args: []string{"serve", "--db", filepath.Join(t.TempDir(), "db"), "--model", "hash-8", "--addr", "localhost:0"}, Stdout: in})
	}()
	line, err := bufio.NewReader(out).ReadString('\n')
	go func() { _, _ = io.Copy(io.Discard, out) }()
	if err != nil || !strings.HasPrefix(line, "listening on http://") {
		t.Fatal(line, err)
	}
	cancel()
	select {
	case c := <-code:
		if c != exitOK {
			t.Errorf("exit code %d", c)
		}
	case <-time.After(30 * time.Second):
		t.Error("it goes on")
	}
}
