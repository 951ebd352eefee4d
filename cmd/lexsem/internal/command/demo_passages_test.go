package command

import (
	"errors"
	"go/build"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/lexsem/lexsem/engine"
)

// tree writes a small Go source tree.
func tree(t *testing.T, files map[string]string) string {
	t.Helper()
	root := t.TempDir()
	for name, text := range files {
		p := filepath.Join(root, "src", name)
		if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(p, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

func byID(docs []engine.Document) map[string]engine.Document {
	m := map[string]engine.Document{}
	for _, d := range docs {
		m[d.ID] = d
	}
	return m
}

func TestDocPassages(t *testing.T) {
	const long = "says enough words to be worth searching for."
	root := tree(t, map[string]string{
		"net/tool/doc.go": `// Package tool ` + long + `
//
// # The Second Part
//
// This section, see [Client.Do], ` + long + `
package tool
`,
		"net/tool/tool.go": `package tool

// Client ` + long + `
type Client struct{ n int }

// Do sends and ` + long + `
func (c *Client) Do(a, b int,
	more ...string) (int, error) { return 0, nil }

// New makes a client and ` + long + `
func New() *Client { return nil }

// hidden ` + long + `
func hidden() {}

// Short one.
func Tiny() {}

// Twin ` + long + `
func Twin() {}

// The modes, of which each ` + long + `
const (
	A = iota
	// B is the second of the modes and ` + long + `
	B
)

// ErrGone ` + long + `
var ErrGone error
`,
		"net/tool/tool_windows.go": "package tool\n\n// OnlyThere " + long + "\nfunc OnlyThere() {}\n",
		"net/tool/tool_test.go":    "package tool\n\n// Helper " + long + "\nfunc Helper() {}\n",
		"other/o.go":               "// Package other is\npackage other\n\n// Twin " + long + "\nfunc Twin() {}\n",
		"internal/x/x.go":          "package x\n\n// X " + long + "\nfunc X() {}\n",
		"cmd/go/main.go":           "package main\n\n// X " + long + "\nfunc X() {}\n",
		"a/testdata/x.go":          "package broken {",
	})
	docs, err := docPassages(root)
	if err != nil {
		t.Fatal(err)
	}
	got := byID(docs)
	want := map[string]string{ // id: title
		"net/tool":                 "package net/tool",
		"net/tool#The_Second_Part": "package net/tool: The Second Part",
		"net/tool.Client":          "net/tool: type Client struct",
		"net/tool.Client.Do":       "net/tool: func (c *Client) Do(a, b int, more ...string) (int, error)",
		"net/tool.New":             "net/tool: func New() *Client",
		"net/tool.Twin":            "net/tool: func Twin()",
		"net/tool.A":               "net/tool: const A, B",
		"net/tool.B":               "net/tool: const B",
		"net/tool.ErrGone":         "net/tool: var ErrGone",
	}
	for id, title := range want {
		d, ok := got[id]
		if !ok || d.Title != title || len(strings.Fields(d.Text)) < minDocWords || d.Metadata["package"] != "net/tool" {
			t.Errorf("%s: %+v; want title %q", id, d, title)
		}
	}
	if len(got) != len(want) {
		t.Errorf("%d passages, want %d: %v", len(got), len(want), got)
	}
	if text := got["net/tool#The_Second_Part"].Text; strings.ContainsAny(text, "[]#/") || !strings.Contains(text, "see Client.Do") {
		t.Errorf("section text %q; want plain text without link brackets", text)
	}
}

func TestDocPassagesOfThisGo(t *testing.T) {
	root, err := goroot(os.Getenv)
	if _, noGo := exec.LookPath("go"); err != nil && errors.Is(noGo, exec.ErrNotFound) {
		t.Skipf("NOT TESTED: the passages of the demo; install Go or set GOROOT: %v", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	docs, err := docPassages(root)
	if err != nil {
		t.Fatal(err)
	}
	docs = chooseDocs(docs, demoPassages)
	if len(docs) < 4000 || len(docs) > demoPassages {
		t.Errorf("%d passages, want several thousand, at most %d", len(docs), demoPassages)
	}
	got := byID(docs)
	if len(got) != len(docs) {
		t.Errorf("%d passages have %d different ids", len(docs), len(got))
	}
	for _, q := range builtinQueries {
		if _, ok := got[q.Target]; !ok {
			t.Errorf("the demo's query %q is about %q, which is no passage", q.Query, q.Target)
		}
	}
	threads := map[string]bool{}
	for _, q := range askedQueries {
		threads[q.Thread] = true
		for _, id := range q.Right {
			if _, ok := got[id]; !ok {
				t.Errorf("%q, which answers the demo's question %q, is no passage", id, q.Query)
			}
		}
	}
	if len(askedQueries) != 20 || len(threads) != 20 {
		t.Errorf("%d questions of %d threads, want 20", len(askedQueries), len(threads))
	}
	if d := got["net/http.Client.Do"]; !strings.HasPrefix(d.Text, "Do sends an HTTP request") {
		t.Errorf("net/http.Client.Do is %+v", d)
	}
	for _, d := range docs {
		if p := importPathOf(d.ID); strings.HasPrefix(p, "debug/") || strings.Contains(p, "internal") || p == "syscall" {
			t.Errorf("%s is in the demo", d.ID)
		}
	}
}

func TestChooseDocs(t *testing.T) {
	var docs []engine.Document
	for _, p := range []string{"fmt.Print", "debug/elf.Open", "syscall.Open", "syscaller.X", "net/http.Get", "io.EOF"} {
		docs = append(docs, engine.Document{ID: p})
	}
	all := chooseDocs(docs, 10)
	if len(all) != 4 || len(docs) != 6 {
		t.Errorf("kept %v", all)
	}
	two := chooseDocs(docs, 2)
	if len(two) != 2 {
		t.Fatalf("kept %d, want 2", len(two))
	}
	// Fewer candidates must not change which of the others are drawn first.
	again := chooseDocs(two, 1)
	if first := chooseDocs(docs, 1); first[0].ID != again[0].ID {
		t.Errorf("the draw depends on the rest: %v, %v", first, again)
	}
}

func TestGorootMissing(t *testing.T) {
	t.Setenv("PATH", "")
	built := build.Default.GOROOT // that of the go command that runs the test
	build.Default.GOROOT = t.TempDir()
	defer func() { build.Default.GOROOT = built }()
	root, err := goroot(func(string) string { return t.TempDir() })
	if err == nil || hintOf(err) == "" {
		t.Errorf("found %q, %v; want an error with a hint", root, err)
	}
}

// TestLinkedSource: where the sources are a link, as Debian installs them.
func TestLinkedSource(t *testing.T) {
	root := tree(t, map[string]string{"a/a.go": "package a\n\n// A says enough words to be worth searching for.\nvar A = 1\n"})
	linked := t.TempDir()
	if err := os.Symlink(filepath.Join(root, "src"), filepath.Join(linked, "src")); err != nil {
		t.Skipf("NOT TESTED: links to folders; this system makes none: %v", err)
	}
	want, err := docPassages(root)
	if err != nil || len(want) == 0 {
		t.Fatal(want, err)
	}
	if got, err := docPassages(linked); err != nil || len(got) != len(want) {
		t.Errorf("%d passages of %d, %v", len(got), len(want), err)
	}
}
