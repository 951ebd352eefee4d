package nodes_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/lexsem/lexsem/engine/remote/internal/nodes"
	"github.com/lexsem/lexsem/internal/rest"
)

var errServer = errors.New("the server")

// client is a Client of servers that answer so.
func client(t *testing.T, patience time.Duration, answer ...http.HandlerFunc) *rest.Client {
	t.Helper()
	o := &rest.Client{Patience: patience, Err: errServer, Key: "secret", Refusal: func(b []byte) (string, string) { return "", string(b) },
		Passes: func(f *rest.Failure) bool { return f.Busy() || f.Status == 422 }}
	for _, a := range answer {
		s := httptest.NewServer(a)
		t.Cleanup(s.Close)
		o.URLs = append(o.URLs, s.URL)
	}
	c, err := nodes.Client(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

func says(status int, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}
}

// hangs up without an answer.
func hangs(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }

// TestAnotherNode: a node that fails in passing, or does not answer, is followed by the next.
func TestAnotherNode(t *testing.T) {
	for _, first := range []http.HandlerFunc{hangs, says(503, ""), says(429, ""), says(422, "soon"), says(500, "not this one")} {
		c := client(t, time.Second, first, says(200, `{"X": 7}`))
		for range 4 { // each node is the first by turns
			var out struct{ X int }
			if err := c.Call(t.Context(), "POST", "/path", map[string]int{"a": 1}, &out); err != nil && rest.Status(err) != 500 || err == nil && out.X != 7 {
				t.Errorf("%d, %v", out.X, err)
			}
		}
	}
}

// TestFailures: what does not pass is told at once, with the server's words and without the
// key; what passes is tried until patience ends.
func TestFailures(t *testing.T) {
	var calls atomic.Int32
	counted := func(h http.HandlerFunc) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) { calls.Add(1); h(w, r) }
	}
	err := client(t, time.Minute, counted(says(400, "bad \x1b[31m words"))).Call(t.Context(), "GET", "/p", nil, nil)
	if !errors.Is(err, errServer) || rest.Status(err) != 400 || calls.Load() != 1 || !strings.Contains(err.Error(), "bad [31m words") || strings.Contains(err.Error(), "secret") {
		t.Errorf("%q after %d calls", err, calls.Load())
	}
	if err := client(t, time.Minute, says(401, "")).Call(t.Context(), "GET", "/p", nil, nil); err == nil || !strings.Contains(err.Error(), "API key") {
		t.Error(err)
	}
	if err := client(t, 120*time.Millisecond, says(503, "")).Call(t.Context(), "GET", "/p", nil, nil); err == nil || !strings.Contains(err.Error(), "gave up after") {
		t.Error(err)
	}
	if err := client(t, time.Minute, says(200, "no JSON")).Call(t.Context(), "GET", "/p", nil, &struct{}{}); !errors.Is(err, errServer) {
		t.Error(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if err := client(t, time.Minute, says(503, "")).Call(ctx, "GET", "/p", nil, nil); !errors.Is(err, context.DeadlineExceeded) {
		t.Error(err)
	}
	redirects := func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "http://127.0.0.1:1/", http.StatusFound)
	}
	if err := client(t, time.Minute, redirects).Call(t.Context(), "GET", "/p", nil, nil); rest.Status(err) != http.StatusFound {
		t.Errorf("a redirection: %v", err)
	}
}

func TestParse(t *testing.T) {
	u, err := nodes.Parse("x://a:1,b:2/name?tls=1&n=3", "x", "NAME")
	if err != nil || strings.Join(u.Nodes, " ") != "https://a:1 https://b:2" || u.Name != "name" || len(u.Values) != 1 || u.Values["n"] != "3" {
		t.Errorf("%+v, %v", u, err)
	}
	for _, s := range []string{"", "y://a/b", "x://u:secret@a/b", "x://a/b?tls=maybe", "x://a/b?%zz"} {
		if _, err := nodes.Parse(s, "x", "NAME"); err == nil || strings.Contains(err.Error(), "secret") {
			t.Errorf("%q: %v", s, err)
		}
	}
	for _, n := range [][]string{nil, {"host:9200"}, {"http://u:secret@a:1"}, {"http://a:1?x=1"}, {"ftp://a:1"}, {"http://"}} {
		if _, err := nodes.Client(&rest.Client{URLs: n}); err == nil || strings.Contains(err.Error(), "secret") {
			t.Errorf("%q: %v", n, err)
		}
	}
}
