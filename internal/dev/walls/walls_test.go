package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// write makes files in the folder that the test runs in.
func write(t *testing.T, files map[string]string) (names []string) {
	t.Helper()
	t.Chdir(t.TempDir())
	for name, text := range files {
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		names = append(names, name)
	}
	return names
}

func TestSizes(t *testing.T) {
	code, docs, err := sizes(write(t, map[string]string{"a.go": "package a\n\n", "a_test.go": "package a\n", "b.md": "four", "c.json": "{}"}))
	if err != nil || code != 2 || docs != 4 {
		t.Errorf("%d lines, %d bytes, %v", code, docs, err)
	}
}

func TestPublicNames(t *testing.T) {
	names := write(t, map[string]string{
		"p/a.go":          "package p\ntype T int\nfunc (T) M() {}\nfunc F() {}\nfunc f() {}\nvar V, w int\nconst (\n\tC = 1\n)\n",
		"p/b_linux.go":    "package p\nfunc G() {}\n",
		"p/b_other.go":    "package p\nfunc G() {}\n",
		"p/a_test.go":     "package p\nfunc TestX() {}\n",
		"internal/i/i.go": "package i\nfunc I() {}\n",
		"tools/m/main.go": "package main\nfunc Main() {}\n",
	})
	public, err := publicNames(names)
	if err != nil || total(public) != 5 || public["p"] != 5 {
		t.Errorf("%v, %v", public, err)
	}
}

// TestShape: a calls b and c, b calls c, and c calls a back: one arrow runs against any order.
func TestShape(t *testing.T) {
	write(t, map[string]string{
		"p/a.go":      "package p\nfunc A() { B(); C() }\n",
		"p/b.go":      "package p\ntype T int\nfunc B() { T(0).twice(); C() }\nfunc (T) twice() {}\n",
		"p/c.go":      "package p\nfunc C() { A() }\nfunc (U) twice() {}\ntype U int\n",
		"p/a_test.go": "package p\nfunc TestA() { C() }\n",
	})
	if s, err := shapeOf("p"); err != nil || s != (shape{files: 3, calls: 4, against: 1}) {
		t.Errorf("%+v, %v", s, err)
	}
}

// TestShapeWithoutCycles: b calls more files than a does, and still stands below it.
func TestShapeWithoutCycles(t *testing.T) {
	write(t, map[string]string{
		"p/a.go": "package p\nfunc A() { B() }\n",
		"p/b.go": "package p\nfunc B() { C(); D(); E() }\n",
		"p/c.go": "package p\nfunc C() {}\n",
		"p/d.go": "package p\nfunc D() { C() }\n",
		"p/e.go": "package p\nfunc E() {}\n",
	})
	if s, err := shapeOf("p"); err != nil || s != (shape{files: 5, calls: 5, against: 0}) {
		t.Errorf("%+v, %v", s, err)
	}
}

func TestReadme(t *testing.T) {
	program := "import (\n\t\"fmt\"\n\n\t\"github.com/lexsem/lexsem\"\n)\n\nfunc main() {\n\tfmt.Println(lexsem.X)\n}\n"
	write(t, map[string]string{"README.md": strings.Join([]string{"# x\n", "```go\n", program, "```\n"}, "")})
	if got, err := readme(); err != nil || got != "1, 3" {
		t.Errorf("%q, %v", got, err)
	}
}
