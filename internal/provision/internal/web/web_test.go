package web

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// body is what the servers of these tests have.
var body = func() []byte {
	b := make([]byte, 300_000)
	for i := range b {
		b[i] = byte(i * i >> 7)
	}
	return b
}()

func client() *Client {
	return New(Options{Silence: 10 * time.Second, Backoff: time.Millisecond})
}

func serve(t *testing.T, h http.HandlerFunc) string {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return s.URL
}

// send serves the body as a usual server does.
func send(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("ETag", `"v"`)
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(body))
}

// partial answers with a Content-Range and bytes of the test's choosing.
func partial(w http.ResponseWriter, span, etag string, b []byte) {
	w.Header().Set("Content-Range", span)
	if etag != "" {
		w.Header().Set("ETag", etag)
	}
	w.WriteHeader(http.StatusPartialContent)
	w.Write(b)
}

// TestDownload: what is there afterwards is the file, or the error says what is wrong.
func TestDownload(t *testing.T) {
	size := int64(len(body))
	whole, part := Piece{Most: size}, Piece{From: 1000, Size: 5000, Validator: `"v"`}
	for _, c := range []struct {
		name    string
		piece   Piece
		handler http.HandlerFunc
		want    error
		text    string
	}{
		{"whole", whole, send, nil, ""},
		{"part", part, send, nil, ""},
		{"whole, longer than allowed", Piece{Most: size - 1}, send, ErrTooLong, "longer than 299999 bytes"},
		{"part of a server that sends none", part, func(w http.ResponseWriter, r *http.Request) { r.Header.Del("Range"); send(w, r) }, ErrNoRanges, ""},
		{"part of another file", Piece{From: 1, Size: 9, Validator: `"u"`}, send, ErrChanged, ""},
		{"part that changed", part, func(w http.ResponseWriter, r *http.Request) {
			partial(w, fmt.Sprintf("bytes 1000-5999/%d", size), `"u"`, body[1000:6000])
		}, ErrChanged, ""},
		{"another part", part, func(w http.ResponseWriter, r *http.Request) {
			partial(w, fmt.Sprintf("bytes 0-4999/%d", size), `"v"`, body[:5000])
		}, nil, "another part"},
		{"part that is too long", part, func(w http.ResponseWriter, r *http.Request) {
			partial(w, fmt.Sprintf("bytes 1000-5999/%d", size), `"v"`, body[1000:9000])
		}, ErrTooLong, ""},
		{"part that is too short", part, func(w http.ResponseWriter, r *http.Request) {
			partial(w, fmt.Sprintf("bytes 1000-5999/%d", size), `"v"`, nil)
		}, io.ErrUnexpectedEOF, ""},
		{"part where there is none", Piece{From: size + 1, Size: 5, Validator: `"v"`}, send, ErrChanged, ""},
		{"a range nobody asked for", whole, func(w http.ResponseWriter, r *http.Request) {
			partial(w, fmt.Sprintf("bytes 0-%d/%d", size-1, size), `"v"`, body)
		}, nil, "another part"},
		{"an unreadable range", part, func(w http.ResponseWriter, r *http.Request) { partial(w, "bytes x", `"v"`, nil) }, nil, "another part"},
		{"an address that is none", Piece{URL: "ftp://host/file", Most: 1}, nil, nil, "only http and https"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.handler != nil {
				c.piece.URL = serve(t, c.handler) + "/file"
			}
			path := filepath.Join(t.TempDir(), "part")
			_, err := client().Download(t.Context(), c.piece, path, nil)
			if c.want != nil || c.text != "" {
				if err == nil || c.want != nil && !errors.Is(err, c.want) || !strings.Contains(err.Error(), c.text) {
					t.Errorf("%v, want %v %q", err, c.want, c.text)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			want := body
			if c.piece.Size > 0 {
				want = body[c.piece.From : c.piece.From+c.piece.Size]
			}
			if got, err := os.ReadFile(path); !bytes.Equal(got, want) {
				t.Errorf("%d bytes, want %d; %v", len(got), len(want), err)
			}
			if err := Remove(path); err != nil {
				t.Error(err)
			}
			if left, err := os.ReadDir(filepath.Dir(path)); len(left) > 0 || err != nil {
				t.Errorf("left %v, %v", left, err)
			}
		})
	}
}

// A file is completed from any length on, by asking for the rest alone, and made
// anew where the server's has changed or does not say.
func TestDownloadResumes(t *testing.T) {
	for _, n := range []int{0, 1, 1000, len(body) - 1, len(body)} {
		for _, state := range []string{"same", "changed", "none", "date"} {
			var first atomic.Bool
			first.Store(true)
			var sent atomic.Int64
			address := serve(t, func(w http.ResponseWriter, r *http.Request) {
				switch {
				case state == "date":
					w.Header().Set("Last-Modified", "Thu, 01 Jan 2026 00:00:00 GMT")
				case state == "changed" && !first.Load():
					w.Header().Set("ETag", `"w"`)
				case state != "none":
					w.Header().Set("ETag", `"v"`)
				}
				if first.Load() { // cut after n bytes, and gone after that
					if r.Header.Get("Range") != "" || sent.Load() > 0 {
						http.Error(w, "no", http.StatusForbidden)
						return
					}
					sent.Add(1)
					w.Header().Set("Content-Length", strconv.Itoa(len(body)))
					w.Write(body[:n])
					return
				}
				modified := time.Time{}
				if state == "date" {
					modified = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
				}
				http.ServeContent(counter{w, &sent}, r, "", modified, bytes.NewReader(body))
			}) + "/file"
			path := filepath.Join(t.TempDir(), "part")
			_, err := client().Download(t.Context(), Piece{URL: address, Most: int64(len(body))}, path, nil)
			if (err == nil) != (n == len(body)) {
				t.Fatalf("%d, %s: the first run: %v", n, state, err)
			}
			first.Store(false)
			sent.Store(0)
			resumed, err := client().Download(t.Context(), Piece{URL: address, Most: int64(len(body))}, path, nil)
			if err != nil {
				t.Fatalf("%d, %s: %v", n, state, err)
			}
			want := int64(len(body))
			used := n > 0 && (state == "same" || state == "date" || state == "changed" && n == len(body))
			if used {
				want -= int64(n)
			}
			if sent.Load() != want || resumed != used {
				t.Errorf("%d, %s: %d bytes were sent, want %d; resumed %v", n, state, sent.Load(), want, resumed)
			}
			if got, err := os.ReadFile(path); !bytes.Equal(got, body) {
				t.Errorf("%d, %s: %d bytes that differ, %v", n, state, len(got), err)
			}
		}
	}
}

// A part that an earlier run left of another state of the file is fetched anew.
func TestDownloadOtherState(t *testing.T) {
	etag, cut := `"old"`, true
	address := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if cut && r.Header.Get("If-Range") != "" && r.Header.Get("Range") != "bytes=0-99999" {
			http.Error(w, "no", http.StatusForbidden)
			return
		}
		w.Header().Set("ETag", etag)
		if cut {
			w.Header().Set("Content-Range", fmt.Sprintf("bytes 0-99999/%d", len(body)))
			w.WriteHeader(http.StatusPartialContent)
			w.Write(body[:10_000])
			return
		}
		http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(body))
	})
	path := filepath.Join(t.TempDir(), "part")
	p := Piece{URL: address, Size: 100_000, Validator: etag}
	if _, err := client().Download(t.Context(), p, path, nil); err == nil {
		t.Fatal("it was not cut")
	}
	if b, err := os.ReadFile(path); len(b) != 10_000 || err != nil {
		t.Fatalf("%d bytes were left, %v", len(b), err)
	}
	cut, etag = false, `"new"`
	p.Validator = etag
	if resumed, err := client().Download(t.Context(), p, path, nil); err != nil || resumed {
		t.Errorf("resumed %v, %v", resumed, err)
	}
	if got, err := os.ReadFile(path); !bytes.Equal(got, body[:100_000]) {
		t.Errorf("%d bytes that differ, %v", len(got), err)
	}
}

type counter struct {
	http.ResponseWriter
	n *atomic.Int64
}

func (c counter) Write(p []byte) (int, error) {
	c.n.Add(int64(len(p)))
	return c.ResponseWriter.Write(p)
}

// What the server asks to wait is waited for, unless it is too long; who is told
// no for good does not ask again.
func TestRetries(t *testing.T) {
	for _, c := range []struct {
		code  int
		after string
		calls int32 // until the error
	}{{404, "", 1}, {403, "", 1}, {401, "", 1}, {400, "", 1}, {429, "", tries}, {500, "0", tries}, {503, "x", tries}, {502, "", tries}, {504, "", tries}, {429, "3600", 1},
		{503, "Thu, 01 Jan 2099 00:00:00 GMT", 1}} {
		var calls atomic.Int32
		address := serve(t, func(w http.ResponseWriter, r *http.Request) {
			calls.Add(1)
			if c.after != "" {
				w.Header().Set("Retry-After", c.after)
			}
			http.Error(w, "no", c.code)
		})
		_, err := client().Get(t.Context(), address+"/page?key=s3cr3t", "*/*", 100)
		var s *StatusError
		if !errors.As(err, &s) || s.Code != c.code || calls.Load() != c.calls || strings.Contains(err.Error(), "s3cr3t") {
			t.Errorf("%d: %v after %d calls, want %d", c.code, err, calls.Load(), c.calls)
		}
	}
	var calls, seconds atomic.Int32
	seconds.Store(1)
	address := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if calls.Add(1) == 1 {
			w.Header().Set("Retry-After", fmt.Sprint(seconds.Load()))
			w.WriteHeader(http.StatusTooManyRequests)
		}
	})
	begin := time.Now()
	if _, err := client().Get(t.Context(), address, "*/*", 100); err != nil || time.Since(begin) < time.Second {
		t.Errorf("%v after %v, want a wait of a second", err, time.Since(begin))
	}
	// A wait ends with the context.
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	calls.Store(0)
	seconds.Store(30)
	begin = time.Now()
	if _, err := client().Get(ctx, address, "*/*", 100); !errors.Is(err, context.DeadlineExceeded) || time.Since(begin) > 15*time.Second {
		t.Errorf("%v after %v", err, time.Since(begin))
	}
}

func TestGetTooLong(t *testing.T) {
	address := serve(t, func(w http.ResponseWriter, r *http.Request) { w.Write(body[:101]) })
	if _, err := client().Get(t.Context(), address, "*/*", 100); !errors.Is(err, ErrTooLong) {
		t.Error(err)
	}
	if p, err := client().Get(t.Context(), address, "*/*", 101); err != nil || len(p.Body) != 101 {
		t.Error(err)
	}
}

// ReadAt agrees with the bytes, wherever and however long, and asks for no byte
// twice that it holds.
func TestRemote(t *testing.T) {
	var requests atomic.Int32
	address := serve(t, func(w http.ResponseWriter, r *http.Request) { requests.Add(1); send(w, r) })
	r, err := client().Open(t.Context(), address)
	if err != nil || r.Size() != int64(len(body)) {
		t.Fatalf("%v", err)
	}
	defer r.Close()
	path := filepath.Join(t.TempDir(), "part")
	if _, err := r.Fetch(t.Context(), 100_000, 100_000, path, nil); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		for _, c := range [][2]int{{0, 10}, {5, 70_000}, {100_000, 100_000}, {150_000, 10}, {99_999, 2}, {199_999, 2}, {len(body) - 5, 5}, {len(body) - 5, 50}, {len(body), 1}, {-1, 1}} {
			p := make([]byte, c[1])
			n, err := r.ReadAt(p, int64(c[0]))
			want, wantErr := bytes.NewReader(body).ReadAt(make([]byte, c[1]), int64(c[0]))
			if n != want || (err == io.EOF) != (wantErr == io.EOF) && c[0] >= 0 || c[0] >= 0 && !bytes.Equal(p[:n], body[min(c[0], len(body)):][:n]) {
				t.Errorf("%v: %d bytes, %v; want %d, %v", c, n, err, want, wantErr)
			}
		}
	}
	if n := requests.Load(); n > 6 {
		t.Errorf("%d requests", n)
	}
	for _, c := range [][2]int64{{-1, 5}, {0, 0}, {0, r.Size() + 1}, {r.Size(), 1}, {1 << 62, 1 << 62}} {
		if _, err := r.Fetch(t.Context(), c[0], c[1], path, nil); err == nil {
			t.Errorf("fetched %v", c)
		}
	}
}

// A server whose parts cannot be trusted to be of one file sends none.
func TestRemoteRefused(t *testing.T) {
	n := len(body)
	last := body[n-window:]
	for name, h := range map[string]http.HandlerFunc{
		"whole": func(w http.ResponseWriter, r *http.Request) { r.Header.Del("Range"); send(w, r) },
		"no state": func(w http.ResponseWriter, r *http.Request) {
			partial(w, fmt.Sprintf("bytes %d-%d/%d", n-window, n-1, n), "", last)
		},
		"weak state": func(w http.ResponseWriter, r *http.Request) {
			partial(w, fmt.Sprintf("bytes %d-%d/%d", n-window, n-1, n), `W/"v"`, last)
		},
		"other part": func(w http.ResponseWriter, r *http.Request) {
			partial(w, fmt.Sprintf("bytes 0-%d/%d", window-1, n), `"v"`, last)
		},
		"no length": func(w http.ResponseWriter, r *http.Request) {
			partial(w, fmt.Sprintf("bytes %d-%d/*", n-window, n-1), `"v"`, last)
		},
		"empty": func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(http.StatusRequestedRangeNotSatisfiable) },
		"wrong order": func(w http.ResponseWriter, r *http.Request) {
			partial(w, fmt.Sprintf("bytes %d-%d/%d", n-1, n-window, n), `"v"`, last)
		},
	} {
		if _, err := client().Open(t.Context(), serve(t, h)); !errors.Is(err, ErrNoRanges) {
			t.Errorf("%s: %v", name, err)
		}
	}
	var calls atomic.Int32
	r, err := client().Open(t.Context(), serve(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("ETag", fmt.Sprintf(`"%d"`, calls.Add(1)))
		http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(body))
	}))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.ReadAt(make([]byte, 10), 0); !errors.Is(err, ErrChanged) {
		t.Errorf("a file that changes: %v", err)
	}
}

func TestShown(t *testing.T) {
	for in, want := range map[string]string{
		"https://user:pass@host:8/a/b?sig=1#f": "https://host:8/a/b",
		"http://host":                          "http://host",
		"://x":                                 "an address that cannot be read",
		"nothing":                              "an address that cannot be read",
	} {
		if got := Shown(in); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}

// From https a redirect leads to https alone.
func TestRedirectToPlain(t *testing.T) {
	plain := serve(t, send)
	s := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, plain, http.StatusFound) }))
	defer s.Close()
	roots := s.Client().Transport.(*http.Transport).TLSClientConfig.RootCAs
	c := New(Options{Silence: time.Second, Roots: roots})
	if _, err := c.Get(t.Context(), s.URL, "*/*", 1<<20); err == nil || !strings.Contains(err.Error(), "from https to http") {
		t.Error(err)
	}
}

func FuzzContentRange(f *testing.F) {
	f.Add("bytes 0-9/10")
	f.Add("bytes 5-4/10")
	f.Add("bytes 0-9/*")
	f.Add("bytes 9223372036854775807-1/2")
	f.Fuzz(func(t *testing.T, h string) {
		if from, total, ok := contentRange(h); ok && (from < 0 || from >= total) {
			t.Errorf("%q: from %d of %d", h, from, total)
		}
	})
}
