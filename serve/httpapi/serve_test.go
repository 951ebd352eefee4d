package httpapi

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lexsem/lexsem/encoder"
	"github.com/lexsem/lexsem/engine"
)

// running is a server behind a real listener. stop ends it as a signal does, and
// returns what Serve did.
func running(t testing.TB, db engine.Database, o Options) (url string, stop func() error) {
	t.Helper()
	s, err := New(db, o)
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- s.Serve(ctx, l) }()
	stop = sync.OnceValue(func() error { cancel(); return <-ended })
	t.Cleanup(func() {
		if err := stop(); err != nil {
			t.Error(err)
		}
	})
	return "http://" + l.Addr().String(), stop
}

// post sends a body with a header and returns status and code of the answer.
func post(t testing.TB, url string, body io.Reader, header ...string) (int, string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), "POST", url, body)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", kindJSON)
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	got, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer got.Body.Close()
	var a errorAnswer
	if err := json.NewDecoder(got.Body).Decode(&a); err != nil {
		t.Fatal(err)
	}
	return got.StatusCode, a.Error.Code
}

func zipped(t testing.TB, raw []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, err := w.Write(raw)
	if err := errors.Join(err, w.Close()); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestBodies(t *testing.T) {
	db := database(t, encoder.NewHash(64), engine.Options{})
	length := func(func(*http.Request) bool) http.Handler { // of what it is sent
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if raw, err := io.ReadAll(r.Body); err != nil || int64(len(raw)) != r.ContentLength || r.Header.Get("Content-Encoding") != "" {
				t.Errorf("%d bytes, %v: %v", len(raw), err, r)
			}
			_, _ = w.Write([]byte(`{}`))
		})
	}
	url, _ := running(t, db, Options{MaxBody: 1 << 20, MaxBulk: 4 << 20, MCP: length})
	query := []byte(`{"query": "keys"}`)
	padded := func(n int) []byte { return append(bytes.Repeat([]byte(" "), n-len(query)), query...) }
	bomb := zipped(t, make([]byte, 32<<20)) // 1 : 1,000
	values := func(begin, end string) []byte { return zipped(t, []byte(repeated(begin, `{}`, end, 1<<20))) }
	if len(bomb) > 1<<17 {
		t.Fatal(len(bomb))
	}
	for _, x := range []struct {
		what   string
		path   string
		body   []byte
		header []string
		status int
		code   string
	}{
		{"as long as may be", "/v1/search", padded(1 << 20), nil, 200, ""},
		{"a byte longer", "/v1/search", padded(1<<20 + 1), nil, 413, "too_large"},
		{"much longer", "/v1/search", padded(8 << 20), nil, 413, "too_large"},
		{"gzip", "/v1/search", zipped(t, query), []string{"Content-Encoding", "gzip"}, 200, ""},
		{"gzip, as long as may be", "/v1/search", zipped(t, padded(1<<20)), []string{"Content-Encoding", "gzip"}, 200, ""},
		{"gzip, a byte longer", "/v1/search", zipped(t, padded(1<<20+1)), []string{"Content-Encoding", "gzip"}, 413, "too_large"},
		{"gzip bomb", "/v1/search", bomb, []string{"Content-Encoding", "gzip"}, 413, "too_large"},
		{"gzip bomb of lines", "/v1/documents", zipped(t, bytes.Repeat([]byte("\n"), 32<<20)), []string{"Content-Encoding", "gzip", "Content-Type", kindNDJSON}, 413, "too_large"},
		{"bomb in a line", "/v1/documents", bomb, []string{"Content-Encoding", "gzip", "Content-Type", kindNDJSON}, 413, "too_large"},
		{"an agent's, as long as may be", "/mcp", padded(1 << 20), nil, 200, ""},
		{"an agent's in gzip", "/mcp", zipped(t, padded(1<<20)), []string{"Content-Encoding", "gzip"}, 200, ""},
		{"an agent's, a byte longer", "/mcp", padded(1<<20 + 1), nil, 413, "too_large"},
		{"searches in gzip", "/v1/search/batch", values(`{"searches":[`, `]}`), []string{"Content-Encoding", "gzip"}, 400, "invalid"},
		{"documents in gzip", "/v1/documents", values(`{"documents":[`, `]}`), []string{"Content-Encoding", "gzip"}, 400, "invalid"},
		{"texts in gzip", "/v1/rerank", values(`{"query":"a","documents":[`, `]}`), []string{"Content-Encoding", "gzip"}, 400, "invalid"},
		{"an agent's values in gzip", "/mcp", values(`{"params":{"arguments":{"documents":[`, `]}}}`), []string{"Content-Encoding", "gzip"}, 413, "too_large"},
		{"an agent's messages in gzip", "/mcp", values(`[`, `]`), []string{"Content-Encoding", "gzip"}, 400, "invalid"},
		{"no gzip", "/v1/search", query, []string{"Content-Encoding", "gzip"}, 400, "bad_body"},
		{"gzip that ends early", "/v1/search", zipped(t, padded(9000))[:40], []string{"Content-Encoding", "gzip"}, 400, "bad_body"},
		{"another encoding", "/v1/search", query, []string{"Content-Encoding", "br"}, 415, "unsupported_encoding"},
		{"two encodings", "/v1/search", query, []string{"Content-Encoding", "gzip, gzip"}, 415, "unsupported_encoding"},
	} {
		for _, chunked := range []bool{false, true} {
			var body io.Reader = bytes.NewReader(x.body)
			if chunked {
				body = io.MultiReader(body)
			}
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			status, code := post(t, url+x.path, body, x.header...)
			runtime.ReadMemStats(&after)
			if status != x.status || code != x.code {
				t.Errorf("%s, chunked %v: %d %q, want %d %q", x.what, chunked, status, code, x.status, x.code)
			}
			if grown := after.TotalAlloc - before.TotalAlloc; grown > 24<<20 {
				t.Errorf("%s, chunked %v: %d MiB were allocated", x.what, chunked, grown>>20)
			}
		}
	}
}

// pipes is a listener whose connections are pipes in memory, for tests with a clock
// of their own.
type pipes struct {
	conns  chan net.Conn
	closed chan struct{}
	once   sync.Once
}

func newPipes() *pipes { return &pipes{conns: make(chan net.Conn), closed: make(chan struct{})} }

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

func (p *pipes) Close() error   { p.once.Do(func() { close(p.closed) }); return nil }
func (p *pipes) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 1} }

func (p *pipes) dial() net.Conn {
	here, there := net.Pipe()
	p.conns <- there
	return here
}

// empty is a database without anything.
type empty struct{ engine.Database }

func (empty) Search(ctx context.Context, q engine.Query) (engine.Result, error) {
	if q.Text == "wait" {
		time.Sleep(50 * time.Second)
	}
	return engine.Result{}, ctx.Err()
}

func (empty) Upsert(context.Context, []engine.Document) (engine.AddResult, error) {
	time.Sleep(40 * time.Second)
	return engine.AddResult{Added: 1}, nil
}

// TestSlowClients sends heads and bodies too slowly, in a time that costs nothing.
func TestSlowClients(t *testing.T) {
	const head = "POST /v1/search HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
	lines := strings.Replace(strings.Replace(head, "search", "documents", 1), "application/json", kindNDJSON, 1)
	for _, x := range []struct {
		what  string
		first string        // sent at once
		then  string        // sent again and again
		every time.Duration // so often
		times int
		want  string
		least time.Duration // the answer, or the end, comes between these
		most  time.Duration
	}{
		{"a head that never ends", "POST /v1/search HTTP/1.1\r\n", "X-A: b\r\n", time.Second, 1000, "", 9 * time.Second, 11 * time.Second},
		{"nothing at all", "", "", time.Second, 1000, "", 9 * time.Second, 11 * time.Second},
		{"a body that never begins", head + "Content-Length: 9\r\n\r\n", "", time.Second, 1000, "408 slow_body", 19 * time.Second, 24 * time.Second},
		{"a byte a second", head + "Content-Length: 1000000\r\n\r\n", " ", time.Second, 1000, "408 slow_body", 19 * time.Second, 24 * time.Second},
		{"a byte a second, of lines", lines + "Content-Length: 1000000\r\n\r\n", "\n", time.Second, 1000, "408 slow_body", 19 * time.Second, 24 * time.Second},
		{"slow, but not too slow", head + "Content-Length: 1024017\r\n\r\n{\"query\": \"keys\"}", strings.Repeat(" ", 20480), time.Second, 50, "200 ", 48 * time.Second, 53 * time.Second},
		{"a search that takes its time", head + "Content-Length: 17\r\n\r\n{\"query\": \"wait\"}", "", time.Second, 1000, "200 ", 49 * time.Second, 52 * time.Second},
		{"stores that take their time", lines + "Content-Length: 40\r\n\r\n{\"id\": \"a\", \"text\": \"b\"}               \n", "", time.Second, 1000, "200 ", 39 * time.Second, 42 * time.Second},
	} {
		t.Run(x.what, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s, err := New(empty{}, Options{})
				if err != nil {
					t.Fatal(err)
				}
				l := newPipes()
				ctx, cancel := context.WithCancel(t.Context())
				ended := make(chan error, 1)
				go func() { ended <- s.Serve(ctx, l) }()
				conn := l.dial()
				begin := time.Now()
				go func() {
					if _, err := io.WriteString(conn, x.first); err != nil {
						return
					}
					for range x.times {
						select {
						case <-time.After(x.every):
						case <-ctx.Done():
							return
						}
						if _, err := io.WriteString(conn, x.then); err != nil && x.then != "" {
							return
						}
					}
				}()
				got := ""
				if r, err := http.ReadResponse(bufio.NewReader(conn), nil); err == nil {
					var a errorAnswer
					if err := json.NewDecoder(r.Body).Decode(&a); err != nil {
						t.Error(err)
					}
					got = fmt.Sprintf("%d %s", r.StatusCode, a.Error.Code)
				}
				if took := time.Since(begin); got != x.want || took < x.least || took > x.most {
					t.Errorf("%q after %v, want %q after %v to %v", got, took, x.want, x.least, x.most)
				}
				conn.Close()
				cancel()
				if err := <-ended; err != nil {
					t.Error(err)
				}
				if n := s.buffers.taken(); n != 0 {
					t.Errorf("%d bytes are still held", n)
				}
			})
		})
	}
}

// TestIdleConnections keeps a thousand connections open that ask for nothing: the
// server goes on, and forgets them when they go.
func TestIdleConnections(t *testing.T) {
	const n = 1000
	db := database(t, encoder.NewHash(64), engine.Options{})
	url, stop := running(t, db, Options{})
	before := runtime.NumGoroutine()
	var conns []net.Conn
	defer func() {
		for _, c := range conns {
			c.Close()
		}
	}()
	for i := range n {
		c, err := net.Dial("tcp", strings.TrimPrefix(url, "http://"))
		if err != nil {
			t.Skipf("connection %d: %v", i, err)
		}
		conns = append(conns, c)
		if i%2 == 0 { // half of them have asked something before
			if _, err := io.WriteString(c, "GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"); err != nil {
				t.Fatal(err)
			}
		}
	}
	for range 20 {
		if status, code := post(t, url+"/v1/search", strings.NewReader(`{"query": "keys"}`)); status != 200 {
			t.Fatal(status, code)
		}
	}
	if grown := runtime.NumGoroutine() - before; grown > 2*n+100 {
		t.Errorf("%d more goroutines with %d connections", grown, n)
	}
	for i := 1; i < n; i += 2 { // net/http waits 5 s for what a new connection may ask
		conns[i].Close()
	}
	begin := time.Now()
	if err := stop(); err != nil {
		t.Error(err)
	}
	if took := time.Since(begin); took > 15*time.Second {
		t.Errorf("the server took %v to end with idle connections", took)
	}
}

// TestShutdownUnderLoad ends a server that writers and readers are asking. Every
// document whose write was answered is there when the database is opened again, and
// requests fail in no way but that the server is closing.
func TestShutdownUnderLoad(t *testing.T) {
	enc, dir := encoder.NewHash(64), t.TempDir()
	db, err := engine.Open(t.Context(), dir, enc, engine.Options{})
	if err != nil {
		t.Fatal(err)
	}
	url, stop := running(t, db, Options{Encoder: enc})
	var mu sync.Mutex
	stored := map[string]bool{}
	var wg sync.WaitGroup
	enough := make(chan struct{})
	one := sync.OnceFunc(func() { close(enough) })
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 64}}
	defer client.CloseIdleConnections()
	write := func(who string, kind, body string, ids []string) bool {
		got, err := client.Post(url+"/v1/documents", kind, strings.NewReader(body))
		if err != nil {
			return false // no connection any more
		}
		defer got.Body.Close()
		raw, err := io.ReadAll(got.Body)
		if err != nil {
			t.Errorf("%s: the answer ends in the middle: %v", who, err)
			return false
		}
		if got.StatusCode != 200 {
			if got.StatusCode != 503 || !strings.Contains(string(raw), `"closing"`) {
				t.Errorf("%s: %d %s", who, got.StatusCode, raw)
			}
			var a errorAnswer
			if err := json.Unmarshal(raw, &a); err != nil || a.Error.Stored == nil {
				return false
			}
			ids = ids[:a.Error.Stored.Added] // a bulk stores in order
		}
		mu.Lock()
		defer mu.Unlock()
		for _, id := range ids {
			stored[id] = true
		}
		if len(stored) > 300 {
			one()
		}
		return got.StatusCode == 200
	}
	for w := range 4 {
		wg.Go(func() {
			for i := 0; ; i++ {
				id := fmt.Sprintf("w%d-%d", w, i)
				if !write("writer", kindJSON, fmt.Sprintf(`{"documents": [{"id": %q, "text": "text %d"}]}`, id, i), []string{id}) {
					return
				}
			}
		})
		wg.Go(func() {
			for i := 0; ; i++ {
				var b strings.Builder
				var ids []string
				for j := range 2000 {
					id := fmt.Sprintf("b%d-%d-%d", w, i, j)
					ids = append(ids, id)
					fmt.Fprintf(&b, "{\"id\": %q, \"text\": \"line %d\"}\n", id, j)
				}
				if !write("bulk", kindNDJSON, b.String(), ids) {
					return
				}
			}
		})
		wg.Go(func() {
			for {
				got, err := client.Post(url+"/v1/search", kindJSON, strings.NewReader(`{"query": "text 3"}`))
				if err != nil {
					return
				}
				if got.StatusCode != 200 && got.StatusCode != 503 {
					t.Errorf("search: %d", got.StatusCode)
				}
				_, _ = io.Copy(io.Discard, got.Body)
				got.Body.Close()
			}
		})
	}
	<-enough
	if err := stop(); err != nil {
		t.Error(err)
	}
	wg.Wait()
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	db, err = engine.Open(t.Context(), dir, enc, engine.Options{MustExist: true})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if len(stored) < 300 {
		t.Fatal(len(stored))
	}
	for id := range stored {
		if _, err := db.Get(t.Context(), id); err != nil {
			t.Errorf("%s was acknowledged: %v", id, err)
		}
	}
	t.Logf("%d documents were acknowledged", len(stored))
}

// TestDrainHasAnEnd cuts off what does not end by itself.
func TestDrainHasAnEnd(t *testing.T) {
	enc := slow{encoder.NewHash(64), make(chan struct{}, 9), make(chan struct{})}
	db := database(t, encoder.NewHash(64), engine.Options{})
	s, err := New(db, Options{Encoder: enc, DrainTime: 50 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	asked, err := cutOff(t, s.Serve, enc.begun, "POST", "/v1/embeddings", `{"input": "a"}`)
	if !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "50ms") {
		t.Error(err)
	}
	<-asked
}

// cutOff runs a server, ends it once a request has begun, and returns what serve does. asked is closed
// when the client of the request has ended.
func cutOff(t *testing.T, serve func(context.Context, net.Listener) error, begun <-chan struct{}, method, path, body string) (asked <-chan struct{}, err error) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	r, err := http.NewRequest(method, "http://"+l.Addr().String()+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", kindJSON)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	ended, done := make(chan error, 1), make(chan struct{})
	go func() { ended <- serve(ctx, l) }()
	go func() {
		defer close(done)
		if got, err := http.DefaultClient.Do(r); err == nil {
			got.Body.Close()
		}
	}()
	<-begun
	cancel()
	return done, <-ended
}

// stuck is an encoder that looks at no context while it reads a text that begins with its name.
type stuck struct {
	encoder.Encoder
	begun, end chan struct{}
}

func (s stuck) Encode(ctx context.Context, role encoder.Role, in []encoder.Input, need encoder.Need) ([]encoder.Output, error) {
	for _, x := range in {
		s.wait(x.Text)
	}
	return s.Encoder.Encode(ctx, role, in, need)
}

func (s stuck) Tokenize(role encoder.Role, text string) encoder.Tokens {
	s.wait(text)
	return s.Encoder.Tokenize(role, text)
}

func (s stuck) wait(text string) {
	if strings.HasPrefix(text, "stuck") {
		s.begun <- struct{}{}
		<-s.end
	}
}

// TestServeEndsWhateverRuns: a request that looks at no context does not keep the server from its end, which says so.
func TestServeEndsWhateverRuns(t *testing.T) {
	for _, call := range []struct{ method, path, body string }{
		{"POST", "/v1/embeddings", `{"input": "stuck"}`},
		{"PUT", "/v1/documents/x", `{"text": "stuck"}`},
	} {
		t.Run(call.path, func(t *testing.T) {
			enc := stuck{encoder.NewHash(64), make(chan struct{}, 9), make(chan struct{})}
			db := database(t, enc, engine.Options{})
			s, err := New(db, Options{Encoder: enc, DrainTime: 20 * time.Millisecond})
			if err != nil {
				t.Fatal(err)
			}
			serve := func(ctx context.Context, l net.Listener) error { return s.serve(ctx, l, 20*time.Millisecond) }
			asked, err := cutOff(t, serve, enc.begun, call.method, call.path, call.body)
			if !errors.Is(err, ErrRunning) || !errors.Is(err, context.DeadlineExceeded) {
				t.Error(err)
			}
			close(enc.end)
			<-asked
			s.running.Wait()
		})
	}
}
