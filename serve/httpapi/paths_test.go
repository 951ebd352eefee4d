package httpapi

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/lexsem/lexsem/encoder"
	"github.com/lexsem/lexsem/engine"
)

// oddIDs are ids of documents that a path would lose, were it cleaned.
var oddIDs = []string{"..", ".", "...", "a", "b", "a/b", "a//b", "/", "//", "/a", "a/", "a/..", "a/../b", "./a", "../a", "../../stats", "a/./b", "%2e%2e", "%2F", "a%2Fb",
	"keys", "../documents/keys", "a b", "a?b", "a#b", "a;b", "a+b", `a"b`, `x/documents/a"`, "é", "\u0000", "\r\nX: y", "\xff", strings.Repeat("n", engine.MaxID)}

// literal records which documents and collections are asked for.
type literal struct {
	engine.Database
	asked *[]string
}

func (l literal) note(id string) error {
	*l.asked = append(*l.asked, id)
	return engine.ErrNotFound
}

func (l literal) Get(_ context.Context, id string) (engine.Document, error) {
	return engine.Document{}, l.note("id " + id)
}

func (l literal) Delete(_ context.Context, ids []string) (int, error) {
	return 0, l.note("id " + ids[0])
}

func (l literal) DeleteWhere(context.Context, engine.Filter) (int, error) { return 0, l.note("all") }

func (l literal) Upsert(_ context.Context, docs []engine.Document) (engine.AddResult, error) {
	return engine.AddResult{}, l.note("id " + docs[0].ID)
}

func (l literal) Patch(_ context.Context, p []engine.Patch) (int, error) {
	return 0, l.note("id " + p[0].ID)
}

// literalSets are collections, each of which is a literal.
type literalSets struct{ literal }

func (l literalSets) List(context.Context) ([]string, error) { return nil, nil }

func (l literalSets) Create(_ context.Context, name, _ string) error { return l.note("name " + name) }

func (l literalSets) Drop(_ context.Context, name string) error { return l.note("name " + name) }

func (l literalSets) Get(_ context.Context, name string) (engine.Database, error) {
	_ = l.note("name " + name)
	return l.literal, nil
}

func (l literalSets) Opened() map[string]engine.Database { return nil }

// spelled is what a raw path names: a path of the server, a collection and a document, with
// nothing cleaned; "" for a path that the server has not.
func spelled(paths []string, raw string) (path, name, id string) {
	var parts []string
	for _, s := range strings.Split(raw, "/") {
		s, err := url.PathUnescape(s)
		if err != nil {
			return "", "", ""
		}
		parts = append(parts, s)
	}
	for _, p := range paths {
		want := strings.Split(p, "/")
		if n := len(want); want[n-1] == "{id...}" && len(parts) >= n {
			id = strings.Join(parts[n-1:], "/")
			want, parts := want[:n-1], parts[:n-1]
			if name, ok := sameParts(want, parts); ok {
				return p, name, id
			}
		} else if name, ok := sameParts(want, parts); ok {
			return p, name, ""
		}
	}
	return "", "", ""
}

func sameParts(want, parts []string) (name string, ok bool) {
	if len(want) != len(parts) {
		return "", false
	}
	for i, w := range want {
		if w == "{name}" && parts[i] != "" {
			name = parts[i]
		} else if w != parts[i] {
			return "", false
		}
	}
	return name, true
}

// crooked are other spellings of a path, most of which a cleaner would make that path, or
// another one that there is.
func crooked(path string) []string {
	all := []string{path, "/" + path, "//x" + path, path + "/", path + "//", path + "/.", path + "/..", path + "/../x", path + "/%2e%2e", path + "%2F", path + "%2f..", path + "%00", "/x/.." + path, "/.." + path}
	for i, c := range path {
		if c == '/' && i > 0 {
			for _, s := range []string{"//", "/./", "/../", "/x/../", "/%2e/", "/%2E%2e/", "%2F", "%2f%2e%2e%2f", "/%2F", `"%2F`} {
				all = append(all, path[:i]+s+path[i+1:])
			}
		}
	}
	last := path[strings.LastIndex(path, "/")+1:]
	folder := strings.TrimSuffix(path, last)
	return append(all, folder, folder+strings.ReplaceAll(fmt.Sprintf(" % x", last), " ", "%"))
}

// TestPathsAreLiteral asks for every path of the server in many spellings with every method: the
// answer is that of the path, the collection and the document which the spelling names, or an
// error, and none sends the client elsewhere.
func TestPathsAreLiteral(t *testing.T) {
	var asked []string
	var log bytes.Buffer
	enc := encoder.NewHash(8)
	all := literal{database(t, enc, engine.Options{}), &asked}
	page := func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/" {
			w.WriteHeader(http.StatusNotFound)
		}
	}
	c := clientOf(t, all, Options{Encoder: enc, Collections: literalSets{all}, Page: http.HandlerFunc(page), MCP: tellMayWrite, Logger: slog.New(slog.NewJSONHandler(&log, nil))})
	methods := map[string][]string{"/": {"GET"}, "/metrics": {"GET"}, "/mcp": {"GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "CONNECT", "TRACE", "get"}}
	paths := []string{"/", "/metrics", "/mcp"}
	for _, rt := range routes() {
		if methods[rt.path] == nil {
			paths = append(paths, rt.path)
		}
		methods[rt.path] = append(methods[rt.path], rt.method)
	}
	targets := []string{"/v1", "/v1/", "/v1/.."}
	for _, p := range paths {
		targets = append(targets, crooked(strings.NewReplacer("{name}", "notes", "{id...}", "keys").Replace(p))...)
		for _, id := range oddIDs {
			if strings.Contains(p, "{") {
				whole := url.PathEscape(id)
				targets = append(targets, strings.NewReplacer("{name}", whole, "{id...}", whole).Replace(p), strings.NewReplacer("{name}", "notes", "{id...}", strings.ReplaceAll(whole, "%2F", "/")).Replace(p))
			}
		}
	}
	slices.Sort(targets)
	if targets = slices.Compact(targets); len(targets) < 1000 {
		t.Fatal(len(targets))
	}
	bodies := map[string]string{"PUT": `{"text":"x"}`, "PATCH": `{"metadata":{}}`, "POST": `{}`}
	for _, target := range targets {
		for _, method := range []string{"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "CONNECT", "TRACE", "get"} {
			asked = asked[:0]
			log.Reset()
			body := bodies[method]
			head := fmt.Sprintf("%s %s HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", method, target, len(body), body)
			r, err := http.ReadRequest(bufio.NewReader(strings.NewReader(head)))
			if err != nil {
				continue // net/http answers 400
			}
			w := httptest.NewRecorder()
			c.s.ServeHTTP(w, r)
			var line struct{ Route string }
			if err := json.Unmarshal(log.Bytes(), &line); err != nil {
				t.Fatal(err, log.String())
			}
			raw, _, _ := strings.Cut(target, "?")
			path, name, id := spelled(paths, raw)
			as := strings.Replace(method, "HEAD", "GET", 1)
			if !slices.Contains(methods[path], as) {
				known := path != ""
				path = "other"
				if as == "GET" && !known && !strings.HasPrefix(r.URL.Path, "/v1/") {
					path = "/" // of the page, which has no more than that
				}
			}
			var want []string
			if path != "other" && strings.HasPrefix(path, collectionPrefix) {
				want = append(want, "name "+name)
			}
			switch {
			case strings.HasSuffix(path, "/documents/{id...}") && (id != "" || method == "PUT" || method == "PATCH"):
				want = append(want, "id "+id)
			case strings.HasSuffix(path, "/documents") && method == "DELETE":
				want = append(want, "all")
			}
			if w.Code/100 == 3 || w.Header().Get("Location") != "" || w.Code >= 500 || line.Route != path || (path == "other" || path == "/" && raw != "/") && w.Code < 400 {
				t.Errorf("%s %s: %d by %s %v, want %s", method, target, w.Code, line.Route, w.Header(), path)
			}
			if !slices.Equal(asked, want) {
				t.Errorf("%s %s: asked for %q, want %q", method, target, asked, want)
			}
		}
	}
}

// TestOddIDs stores, reads, changes and deletes documents with odd ids in a collection as a
// client of package net/http does, one at a time: none of the others is touched.
func TestOddIDs(t *testing.T) {
	all := &sets{t: t, all: map[string]engine.Database{"notes": database(t, encoder.NewHash(8), engine.Options{})}}
	base, _ := running(t, database(t, encoder.NewHash(8), engine.Options{}), Options{Collections: all})
	client := &http.Client{CheckRedirect: func(r *http.Request, _ []*http.Request) error { return fmt.Errorf("a redirect to %s", r.URL) }}
	ask := func(method, id, body string) (int, string) {
		t.Helper()
		r, err := http.NewRequestWithContext(t.Context(), method, base+"/v1/collections/notes/documents/"+url.PathEscape(id), strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Content-Type", kindJSON)
		got, err := client.Do(r)
		if err != nil {
			t.Fatalf("%s %q: %v", method, id, err)
		}
		defer got.Body.Close()
		raw, err := io.ReadAll(got.Body)
		if err != nil {
			t.Fatal(err)
		}
		return got.StatusCode, string(raw)
	}
	db := all.all["notes"]
	count := func() int {
		n, err := db.Count(t.Context(), engine.Filter{})
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	if _, err := db.Delete(t.Context(), []string{"keys"}); err != nil {
		t.Fatal(err)
	}
	others := count()
	for i, id := range oddIDs {
		if status, raw := ask("PUT", id, fmt.Sprintf(`{"text": "number %d"}`, i)); status != 200 || count() != others+i+1 {
			t.Fatalf("%q: %d %s", id, status, raw)
		}
	}
	for i, id := range oddIDs {
		status, raw := ask("PATCH", id, fmt.Sprintf(`{"metadata": {"at": %d}}`, i))
		if status != 200 || !strings.Contains(raw, `"patched":1`) {
			t.Errorf("%q: %d %s", id, status, raw)
		}
	}
	for i, id := range oddIDs {
		if status, raw := ask("GET", id, ""); status != 200 || !strings.Contains(raw, fmt.Sprintf(`"number %d"`, i)) || !strings.Contains(raw, fmt.Sprintf(`"at":%d`, i)) {
			t.Errorf("%q: %d %s", id, status, raw)
		}
	}
	for i, id := range oddIDs {
		if status, raw := ask("DELETE", id, ""); status != 200 || count() != others+len(oddIDs)-i-1 {
			t.Fatalf("%q: %d %s", id, status, raw)
		}
		if status, raw := ask("DELETE", id, ""); status != 404 {
			t.Errorf("%q again: %d %s", id, status, raw)
		}
	}
}

// TestRawRequests sends lines that no client library sends.
func TestRawRequests(t *testing.T) {
	u, _ := running(t, database(t, encoder.NewHash(8), engine.Options{}), Options{MCP: tellMayWrite})
	for line, status := range map[string]int{
		"CONNECT /v1/stats": 405, "CONNECT /v1/documents/": 405, "CONNECT /v1//stats": 404, "CONNECT /v1": 404, "CONNECT localhost:80": 404, "OPTIONS *": 200, "OPTIONS /v1/stats": 405,
		"GET *": 404, "DELETE *": 404, "GET http://localhost/v1/stats": 200, "GET http://localhost/v1/x/../stats": 404, "GET http://localhost": 404, "GET http://evil.example/v1/stats": 403,
		"GET http://localhost//v1/stats": 404, "DELETE /v1/collections/notes/documents/..": 404, "DELETE /v1/documents/a/../keys": 404, "GET /v1/documents/x//../keys": 404, "G E T /v1/stats": 400,
		"GET /v1/documents/%zz": 400, "get /v1/stats": 405, "TRACE /v1/stats": 405, "GET /v1/documents/" + strings.Repeat("n", engine.MaxID+1): 400,
		"DELETE /v1/documents/" + strings.Repeat("n", engine.MaxID+1): 400, "DELETE /v1/documents?id=": 400, "DELETE /v1/documents?id=keys&id=" + strings.Repeat("n", engine.MaxID+1): 400,
		"GET /v1/documents/": 400, "DELETE /v1/documents/": 400, "GET /v1/documents/keys": 200, "DELETE /v1/documents": 400, "GET /v1/documents": 200, "GET /v1/documents?x=/../": 400,
	} {
		conn, err := net.Dial("tcp", strings.TrimPrefix(u, "http://"))
		if err != nil {
			t.Fatal(err)
		}
		_, err = fmt.Fprintf(conn, "%s HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n", line)
		if err != nil {
			t.Fatal(err)
		}
		got, err := http.ReadResponse(bufio.NewReader(conn), nil)
		if err != nil {
			t.Fatal(line, err)
		}
		if got.StatusCode != status || got.Header.Get("Location") != "" {
			t.Errorf("%.80s: %d %v, want %d", line, got.StatusCode, got.Header, status)
		}
		if err := conn.Close(); err != nil {
			t.Error(err)
		}
	}
}
