package provision

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/lexsem/lexsem/internal/provision/internal/clientconf"
)

// testSession is a session in an empty cache that reaches nothing but url.
func testSession(t *testing.T, url string) (*session, *log) {
	t.Helper()
	l := new(log)
	s, err := newSession(Request{CacheDir: t.TempDir(), Log: l.line, Progress: l.event})
	if err != nil {
		t.Fatal(err)
	}
	s.hub, s.releases = url+"/hub/", url+"/releases/"
	s.backoff = time.Millisecond
	s.env = clientconf.Env{Getenv: func(string) string { return "" }, OS: "linux", Root: t.TempDir()}
	return s, l
}

// log keeps lines and events; the reporter calls it one at a time.
type log struct {
	lines  []string
	events []Event
	heard  func(line string) // nil, or called for each
}

func (l *log) line(s string) {
	if l.lines = append(l.lines, s); l.heard != nil {
		l.heard(s)
	}
}
func (l *log) event(e Event)  { l.events = append(l.events, e) }
func (l *log) String() string { return strings.Join(l.lines, "\n") }

var testFiles = map[string]string{"model.safetensors": strings.Repeat("weights ", 50_000), "tokenizer.json": "{}"}

// testModel is an artifact whose only package is downloaded file by file.
func testModel(s *session) artifact {
	p := Package{Via: "download", Name: "maker/name", Version: "main"}
	for _, n := range []string{"model.safetensors", "tokenizer.json"} {
		p.Files = append(p.Files, File{Member: n, Name: n, Size: int64(len(testFiles[n])), SHA256: sumOf([]byte(testFiles[n]))})
	}
	return artifact{name: "model", dir: filepath.Join(s.cache, "models", "model"), main: "model.safetensors", packages: []Package{p}, remedy: "do something"}
}

func TestDownload(t *testing.T) {
	body := testFiles["model.safetensors"]
	hang := make(chan struct{})
	serve := func(w http.ResponseWriter, r *http.Request) {
		name := filepath.Base(r.URL.Path)
		if !strings.HasPrefix(r.URL.Path, "/hub/maker/name/resolve/main/") {
			http.NotFound(w, r)
			return
		}
		fmt.Fprint(w, testFiles[name])
	}
	cut := func(n int) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Length", fmt.Sprint(len(body)))
			fmt.Fprint(w, body[:n])
		}
	}
	for _, c := range []struct {
		name    string
		handler http.HandlerFunc
		text    string // of the error; "" for success
		want    error
	}{
		{"good", serve, "", nil},
		{"redirect", func(w http.ResponseWriter, r *http.Request) {
			if path, ok := strings.CutPrefix(r.URL.Path, "/moved"); ok {
				r.URL.Path = path
				serve(w, r)
				return
			}
			http.Redirect(w, r, "/moved"+r.URL.Path, http.StatusFound)
		}, "", nil},
		{"endless redirect", func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, r.URL.Path, http.StatusFound) }, "redirects", nil},
		{"cut at 0", cut(0), "unexpected EOF", nil},
		{"cut at 1", cut(1), "unexpected EOF", nil},
		{"cut in the middle", cut(len(body) / 2), "unexpected EOF", nil},
		{"cut before the end", cut(len(body) - 1), "unexpected EOF", nil},
		{"short, without a length", func(w http.ResponseWriter, r *http.Request) {
			fmt.Fprint(w, body[:1000])
			w.(http.Flusher).Flush()
		}, "SHA-256", ErrDigest},
		{"other bytes", func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, strings.ToUpper(body)) }, "SHA-256", ErrDigest},
		{"too long", func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, body, body) }, "longer", ErrArchive},
		{"absent", http.NotFound, "404", nil},
		{"forbidden", func(w http.ResponseWriter, r *http.Request) { http.Error(w, "no", http.StatusForbidden) }, "403", nil},
		{"silent", func(w http.ResponseWriter, r *http.Request) { <-hang }, "sent nothing", nil},
		{"silent in the middle", func(w http.ResponseWriter, r *http.Request) {
			fmt.Fprint(w, body[:1000])
			w.(http.Flusher).Flush()
			<-hang
		}, "sent nothing", nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			server := httptest.NewServer(c.handler)
			defer server.Close()
			if strings.HasPrefix(c.name, "silent") {
				hang = make(chan struct{})
				defer close(hang)
			}
			s, l := testSession(t, server.URL)
			if strings.HasPrefix(c.name, "silent") {
				s.silence = 300 * time.Millisecond
			}
			begin := time.Now()
			p, err := s.obtain(t.Context(), testModel(s))
			if took := time.Since(begin); took > 5*time.Second {
				t.Errorf("it took %v", took)
			}
			if left, _ := os.ReadDir(s.staging()); len(left) > 0 {
				t.Errorf("the staging folder holds %v", left)
			}
			if c.text != "" {
				var m *MissingError
				if !errors.As(err, &m) || !strings.Contains(err.Error(), c.text) || c.want != nil && !errors.Is(err, c.want) {
					t.Errorf("%v, want a MissingError that says %q", err, c.text)
				}
				if _, err := os.Stat(filepath.Join(s.cache, "models", "model")); err == nil {
					t.Error("the model is in the cache")
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if p.Route != "download" || p.Cached || p.SHA256 != sumOf([]byte(body)) {
				t.Errorf("provenance %+v", p)
			}
			last := l.events[len(l.events)-1]
			if !last.Done || !slices.ContainsFunc(l.events, func(e Event) bool { return e.Total == int64(len(body)+2) && e.Bytes > 0 }) {
				t.Errorf("events %+v", l.events)
			}
		})
	}
}

// The time after which a silent server is given up, in real use.
func TestPatience(t *testing.T) {
	s, err := newSession(Request{CacheDir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	if s.silence > 10*time.Second {
		t.Errorf("silence is borne for %v, want at most 10 s", s.silence)
	}
}

func TestDownloadUnreachable(t *testing.T) {
	server := httptest.NewServer(nil)
	server.Close()
	s, _ := testSession(t, server.URL)
	if _, err := s.obtain(t.Context(), testModel(s)); err == nil || !strings.Contains(err.Error(), "refused") {
		t.Errorf("%v", err)
	}
}

func TestDownloadCancelled(t *testing.T) {
	hang := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-hang }))
	defer server.Close()
	defer close(hang)
	s, _ := testSession(t, server.URL)
	s.silence = time.Minute
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := s.obtain(ctx, testModel(s)); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("%v", err)
	}
}

// The library comes out of an archive whose own digest is pinned.
func TestDownloadRelease(t *testing.T) {
	const lib = "the library"
	archive := makeTgz(t,
		member{name: "r-1/lib/libonnxruntime.so", body: "libonnxruntime.so.1", link: true},
		member{name: "r-1/lib/libonnxruntime.so.1", body: lib})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/releases/v1/r-1.tgz" {
			w.Write(archive)
		}
	}))
	defer server.Close()
	for _, sum := range []string{sumOf(archive), sumOf(nil)} {
		s, _ := testSession(t, server.URL)
		a := artifact{name: "onnxruntime", dir: filepath.Join(s.cache, "lib"), main: "lib.so", file: true, packages: []Package{{
			Via: "download", Name: "onnxruntime", Version: "1", Archive: "r-1.tgz", SHA256: sum,
			Files: []File{{Member: "r-1/lib/libonnxruntime.so.1", Name: "lib.so"}}}}}
		p, err := s.obtain(t.Context(), a)
		if sum != sumOf(archive) {
			if !errors.Is(err, ErrDigest) {
				t.Errorf("an archive with another digest gave %v", err)
			}
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		if b, err := os.ReadFile(p.Path); string(b) != lib || p.Path != filepath.Join(s.cache, "lib", "lib.so") {
			t.Errorf("%s holds %q, %v", p.Path, b, err)
		}
	}
}
