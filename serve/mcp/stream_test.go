package mcp_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/lexsem/lexsem/engine"
	"github.com/lexsem/lexsem/internal/yield"
	"github.com/lexsem/lexsem/serve/mcp"
)

// serve runs a server over two pipes and returns the client's end.
func serve(t testing.TB, db mcp.Database, o mcp.Options) sdk.Transport {
	t.Helper()
	in, toServer := io.Pipe()
	fromServer, out := io.Pipe()
	ended := make(chan error, 1)
	go func() {
		ended <- mcp.New(db, o).Serve(t.Context(), in, out)
		out.Close()
	}()
	t.Cleanup(func() {
		toServer.Close()
		if err := <-ended; err != nil && !errors.Is(err, context.Canceled) {
			t.Errorf("the server ended with %v", err)
		}
	})
	return &sdk.IOTransport{Reader: fromServer, Writer: toServer}
}

const hello = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}
{"jsonrpc":"2.0","method":"notifications/initialized"}
`

// slow is a database whose searches wait until their context ends, or until they are
// let go.
type slow struct {
	mcp.Database
	begun chan struct{}
	let   chan struct{}
	saw   chan error
}

func (s slow) Search(ctx context.Context, q engine.Query) (engine.Result, error) {
	s.begun <- struct{}{}
	select {
	case <-s.let:
		return s.Database.Search(ctx, q)
	case <-ctx.Done():
		s.saw <- ctx.Err()
		return engine.Result{}, ctx.Err()
	}
}

func newSlow(t testing.TB) slow {
	return slow{shelf(t), make(chan struct{}, 8), make(chan struct{}), make(chan error, 8)}
}

const slowCall = `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"search","arguments":{"query":"keys"}}}` + "\n"

// What was asked before the input ended is answered, and the end is no error.
func TestEndOfInput(t *testing.T) {
	db := newSlow(t)
	go func() {
		<-db.begun
		time.Sleep(20 * time.Millisecond) // the end of the input is seen first
		close(db.let)
	}()
	var out bytes.Buffer
	if err := mcp.New(db, mcp.Options{}).Serve(t.Context(), strings.NewReader(hello+strings.Replace(slowCall, `"keys"`, `"keys","json":true`, 1)), &out); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	if len(lines) != 2 || !strings.Contains(lines[1], "keys.md") {
		t.Fatalf("answers: %q", lines)
	}
	// The client of the SDK would read this number as a float64.
	if !strings.Contains(lines[1], `"metadata":{"big":9007199254740993,`) {
		t.Errorf("a number lost digits: %s", lines[1])
	}
	for _, l := range lines {
		if !json.Valid([]byte(l)) {
			t.Errorf("no JSON: %q", l)
		}
	}
}

// A context that ends cancels the calls in progress and ends the server.
func TestCancelledServer(t *testing.T) {
	db := newSlow(t)
	ctx, cancel := context.WithCancel(t.Context())
	in, toServer := io.Pipe()
	ended := make(chan error, 1)
	go func() { ended <- mcp.New(db, mcp.Options{}).Serve(ctx, in, io.Discard) }()
	if _, err := io.WriteString(toServer, hello+slowCall); err != nil {
		t.Fatal(err)
	}
	<-db.begun
	cancel()
	if err := <-db.saw; !errors.Is(err, context.Canceled) {
		t.Errorf("the search saw %v", err)
	}
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("the server ended with %v", err)
	}
}

// A client that cancels a call ends it.
func TestCancelledCall(t *testing.T) {
	db := newSlow(t)
	c := connect(t, db, mcp.Options{})
	ctx, cancel := context.WithCancel(t.Context())
	go func() { <-db.begun; cancel() }()
	if _, err := c.CallTool(ctx, &sdk.CallToolParams{Name: "search", Arguments: object{"query": "keys"}}); err == nil {
		t.Error("answered all the same")
	}
	if err := <-db.saw; !errors.Is(err, context.Canceled) {
		t.Errorf("the search saw %v", err)
	}
}

// A cancelled call has no answer, and the calls after it have theirs.
func TestCancelledCallIsNotAnswered(t *testing.T) {
	db := newSlow(t)
	in, toServer := io.Pipe()
	var out bytes.Buffer
	ended := make(chan error, 1)
	go func() { ended <- mcp.New(db, mcp.Options{}).Serve(t.Context(), in, &out) }()
	if _, err := io.WriteString(toServer, hello+slowCall); err != nil {
		t.Fatal(err)
	}
	<-db.begun
	_, err := io.WriteString(toServer, `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":2}}`+"\n"+
		`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":99}}`+"\n"+`{"jsonrpc":"2.0","id":"p","method":"ping"}`+"\n")
	if err != nil {
		t.Fatal(err)
	}
	if err := <-db.saw; !errors.Is(err, context.Canceled) {
		t.Errorf("the search saw %v", err)
	}
	if err := toServer.Close(); err != nil {
		t.Fatal(err)
	}
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	if got := out.String(); strings.Contains(got, `"id":2`) || !strings.Contains(got, `"id":"p","result"`) {
		t.Errorf("answers: %s", got)
	}
}

// What is no message is answered with an error, and the session continues.
func TestGarbage(t *testing.T) {
	const ping = `{"jsonrpc":"2.0","id":77,"method":"ping"}`
	db := shelf(t)
	for _, c := range []struct {
		in    string
		wants []string // in the answers, but for that of the ping
	}{
		{"\n\n \t\r\n", nil},
		{"x\n", []string{`"id":null`, "-32700"}},
		{"this is no JSON {\n", []string{"-32700"}},
		{`{"jsonrpc":"2.0","id":5,"method":"ping"` + "\n", []string{"-32700"}},
		{`{"jsonrpc":"2.0","id":5,"method":"pi` + "\n", []string{"-32700"}},
		{"}\n", []string{"-32700"}},
		{"[]\n", []string{"-32600"}},
		{"{}\n", []string{"-32600"}},
		{"7\n", []string{"-32600"}},
		{"null\n", []string{"-32600"}},
		{`{"id":5,"method":"ping"}` + "\n", []string{`"id":5`, "-32600"}},
		{`{"jsonrpc":"1.0","id":"five","method":"ping"}` + "\n", []string{`"id":"five"`, "-32600"}},
		{`{"jsonrpc":"2.0","id":{},"method":"ping"}` + "\n", []string{"-32600"}},
		{`{"jsonrpc":"2.0","id":5,"method":"ping"} {"jsonrpc":"2.0","id":6,"method":"ping"}` + "\n", []string{`"id":5,"result"`, `"id":6,"result"`}},
		{`{"jsonrpc":"2.0","id":5,"method":"ping"} x` + "\n", []string{`"id":5,"result"`, "-32700"}},
		{"{\n \"jsonrpc\":\"2.0\",\n \"id\":5, \"method\":\"ping\",\n \"params\":{\"a\":\"}\\\"\"}\n}\n", []string{`"id":5,"result"`}},
		{"{\n \"jsonrpc\": oops,\n \"id\":5\n}\n", []string{"-32700"}},
		{`{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"search","arguments":[1]}}` + "\n", []string{`"id":3`, "arguments"}},
		{`{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"nope"}}` + "\n", []string{`"id":3`, `"error"`}},
		{strings.Repeat("[", 100_000) + "\n", []string{"-32700"}},
		{strings.Repeat("[1,\n", 100_000) + "\n", []string{"-32700"}},
		{strings.Repeat("x", mcp.MaxMessage+1) + "\n", []string{"-32600"}},
		{"[" + strings.Repeat("1,\n", mcp.MaxMessage/3) + "\n", []string{"-32600"}},
		{"\xff\xfe\n", []string{"-32700"}},
	} {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		var out bytes.Buffer
		err := mcp.New(db, mcp.Options{}).Serve(ctx, strings.NewReader(hello+c.in+ping+"\n"), &out)
		if err != nil {
			t.Errorf("%.80q: %v", c.in, err)
		}
		cancel()
		for l := range strings.Lines(out.String()) {
			if !json.Valid([]byte(l)) {
				t.Errorf("%.80q is answered with %q", c.in, l)
			}
		}
		for _, want := range append(c.wants, `"id":77,"result"`) {
			if !strings.Contains(out.String(), want) {
				t.Errorf("%.80q is answered with %.500q, without %s", c.in, out.String(), want)
			}
		}
		if n := strings.Count(out.String(), `"error"`); n > 1 || n == 0 && strings.Contains(strings.Join(c.wants, ""), "-32") {
			t.Errorf("%.80q: %d errors", c.in, n)
		}
	}
	// Before the first message, and where the input ends within one.
	for _, in := range []string{"x\n", "{}\n", "x", `{"jsonrpc":"2.0",`, hello + `{"jsonrpc":"2.0",` + "\n"} {
		var out bytes.Buffer
		if err := mcp.New(db, mcp.Options{}).Serve(t.Context(), strings.NewReader(in), &out); err != nil || strings.Count(out.String(), `"error"`) != 1 {
			t.Errorf("%q: %v, %q", in, err, out.String())
		}
	}
}

func TestHTTP(t *testing.T) {
	db := shelf(t)
	srv := httptest.NewServer(mcp.New(db, mcp.Options{}).Handler(func(r *http.Request) bool { return r.Header.Get("X-Api-Key") == "write" }))
	defer srv.Close()
	tools := func(key string) (names string) {
		c, err := sdk.NewClient(&sdk.Implementation{Name: "test"}, nil).Connect(t.Context(), &sdk.StreamableClientTransport{
			Endpoint: srv.URL, HTTPClient: &http.Client{Transport: keyed(key)}}, nil)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		for tool, err := range c.Tools(t.Context(), nil) {
			if err != nil {
				t.Fatal(err)
			}
			names += tool.Name + " "
		}
		var a answer
		if text, failed := call(t, c, "search", object{"query": "signing keys"}, &a); failed || a.Hits[0].ID != "keys.md" {
			t.Error(text)
		}
		_, err = c.CallTool(t.Context(), &sdk.CallToolParams{Name: "index", Arguments: object{"documents": []object{{"id": key, "text": "y"}}}})
		if (err == nil) != (key == "write") {
			t.Errorf("%s: index answers %v", key, err)
		}
		if err != nil && !strings.Contains(err.Error(), "a key with write access") {
			t.Errorf("%s: index is refused without a remedy: %v", key, err)
		}
		return names
	}
	if got := tools("read"); strings.Contains(got, "index") || !strings.Contains(got, "search") {
		t.Errorf("a reader has %s", got)
	}
	if got := tools("write"); !strings.Contains(got, "index") {
		t.Errorf("a writer has %s", got)
	}
	if _, err := db.Get(t.Context(), "read"); !errors.Is(err, engine.ErrNotFound) {
		t.Errorf("a reader has stored a document: %v", err)
	}
	post := func(body string, change func(*http.Request)) int {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, srv.URL, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Accept", "application/json, text/event-stream")
		change(r)
		res, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
		return res.StatusCode
	}
	if got := post(slowCall, func(r *http.Request) { r.Host = "evil.example" }); got != http.StatusForbidden {
		t.Errorf("another host's name: status %d", got)
	}
	if got := post(strings.Repeat(" ", mcp.MaxMessage+1), func(*http.Request) {}); got != http.StatusRequestEntityTooLarge {
		t.Errorf("too long a body: status %d", got)
	}
	if got := post("x", func(*http.Request) {}); got != http.StatusBadRequest {
		t.Errorf("no JSON: status %d", got)
	}
}

// A call that reads and takes too long is told so.
func TestTimeout(t *testing.T) {
	db := newSlow(t)
	c := connect(t, db, mcp.Options{Timeout: 30 * time.Millisecond})
	if text, failed := call(t, c, "search", object{"query": "keys"}, nil); !failed || !strings.Contains(text, "too long") {
		t.Error(text)
	}
	if err := <-db.saw; !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("the search saw %v", err)
	}
	if text, failed := call(t, c, "index", object{"documents": []object{{"id": "new", "text": "a text"}}}, nil); failed {
		t.Error(text)
	}
}

// A request that is given up ends its call.
func TestHTTPRequestGivenUp(t *testing.T) {
	db := newSlow(t)
	srv := httptest.NewServer(mcp.New(db, mcp.Options{}).Handler(nil))
	defer srv.Close()
	ctx, cancel := context.WithCancel(t.Context())
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, srv.URL, strings.NewReader(slowCall))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	go func() { <-db.begun; cancel() }()
	if res, err := http.DefaultClient.Do(r); err == nil {
		res.Body.Close()
		t.Fatalf("status %d", res.StatusCode)
	}
	select {
	case err := <-db.saw:
		if !errors.Is(err, context.Canceled) {
			t.Errorf("the search saw %v", err)
		}
	case <-time.After(10 * time.Second):
		t.Error("the search goes on")
	}
}

// TestTurnEndsWithDecoding: a call gives back its turn when its arguments are decoded, before it works.
func TestTurnEndsWithDecoding(t *testing.T) {
	db := newSlow(t)
	h := mcp.New(db, mcp.Options{}).Handler(nil)
	given := make(chan struct{})
	ctx, _ := yield.WithTurn(t.Context(), func() { close(given) })
	r := httptest.NewRequestWithContext(ctx, http.MethodPost, "/", strings.NewReader(slowCall))
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	w, done := httptest.NewRecorder(), make(chan struct{})
	go func() { defer close(done); h.ServeHTTP(w, r) }()
	<-db.begun
	select {
	case <-given:
	default:
		t.Error("the search holds the turn")
	}
	close(db.let)
	if <-done; w.Code != http.StatusOK {
		t.Errorf("status %d: %s", w.Code, w.Body)
	}
}

func TestConcurrentClients(t *testing.T) {
	db := shelf(t)
	c := connect(t, db, mcp.Options{})
	var wg sync.WaitGroup
	for i := range 16 {
		wg.Go(func() {
			name, args := "search", object{"query": "signing keys"}
			if i%4 == 0 {
				name, args = "index", object{"documents": []object{{"id": string(rune('a' + i)), "text": "a text"}}}
			}
			res, err := c.CallTool(t.Context(), &sdk.CallToolParams{Name: name, Arguments: args})
			if err != nil || res.IsError {
				t.Errorf("%s: %v %+v", name, err, res)
			}
		})
	}
	wg.Wait()
}

type keyed string

func (k keyed) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("X-Api-Key", string(k))
	return http.DefaultTransport.RoundTrip(r)
}
