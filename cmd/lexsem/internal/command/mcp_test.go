package command

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/lexsem/lexsem/encoder"
	"github.com/lexsem/lexsem/engine"
	"github.com/lexsem/lexsem/internal/testkit/trial"
)

// The SDK's client starts the program as agents do.
func TestMCPClient(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "db")
	cmd := exec.Command("lexsem", "mcp", "--db", dir, "--model", "hash", "--create")
	var stderr strings.Builder
	cmd.Stderr = &stderr
	c, err := sdk.NewClient(&sdk.Implementation{Name: "test", Version: "1"}, nil).Connect(t.Context(), &sdk.CommandTransport{Command: cmd}, nil)
	if err != nil {
		t.Fatal(err, stderr.String())
	}
	for _, step := range []struct {
		tool string
		args map[string]any
		want string
	}{
		{"index", map[string]any{"documents": []map[string]any{{"id": "a.md", "text": "Otters live in rivers."}, {"id": "b.md", "text": "Bats sleep in caves."}}}, "2 added"},
		{"search", map[string]any{"query": "where do bats sleep", "k": 1}, "1. b.md"},
		{"get", map[string]any{"id": "a.md"}, "Otters live"},
		{"list", map[string]any{}, "2 documents"},
		{"explain", map[string]any{"id": "b.md", "query": "bats"}, "rank 1"},
	} {
		res, err := c.CallTool(t.Context(), &sdk.CallToolParams{Name: step.tool, Arguments: step.args})
		if err != nil || res.IsError || !strings.Contains(res.Content[0].(*sdk.TextContent).Text, step.want) {
			t.Errorf("%s: %v %+v", step.tool, err, res)
		}
	}
	if err := c.Close(); err != nil { // closes stdin and waits
		t.Error(err)
	}
	if code := cmd.ProcessState.ExitCode(); code != 0 || stderr.Len() > 0 {
		t.Errorf("exit code %d, stderr %q", code, stderr.String())
	}
}

// A signal ends it as the end of stdin does, and what was stored is there.
func TestMCPSignal(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("signals cannot be sent to a child on Windows")
	}
	dir := filepath.Join(t.TempDir(), "db")
	c := start(t, "mcp", "--db", dir, "--model", "hash", "--create")
	_, err := io.WriteString(c.in, `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}
{"jsonrpc":"2.0","method":"notifications/initialized"}
{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"index","arguments":{"documents":[{"id":"a","text":"Otters live in rivers."}]}}}
`)
	if err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(c.out)
	for n := 0; n < 2 && lines.Scan(); n++ {
	}
	if !strings.Contains(lines.Text(), "1 added") {
		t.Fatalf("answer %q, stderr %q", lines.Text(), c.said)
	}
	if err := c.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	for lines.Scan() {
		t.Errorf("said at the end: %q", lines.Text())
	}
	if err := c.Wait(); err != nil || c.said.String() != "" {
		t.Errorf("%v, stderr %q", err, c.said)
	}
	e, err := engine.Open(t.Context(), dir, encoder.NewHash(384), engine.Options{MustExist: true, ReadOnly: true})
	if err != nil { // nor was it left unclean
		t.Fatal(err)
	}
	defer e.Close()
	if _, err := e.Get(t.Context(), "a"); err != nil {
		t.Error(err)
	}
}

// The official client in Python reads texts and values.
func TestMCPPythonClient(t *testing.T) {
	python := os.Getenv("LEXSEM_MCP_PYTHON")
	if !trial.Long() || python == "" {
		t.Skip("a long form: LEXSEM_LONG=1, and LEXSEM_MCP_PYTHON names a Python with the package mcp")
	}
	bin, err := exec.LookPath("lexsem")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	out, err := exec.CommandContext(ctx, python, filepath.Join("testdata", "mcp_client.py"), bin, filepath.Join(t.TempDir(), "db")).CombinedOutput()
	if err != nil || !strings.Contains(string(out), "all is well") {
		t.Fatal(fmt.Sprint(err), string(out))
	}
}

// serve has the page at / and the protocol at /mcp, behind its keys.
func TestServeHasPageAndMCP(t *testing.T) {
	keys := filepath.Join(t.TempDir(), "keys")
	if err := os.WriteFile(keys, []byte("read reader-0123456789\nwrite writer-0123456789\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	url, _ := served(t, "--db", filepath.Join(t.TempDir(), "db"), "--api-key-file", keys)
	for path, want := range map[string]string{"/": `<script type="module" src="app.js">`, "/app.js": `from "./api.js"`} {
		if code, body := call(t, "GET", url+path, ""); code != 200 || !strings.Contains(body, want) {
			t.Errorf("GET %s: %d %.200s", path, code, body)
		}
	}
	const list = `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`
	for key, want := range map[string]int{"": 401, "writer-0123456789": 200} {
		code, body := call(t, "POST", url+"/mcp", list, "x-api-key", key, "Content-Type", "application/json", "Accept", "application/json, text/event-stream")
		if code != want || want == 200 && (!strings.Contains(body, `"name":"search"`) || !strings.Contains(body, `"name":"index"`)) {
			t.Errorf("POST /mcp with %q: %d %.200s", key, code, body)
		}
	}
	// Who may read is offered what reads, and stores nothing; who may write is offered all.
	for _, x := range []struct{ key, tools, index, list string }{
		{"reader-0123456789", "explain get list search", "may only read", "The database is empty."},
		{"writer-0123456789", "explain get index list search", "", "1 documents."},
		{"reader-0123456789", "explain get list search", "may only read", "1 documents."},
	} {
		c, err := sdk.NewClient(&sdk.Implementation{Name: "test", Version: "1"}, nil).Connect(t.Context(), &sdk.StreamableClientTransport{
			Endpoint: url + "/mcp", HTTPClient: &http.Client{Transport: withKey(x.key)}}, nil)
		if err != nil {
			t.Fatal(err)
		}
		var tools []string
		for tool, err := range c.Tools(t.Context(), nil) {
			if err != nil {
				t.Fatal(err)
			}
			tools = append(tools, tool.Name)
		}
		slices.Sort(tools)
		if got := strings.Join(tools, " "); got != x.tools {
			t.Errorf("%s is offered %s", x.key, got)
		}
		_, err = c.CallTool(t.Context(), &sdk.CallToolParams{Name: "index", Arguments: map[string]any{"documents": []map[string]any{{"id": "a", "text": "Otters live in rivers."}}}})
		if (err == nil) != (x.index == "") || err != nil && !strings.Contains(err.Error(), x.index) {
			t.Errorf("%s: index answers %v", x.key, err)
		}
		res, err := c.CallTool(t.Context(), &sdk.CallToolParams{Name: "list"})
		if err != nil || res.IsError || !strings.HasPrefix(res.Content[0].(*sdk.TextContent).Text, x.list) {
			t.Errorf("%s: list answers %v %+v", x.key, err, res)
		}
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	}
}

// withKey sends a key with each request.
type withKey string

func (k withKey) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+string(k))
	return http.DefaultTransport.RoundTrip(r)
}

// TestMCPFolder: a server of a folder starts from nothing, answers by words, follows changes, and the next one finds all there.
func TestMCPFolder(t *testing.T) {
	dir, cache := t.TempDir(), t.TempDir()
	write := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write("otter.go", "package otter\n\n// Swim crosses the river.\nfunc Swim() {}\n")
	serve := func() *sdk.ClientSession {
		t.Helper()
		cmd := exec.Command("lexsem", "mcp", "--dir", dir, "--cache", cache, "--model", "hash")
		cmd.Stderr = t.Output()
		c, err := sdk.NewClient(&sdk.Implementation{Name: "test", Version: "1"}, nil).Connect(t.Context(), &sdk.CommandTransport{Command: cmd}, nil)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { c.Close() })
		return c
	}
	ask := func(c *sdk.ClientSession, query string) string {
		t.Helper()
		res, err := c.CallTool(t.Context(), &sdk.CallToolParams{Name: "search", Arguments: map[string]any{"query": query}})
		if err != nil || res.IsError {
			t.Fatalf("%v, %+v", err, res)
		}
		return res.Content[0].(*sdk.TextContent).Text
	}
	c := serve()
	if got := ask(c, "swim river"); !strings.Contains(got, "otter.go:") || !strings.Contains(got, "Swim") {
		t.Fatal(got)
	}
	tools, err := c.ListTools(t.Context(), nil)
	if err != nil || slices.ContainsFunc(tools.Tools, func(x *sdk.Tool) bool { return x.Name == "index" }) {
		t.Fatalf("%+v, %v", tools, err)
	}
	other := serve() // of another agent, beside it
	write("bat.go", "package bat\n\n// Hang sleeps in caves.\nfunc Hang() {}\n")
	for until := time.Now().Add(20 * time.Second); !strings.Contains(ask(other, "sleeps caves"), "bat.go:"); time.Sleep(50 * time.Millisecond) {
		if time.Now().After(until) {
			t.Fatal("the change is not found")
		}
	}
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	if got := ask(other, "sleeps caves"); !strings.Contains(got, "bat.go:") {
		t.Fatal(got)
	}
	if err := other.Close(); err != nil {
		t.Fatal(err)
	}
	last := serve()
	if got := ask(last, "sleeps caves"); !strings.Contains(got, "bat.go:") {
		t.Fatal(got)
	}
	for i := range 5 { // a change is found by the next search, and by its name
		name := fmt.Sprintf("Roost%d", i)
		write("bat.go", "package bat\n\n\nfunc "+name+"() {}\n")
		res, err := last.CallTool(t.Context(), &sdk.CallToolParams{Name: "search", Arguments: map[string]any{"query": name, "places": true}})
		if err != nil || res.IsError {
			t.Fatalf("%v, %+v", err, res)
		}
		if got := res.Content[0].(*sdk.TextContent).Text; !strings.Contains(got, "1. bat.go\n  4: func "+name+"() {}\n") || !strings.HasSuffix(got, "1 of 2 documents have it") {
			t.Fatalf("%d: %s", i, got)
		}
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 2 {
		t.Fatalf("%v, %v", left, err)
	}
}
