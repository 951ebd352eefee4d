package httpapi

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/embedded"
	"go.opentelemetry.io/otel/trace/noop"

	"github.com/lexsem/lexsem/encoder"
	"github.com/lexsem/lexsem/engine"
)

const (
	readKey  = "reader-0123456789abcdef"
	writeKey = "writer-0123456789abcdef"
	bareKey  = "bare-0123456789abcdefgh"
)

func TestParseKeys(t *testing.T) {
	k, err := ParseKeys([]byte("\ufeff# keys\n\nread " + readKey + "\r\n  write\t" + writeKey + "\n" + bareKey))
	if err != nil {
		t.Fatal(err)
	}
	for key, want := range map[string]Scope{readKey: ScopeRead, writeKey: ScopeWrite, bareKey: ScopeWrite, "": ScopeNone, readKey + "x": ScopeNone, readKey[1:]: ScopeNone, "write": ScopeNone} {
		if got := k.Scope(key); got != want {
			t.Errorf("%q may %v, want %v", key, got, want)
		}
	}
	for _, bad := range []string{"", "# none", "short", "read short", "own " + readKey, "read write " + readKey, readKey + "\n" + "read " + readKey, "read " + strings.Repeat("x", 1025), "schlüssel-0123456789"} {
		_, err := ParseKeys([]byte(bad))
		if !errors.Is(err, engine.ErrInvalid) {
			t.Errorf("%q: %v", bad, err)
		}
		if err != nil && strings.Contains(err.Error(), readKey) {
			t.Errorf("the error holds the key: %v", err)
		}
	}
}

func TestReadKeys(t *testing.T) {
	name := filepath.Join(t.TempDir(), "keys")
	if err := os.WriteFile(name, []byte(readKey), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := ReadKeys(name); err != nil {
		t.Error(err)
	}
	if _, err := ReadKeys(name + "x"); !errors.Is(err, os.ErrNotExist) || strings.Contains(err.Error(), name) { // it may be a key
		t.Error(err)
	}
	if _, err := ReadKeys(t.TempDir()); err == nil {
		t.Error("a folder is read")
	}
	if runtime.GOOS == "windows" {
		return
	}
	for _, mode := range []os.FileMode{0o640, 0o604, 0o620} {
		if err := os.Chmod(name, mode); err != nil {
			t.Fatal(err)
		}
		if _, err := ReadKeys(name); !errors.Is(err, engine.ErrInvalid) || !strings.Contains(err.Error(), "chmod 600") {
			t.Errorf("mode %o: %v", mode, err)
		}
	}
}

// TestKeysAreReadAgain: a running server knows the keys that are in the file now, and keeps those that it has while the file
// cannot be read, or others can read it.
func TestKeysAreReadAgain(t *testing.T) {
	name := filepath.Join(t.TempDir(), "keys")
	write := func(text string, mode os.FileMode) {
		if err := errors.Join(os.WriteFile(name+".new", []byte(text), 0o600), os.Chmod(name+".new", mode), os.Rename(name+".new", name)); err != nil {
			t.Fatal(err)
		}
	}
	write(writeKey, 0o600)
	k, err := ReadKeys(name)
	if err != nil {
		t.Fatal(err)
	}
	var log strings.Builder
	c := newClient(t, Options{Keys: k, Logger: slog.New(slog.NewTextHandler(&log, nil))})
	knows := func(what string, want ...string) {
		t.Helper()
		for _, key := range []string{readKey, writeKey} {
			r := c.request("GET", "/v1/stats", nil)
			r.Header.Set("x-api-key", key)
			if got := c.send(r); (got.status == 200) != slices.Contains(want, key) {
				t.Errorf("%s: %d for %s", what, got.status, key)
			}
		}
	}
	knows("at first", writeKey)
	write("read "+readKey, 0o600)
	knows("another", readKey)
	write(writeKey+"\n"+readKey, 0o600)
	knows("both", readKey, writeKey)
	write("read short", 0o600)
	knows("a bad file", readKey, writeKey)
	if err := os.Remove(name); err != nil {
		t.Fatal(err)
	}
	knows("no file", readKey, writeKey)
	if runtime.GOOS != "windows" {
		write(writeKey, 0o644)
		knows("a file for all", readKey, writeKey)
		if err := os.Chmod(name, 0o600); err != nil {
			t.Fatal(err)
		}
		knows("a file whose mode is mended", writeKey)
	}
	if strings.Contains(log.String(), readKey) || !strings.Contains(log.String(), "the former keys stay") {
		t.Error(log.String())
	}
}

func FuzzParseKeys(f *testing.F) {
	f.Add([]byte("read " + readKey + "\n" + writeKey))
	f.Fuzz(func(t *testing.T, raw []byte) {
		k, err := ParseKeys(raw)
		if (k == nil) == (err == nil) {
			t.Fatal(k, err)
		}
		if err == nil && k.Scope("") != ScopeNone {
			t.Fatal("no key may do something")
		}
	})
}

// tellMayWrite is a handler of /mcp that answers whether a request may write.
func tellMayWrite(mayWrite func(*http.Request) bool) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", kindJSON)
		w.Header().Set("May-Write", strconv.FormatBool(mayWrite(r)))
		_, _ = w.Write([]byte(`{}`))
	})
}

// TestKeys asks every route with no key, a wrong one, and one of each scope.
func TestKeys(t *testing.T) {
	k, err := ParseKeys([]byte("read " + readKey + "\nwrite " + writeKey))
	if err != nil {
		t.Fatal(err)
	}
	var log strings.Builder
	c := newClient(t, Options{Keys: k, MCP: tellMayWrite, Logger: slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))})
	all := append(routes(), &route{method: "GET", path: "/metrics", scope: ScopeRead}, &route{method: "POST", path: "/mcp", scope: ScopeRead})
	if len(all) < 30 {
		t.Fatal(len(all))
	}
	for _, rt := range all {
		path := strings.NewReplacer("{name}", "x", "{id...}", "x").Replace(rt.path)
		for _, x := range []struct {
			key string
			has Scope
		}{{"", ScopeNone}, {"nonsense-0123456789abc", ScopeNone}, {readKey, ScopeRead}, {writeKey, ScopeWrite}} {
			for _, header := range []string{"Authorization", "x-api-key"} {
				r := c.request(rt.method, path+"?api_key="+x.key, nil)
				if x.key != "" && header == "Authorization" {
					r.Header.Set(header, "bearer  "+x.key)
				} else if x.key != "" {
					r.Header.Set(header, x.key)
				}
				w := httptest.NewRecorder()
				c.s.ServeHTTP(w, r)
				refused := w.Code == 401 || w.Code == 403
				if refused != (x.has < rt.scope) {
					t.Errorf("%s %s with the key %q: %d", rt.method, path, x.key, w.Code)
				}
				if may := w.Header().Get("May-Write"); rt.path == "/mcp" && !refused && may != strconv.FormatBool(x.has == ScopeWrite) {
					t.Errorf("%s with the key %q: may write: %q", rt.path, x.key, may)
				}
				if x.has == ScopeNone && refused && (w.Code != 401 || w.Header().Get("WWW-Authenticate") == "") {
					t.Errorf("%s %s with the key %q: %d %v", rt.method, path, x.key, w.Code, w.Header())
				}
				if strings.Contains(w.Body.String(), "0123456789") {
					t.Errorf("the answer holds a key: %s", w.Body)
				}
			}
		}
	}
	if log.Len() == 0 || strings.Contains(log.String(), "0123456789") {
		t.Errorf("the log holds a key: %s", log.String())
	}
	c.want(c.ask("POST", "/v1/search", `{"query":"keys"}`), 401, "unauthorized")
	c.key = readKey
	c.want(c.ask("POST", "/v1/search", `{"query":"keys"}`), 200, "")
	c.want(c.ask("DELETE", "/v1/documents/keys", nil), 403, "forbidden")
	c.key = writeKey
	c.want(c.ask("DELETE", "/v1/documents/keys", nil), 200, "")
	// With keys, the name in Host says nothing.
	r := c.request("GET", "/v1/stats", nil)
	r.Host = "search.example"
	c.want(c.send(r), 200, "")
}

// TestMCPIsLeft: a large message whose handler does not look at its context is answered when its time is over. Its
// turn and its memory stay taken until the handler ends. A handler that answers in time, or panics, is heard.
func TestMCPIsLeft(t *testing.T) {
	end := make(chan struct{})
	late := false
	c := newClient(t, Options{LoadTimeout: 10 * time.Millisecond, MCP: func(func(*http.Request) bool) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			switch r.URL.RawQuery {
			case "panics":
				panic("a mistake with /secret/path")
			case "obeys":
				<-r.Context().Done()
			case "sleeps":
				<-end
				late = true
			}
			w.Header().Set("Content-Type", "text/plain")
			w.WriteHeader(http.StatusAccepted)
			_, _ = io.WriteString(w, "of the handler")
		})
	}})
	message := fmt.Sprintf(`{"jsonrpc": "2.0", "params": %q}`, strings.Repeat("x", 4<<20))
	w := httptest.NewRecorder()
	c.s.ServeHTTP(w, c.request("POST", "/mcp?obeys", message))
	if w.Code != http.StatusAccepted || w.Body.String() != "of the handler" || w.Header().Get("Content-Type") != "text/plain" {
		t.Errorf("%d %q %v", w.Code, w.Body, w.Header())
	}
	c.want(c.ask("POST", "/mcp?panics", message), http.StatusInternalServerError, "internal")
	if turns, held := len(c.s.slots.free), c.s.values.used.Load(); turns != 0 || held != 0 {
		t.Errorf("%d turns and %d bytes are taken by nobody", turns, held)
	}
	c.want(c.ask("POST", "/mcp?sleeps", message), http.StatusGatewayTimeout, "timeout")
	if turns, held := len(c.s.slots.free), c.s.values.used.Load(); turns != 1 || held == 0 {
		t.Errorf("%d turns and %d bytes are taken by a handler that goes on", turns, held)
	}
	close(end)
	c.s.running.Wait()
	if turns, held := len(c.s.slots.free), c.s.values.used.Load(); turns != 0 || held != 0 || c.s.buffers.taken() != 0 || !late {
		t.Errorf("%d turns and %d bytes are taken after the handler ended", turns, held)
	}
}

// Who may store at /mcp depends on the server, too.
func TestMCPMayWrite(t *testing.T) {
	k, err := ParseKeys([]byte(writeKey))
	if err != nil {
		t.Fatal(err)
	}
	db := database(t, encoder.NewHash(64), engine.Options{})
	for _, x := range []struct {
		o    Options
		want string
	}{{Options{}, "true"}, {Options{ReadOnly: true}, "false"}, {Options{Keys: k}, "true"}, {Options{Keys: k, ReadOnly: true}, "false"}} {
		x.o.MCP = tellMayWrite
		c := clientOf(t, db, x.o)
		r := c.request("POST", "/mcp", nil)
		r.Header.Set("x-api-key", writeKey)
		w := httptest.NewRecorder()
		c.s.ServeHTTP(w, r)
		if got := w.Header().Get("May-Write"); w.Code != 200 || got != x.want {
			t.Errorf("keys %v, read-only %v: %d, may write %q", x.o.Keys != nil, x.o.ReadOnly, w.Code, got)
		}
	}
}

func TestReadOnly(t *testing.T) {
	c := newClient(t, Options{ReadOnly: true})
	for _, rt := range routes() {
		if rt.scope == ScopeWrite {
			c.want(c.ask(rt.method, strings.NewReplacer("{name}", "x", "{id...}", "x").Replace(rt.path), "{}"), 403, "read_only")
		}
	}
	c.want(c.ask("POST", "/v1/search", `{"query":"keys"}`), 200, "")
}

// writability is a database with another answer to whether it can be written, which counts how often it was asked.
type writability struct {
	engine.Database
	err   error
	asked int
}

func (w *writability) Writable(context.Context) error { w.asked++; return w.err }

// TestReady: a server is ready if a write would succeed; one that refuses writes says so, and does not try.
func TestReady(t *testing.T) {
	enc := encoder.NewHash(8)
	db := &writability{Database: database(t, enc, engine.Options{})}
	for name, x := range map[string]struct {
		o      Options
		err    error
		status int
		want   string
		asked  int
	}{
		"ready":                {status: 200, want: `{"status":"ready"}`, asked: 1},
		"full disk":            {err: fmt.Errorf("writing: %w", engine.ErrNoSpace), status: 507, want: `"code":"no_space"`, asked: 1},
		"closed":               {err: engine.ErrClosed, status: 503, want: `"code":"closing"`, asked: 1},
		"failed disk":          {err: errors.New("open /var/secret/records/probe: read-only file system"), status: 503, want: `"code":"not_writable"`, asked: 1},
		"read-only database":   {err: engine.ErrReadOnly, status: 200, want: `{"status":"ready","read_only":true}`, asked: 1},
		"read-only server":     {o: Options{ReadOnly: true}, status: 200, want: `{"status":"ready","read_only":true}`},
		"read-only, full disk": {o: Options{ReadOnly: true}, err: engine.ErrNoSpace, status: 200, want: `"read_only":true`},
	} {
		db.err, db.asked = x.err, 0
		x.o.Encoder = enc
		c := clientOf(t, db, x.o)
		got := c.ask("GET", "/readyz", nil)
		if got.status != x.status || !strings.Contains(got.raw, x.want) || strings.Contains(got.raw, "secret") || db.asked != x.asked {
			t.Errorf("%s: %d %s, asked %d times", name, got.status, got.raw, db.asked)
		}
		c.want(c.ask("GET", "/healthz", nil), 200, "")
	}
	// A database whose folder is gone, as a write would find it.
	dir := t.TempDir()
	e, err := engine.Open(t.Context(), filepath.Join(dir, "db"), enc, engine.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { e.Close() })
	records := filepath.Join(dir, "db", "records")
	if err := os.Rename(records, records+".gone"); err != nil {
		t.Fatal(err)
	}
	c := clientOf(t, e, Options{Encoder: enc})
	c.want(c.ask("GET", "/readyz", nil), 503, "not_writable")
	if err := os.Rename(records+".gone", records); err != nil {
		t.Fatal(err)
	}
}

func TestHost(t *testing.T) {
	c := newClient(t, Options{})
	for host, ok := range map[string]bool{
		"localhost": true, "localhost:7700": true, "LOCALHOST.": true, "127.0.0.1:1": true, "[::1]:7700": true, "[::1]": true, "[::ffff:127.0.0.1]:1": true,
		"evil.example": false, "evil.example:7700": false, "": false, "127.0.0.1.evil.example": false, "localhost.evil": false, "10.0.0.1": true, "[::2]": true, "192.0.2.2:7700": true,
	} {
		r := c.request("GET", "/v1/stats", nil)
		r.Host = host
		got := c.send(r)
		if ok {
			c.want(got, 200, "")
		} else {
			c.want(got, 403, "wrong_host")
		}
		for _, path := range []string{"/healthz", "/readyz"} { // of balancers and probes
			r := c.request("GET", path, nil)
			r.Host = host
			c.want(c.send(r), 200, "")
		}
	}
	c = newClient(t, Options{Hosts: []string{"Search.example", "::1"}})
	for host, ok := range map[string]bool{"search.example:80": true, "[::1]:1": true, "localhost": false} {
		r := c.request("GET", "/openapi.json", nil)
		r.Host = host
		if got := c.send(r); ok != (got.status == 200) {
			t.Errorf("%s: %s", host, got.raw)
		}
	}
}

func TestOrigin(t *testing.T) {
	write := func(c *client, origin, site string) response {
		r := c.request("POST", "/v1/documents", `{"documents": [{"id": "x", "text": "x"}]}`)
		if origin != "" {
			r.Header.Set("Origin", origin)
		}
		if site != "" {
			r.Header.Set("Sec-Fetch-Site", site)
		}
		return c.send(r)
	}
	c := newClient(t, Options{})
	c.want(write(c, "", ""), 200, "")
	c.want(write(c, "http://localhost:7700", "same-origin"), 200, "")
	c.want(write(c, "https://evil.example", ""), 403, "wrong_origin")
	c.want(write(c, "https://evil.example", "cross-site"), 403, "wrong_origin")
	r := c.request("OPTIONS", "/v1/search", nil)
	r.Header.Set("Origin", "https://evil.example")
	r.Header.Set("Access-Control-Request-Method", "POST")
	if got := c.send(r); got.status < 400 || got.header.Get("Access-Control-Allow-Origin") != "" {
		t.Error(got.status, got.header)
	}

	c = newClient(t, Options{Origins: []string{"https://app.example"}})
	got := write(c, "https://app.example", "cross-site")
	c.want(got, 200, "")
	if got.header.Get("Access-Control-Allow-Origin") != "https://app.example" {
		t.Error(got.header)
	}
	c.want(write(c, "https://evil.example", "cross-site"), 403, "wrong_origin")
	r = c.request("OPTIONS", "/v1/search", nil)
	r.Header.Set("Origin", "https://app.example")
	r.Header.Set("Access-Control-Request-Method", "POST")
	w := httptest.NewRecorder()
	c.s.ServeHTTP(w, r)
	if w.Code != http.StatusNoContent || !strings.Contains(w.Header().Get("Access-Control-Allow-Headers"), "Authorization") {
		t.Error(w.Code, w.Header())
	}
}

func TestPathsAndMethods(t *testing.T) {
	page := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { _, _ = w.Write([]byte("page " + r.URL.Path)) })
	c := newClient(t, Options{Page: page})
	got := c.ask("GET", "/v1/search", nil)
	c.want(got, 405, "method_not_allowed")
	if got.header.Get("Allow") != "POST" {
		t.Error(got.header)
	}
	if got = c.ask("PATCH", "/v1/documents", nil); got.status != 405 || got.header.Get("Allow") != "GET, HEAD, POST, DELETE" {
		t.Error(got.status, got.header)
	}
	c.want(c.ask("GET", "/v1/nonsense", nil), 404, "unknown_path")
	c.want(c.ask("POST", "/", nil), 404, "unknown_path")
	for _, path := range []string{"/", "/app.js"} {
		w := httptest.NewRecorder()
		c.s.ServeHTTP(w, c.request("GET", path, nil))
		if w.Body.String() != "page "+path {
			t.Error(w.Body)
		}
	}
	c = newClient(t, Options{})
	c.want(c.ask("GET", "/", nil), 404, "unknown_path")
}

func TestContentTypes(t *testing.T) {
	c := newClient(t, Options{})
	for kind, code := range map[string]string{
		"application/json": "", "application/json; charset=UTF-8": "", "APPLICATION/JSON": "", "application/vnd.x+json": "",
		"": "unsupported_type", "text/plain": "unsupported_type", "application/x-www-form-urlencoded": "unsupported_type", "application/json; charset=latin1": "unsupported_type", ";": "unsupported_type", "application/x-ndjson": "unsupported_type",
	} {
		r := c.request("POST", "/v1/search", `{"query": "keys"}`)
		r.Header.Set("Content-Type", kind)
		status := 200
		if code != "" {
			status = 415
		}
		c.want(c.send(r), status, code)
	}
}

// broken is a database whose calls fail or panic.
type broken struct {
	engine.Database
	err error
}

func (b broken) Search(context.Context, engine.Query) (engine.Result, error) {
	if b.err == nil {
		panic("a mistake with /secret/path")
	}
	return engine.Result{}, b.err
}

func (b broken) Count(context.Context, engine.Filter) (int, error) { return 0, b.err }

func TestErrors(t *testing.T) {
	for _, s := range sentinels {
		err := &engine.DocumentError{Position: 3, ID: "x", Err: errors.Join(errors.New("in /secret/path"), s.err)}
		c := clientOf(t, broken{err: err}, Options{})
		got := c.ask("POST", "/v1/search", `{"query": "keys"}`)
		if got.status != s.status || got.code() != s.code || got.at(t, "error", "at") != 3.0 {
			t.Errorf("%v: %s", s.err, got.raw)
		}
		if s.status >= 500 && strings.Contains(got.raw, "secret") {
			t.Errorf("%v tells of the machine: %s", s.err, got.raw)
		}
	}
	var log bytes.Buffer
	for _, err := range []error{nil, errors.New("of /secret/path")} {
		log.Reset()
		c := clientOf(t, broken{err: err}, Options{Logger: slog.New(slog.NewTextHandler(&log, nil))})
		got := c.ask("POST", "/v1/search", `{"query": "keys"}`)
		c.want(got, 500, "internal")
		if strings.Contains(got.raw, "secret") || !strings.Contains(log.String(), "secret") || !strings.Contains(log.String(), got.at(t, "error", "request").(string)) {
			t.Errorf("%s\n%s", got.raw, &log)
		}
	}
}

func TestLogs(t *testing.T) {
	for _, texts := range []bool{false, true} {
		var log bytes.Buffer
		c := newClient(t, Options{Logger: slog.New(slog.NewJSONHandler(&log, nil)), LogQueries: texts})
		name := c.s.o.Encoder.Fingerprint().Model
		for path, body := range map[string]string{
			"/v1/search":       `{"query": "very private words"}`,
			"/v1/search/batch": `{"searches": [{"query": "very private words"}]}`,
			"/v1/explain":      `{"query": "very private words"}`,
			"/v1/rerank":       `{"query": "very private words", "documents": ["a"]}`,
			"/v1/embeddings":   `{"input": "very private words", "model": "` + name + `+rlr"}`,
		} {
			log.Reset()
			c.want(c.ask("POST", path, body), 200, "")
			var line map[string]any
			if err := json.Unmarshal(log.Bytes(), &line); err != nil {
				t.Fatal(err, log.String())
			}
			if line["route"] != path || line["status"] != 200.0 || line["method"] != "POST" || line["received"] != float64(len(body)) {
				t.Error(log.String())
			}
			if strings.Contains(log.String(), "private") != texts {
				t.Errorf("with LogQueries %v: %s", texts, &log)
			}
		}
		log.Reset()
		c.ask("POST", "/v1/search", `{"query": "very private words", "filter": "very private"}`)
		c.ask("GET", "/v1/documents/private", nil)
		if strings.Contains(log.String(), "private") {
			t.Error(log.String())
		}
	}
}

func TestMetrics(t *testing.T) {
	c := newClient(t, Options{})
	c.ask("POST", "/v1/search", `{"query": "keys"}`)
	c.ask("POST", "/v1/search", `{}`)
	c.ask("POST", "/v1/embeddings", `{"input": ["a", "b"]}`)
	c.ask("GET", "/v1/documents/a-path-of-its-own", nil)
	r := c.request("GET", "/metrics", nil)
	r.Method = "GET"
	w := httptest.NewRecorder()
	c.s.ServeHTTP(w, r)
	text := w.Body.String()
	for _, line := range []string{
		`lexsem_http_requests_total{method="POST",route="/v1/search",status="200"} 1`,
		`lexsem_http_requests_total{method="POST",route="/v1/search",status="400"} 1`,
		`lexsem_http_requests_total{method="GET",route="/v1/documents/{id...}",status="404"} 1`,
		`lexsem_http_request_seconds_count{method="POST",route="/v1/search"} 2`,
		`lexsem_http_in_flight 1`,
		`lexsem_documents 3`,
		`lexsem_database_up 1`,
		`lexsem_encoder_texts_total{role="passage"} 2`,
		`lexsem_search_step_seconds_count{step="encode"} 1`,
		`lexsem_memory_bytes{part="vectors"}`, `lexsem_memory_bytes{part="tokens"}`,
		`go_goroutines`,
	} {
		if !strings.Contains(text, "\n"+line) {
			t.Errorf("no %s", line)
		}
	}
	if strings.Contains(text, "a-path-of-its-own") {
		t.Error("a path of a client is a label")
	}
	if n := c.s.buffers.taken() + c.s.values.used.Load(); n != 0 {
		t.Errorf("%d bytes of bodies are still held", n)
	}
}

func TestMetricsOfCollections(t *testing.T) {
	all := map[string]engine.Database{"empty": database(t, nil, engine.Options{Dim: 8}), "notes": database(t, encoder.NewHash(64), engine.Options{}), "broken": broken{err: engine.ErrCorrupt}}
	c := clientOf(t, all["notes"], Options{Collections: &sets{t: t, all: all}})
	w := httptest.NewRecorder()
	c.s.ServeHTTP(w, c.request("GET", "/metrics", nil))
	var got []string
	for line := range strings.Lines(w.Body.String()) {
		if strings.HasPrefix(line, "lexsem_collection_") {
			got = append(got, strings.TrimSpace(line))
		}
	}
	if want := []string{
		`lexsem_collection_documents{collection="empty"} 0`, `lexsem_collection_documents{collection="notes"} 3`,
		`lexsem_collection_up{collection="broken"} 0`, `lexsem_collection_up{collection="empty"} 1`, `lexsem_collection_up{collection="notes"} 1`,
	}; !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
}

// spans records the names of spans, and what called them.
type spans struct {
	embedded.TracerProvider
	tracer
}

func (s spans) Tracer(string, ...trace.TracerOption) trace.Tracer { return s.tracer }

type tracer struct {
	noop.Tracer
	names *[]string
	from  *trace.TraceID
}

func (s tracer) Start(ctx context.Context, name string, o ...trace.SpanStartOption) (context.Context, trace.Span) {
	*s.from = trace.SpanContextFromContext(ctx).TraceID()
	ctx, span := s.Tracer.Start(ctx, name, o...)
	return ctx, named{span, s.names}
}

type named struct {
	trace.Span
	names *[]string
}

func (n named) SetName(name string) { *n.names = append(*n.names, name) }

func TestSpans(t *testing.T) {
	var names []string
	var from trace.TraceID
	c := newClient(t, Options{Tracer: spans{tracer: tracer{names: &names, from: &from}}})
	r := c.request("POST", "/v1/search", `{"query": "keys"}`)
	r.Header.Set("traceparent", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01")
	c.want(c.send(r), 200, "")
	if len(names) != 1 || names[0] != "POST /v1/search" || from.String() != "0af7651916cd43dd8448eb211c80319c" {
		t.Error(names, from)
	}
}

func TestOptions(t *testing.T) {
	for _, o := range []Options{{MaxBody: -1}, {MaxK: engine.MaxK + 1}, {Timeout: -1}, {Hosts: []string{"http://x"}}, {Hosts: []string{""}}, {Origins: []string{"app.example"}}, {Concurrency: -1}} {
		if _, err := New(broken{}, o); !errors.Is(err, engine.ErrInvalid) {
			t.Errorf("%+v: %v", o, err)
		}
	}
}

// slow is an encoder that waits for its context, or for a sign.
type slow struct {
	encoder.Encoder
	begun chan struct{}
	go_   chan struct{}
}

func (s slow) Encode(ctx context.Context, role encoder.Role, in []encoder.Input, need encoder.Need) ([]encoder.Output, error) {
	select {
	case s.begun <- struct{}{}:
	default:
	}
	select {
	case <-s.go_:
		return s.Encoder.Encode(ctx, role, in, need)
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// unanswered answers no search.
type unanswered struct{ engine.Database }

func (unanswered) Search(ctx context.Context, _ engine.Query) (engine.Result, error) {
	<-ctx.Done()
	return engine.Result{}, ctx.Err()
}

// Texts of a request may be encoded as long as texts that are stored.
func TestTimeout(t *testing.T) {
	enc := encoder.NewHash(64)
	c := clientOf(t, unanswered{database(t, enc, engine.Options{})}, Options{Encoder: enc, Timeout: time.Nanosecond})
	c.want(c.ask("POST", "/v1/search", `{"query": "a"}`), 504, "timeout")
	blocked := newClient(t, Options{Encoder: slow{enc, make(chan struct{}, 9), make(chan struct{})}, LoadTimeout: 20 * time.Millisecond})
	for path, body := range map[string]string{"/v1/embeddings": `{"input": "a"}`, "/v1/rerank": `{"query": "a", "documents": ["b"]}`, "/v2/rerank": `{"query": "a", "documents": ["b"]}`} {
		c.want(c.ask("POST", path, body), 200, "")
		blocked.want(blocked.ask("POST", path, body), 504, "timeout")
	}
}

func TestOverload(t *testing.T) {
	enc := slow{encoder.NewHash(64), make(chan struct{}, 9), make(chan struct{})}
	c := newClient(t, Options{Encoder: enc, Concurrency: 1, Queue: 1, QueueTime: 30 * time.Millisecond, MCP: tellMayWrite})
	agent := func() int {
		w := httptest.NewRecorder()
		c.s.ServeHTTP(w, c.request("POST", "/mcp", "{}"))
		return w.Code
	}
	ended := make(chan int, 2)
	ask := func() {
		w := httptest.NewRecorder()
		c.s.ServeHTTP(w, c.request("POST", "/v1/embeddings", `{"input": "a"}`))
		ended <- w.Code
	}
	go ask()
	<-enc.begun
	got := c.ask("POST", "/v1/search", `{"query": "keys"}`) // waits its time out
	c.want(got, 429, "overloaded")
	if got.header.Get("Retry-After") == "" {
		t.Error(got.header)
	}
	if code := agent(); code != 429 {
		t.Errorf("an agent is answered with %d", code)
	}
	c.want(c.ask("GET", "/healthz", nil), 200, "")
	c.want(c.ask("GET", "/readyz", nil), 200, "")
	close(enc.go_)
	if code := <-ended; code != 200 {
		t.Error(code)
	}
	c.want(c.ask("POST", "/v1/search", `{"query": "keys"}`), 200, "")
	if code := agent(); code != 200 || len(c.s.slots.free) > 0 || c.s.buffers.taken() > 0 {
		t.Errorf("an agent is answered with %d, %d turns and %d bytes are taken", code, len(c.s.slots.free), c.s.buffers.taken())
	}

	full := newSlots(Options{Concurrency: 1, Queue: 1, QueueTime: time.Hour})
	give, err := full.take(t.Context(), false)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	waits := make(chan error)
	go func() { _, err := full.take(ctx, false); waits <- err }()
	for full.waiting.Load() == 0 {
		time.Sleep(time.Millisecond)
	}
	if _, err := full.take(t.Context(), false); errorOf(err).Code != "overloaded" {
		t.Error(err)
	}
	cancel()
	if err := <-waits; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	give()
	if _, err := full.take(t.Context(), false); err != nil {
		t.Error(err)
	}
}
