package files_test

import (
	"errors"
	"strings"
	"testing"

	. "github.com/lexsem/lexsem/ingest/files"
	"github.com/lexsem/lexsem/ingest/internal/filestest"
)

func TestCode(t *testing.T) {
	for name, c := range map[string]struct{ in, language, breaks string }{
		"a/b.go":    {"// Package b.\npackage b\n\nimport \"fmt\"\n\n// F is.\nfunc F() {\r\n\n\tfmt.Println()\n}\nvar x = `\n\nfunc no\n`\n\n//go:noinline\nfunc G() {}\n", "go", "import \"fmt\"|// F is.|var x = `|//go:noinline"},
		"broken.go": {"package b\n\nfunc F( {\n\nvar x int\n\n}\n", "go", "func F( {|var x int"},
		"m.py":      {"\n\nimport x\n\n\n@deco\ndef f():\n    a\n\n    b\n\n# note\nclass C:\n  pass\n", "python", "@deco|# note"},
		"M.Java":    {"class A {\n\n  void f() {}\n\n}\n\nclass B {}\n", "java", "class B {}"},
		"Makefile":  {"all:\n\techo\n\nclean:\n\trm\n", "make", "clean:"},
		"x.sql":     {"select 1;\r\n\r\nselect ü;\r\n", "sql", "select ü;"},
	} {
		recs, _, err := filestest.ReadAll(t, name, c.in, Options{ID: "i"})
		if err != nil || len(recs) != 1 {
			t.Errorf("%s: %v, %v", name, recs, err)
			continue
		}
		r := recs[0]
		var breaks []string
		for _, b := range r.Breaks {
			line, _, _ := strings.Cut(r.Text[b:], "\n")
			breaks = append(breaks, line)
		}
		if r.Title != name {
			t.Errorf("%s: title %q", name, r.Title)
		}
		if r.Metadata["language"] != c.language || strings.Join(breaks, "|") != c.breaks || !r.Verbatim || r.From != 1 || r.To != strings.Count(c.in, "\n") {
			t.Errorf("%s: %+v, breaks %q", name, r, breaks)
		}
	}
	deep := "package b\n\nvar x = " + strings.Repeat("(", 200_000) + "\n\nvar y int\n"
	if recs, _, err := filestest.ReadAll(t, "deep.go", deep, Options{}); err != nil || len(recs[0].Breaks) != 2 {
		t.Errorf("a deep expression: %d, %v", len(recs), err)
	}
	if recs, _, err := filestest.ReadAll(t, "f", "x\n", Options{Kind: "code"}); err != nil || recs[0].Metadata != nil {
		t.Errorf("code of no known language: %v, %v", recs, err)
	}
}

func TestTitleOfCode(t *testing.T) {
	for name, want := range map[string]string{"lib/rack/parser.rb": "lib/rack/parser.rb", `lib\rack\parser.rb`: "lib/rack/parser.rb", "./a.go": "a.go", "../b/a.go": "a.go", "/home/me/a.go": "a.go", `C:\b\a.go`: "a.go"} {
		if recs, _, err := filestest.ReadAll(t, name, "x\n", Options{}); err != nil || len(recs) != 1 || recs[0].Title != want {
			t.Errorf("%s: %+v, %v; want the title %s", name, recs, err, want)
		}
	}
	if recs, _, err := filestest.ReadAll(t, "a.go", " \n", Options{}); !errors.Is(err, ErrNoText) {
		t.Errorf("a file without text: %v, %v", recs, err)
	}
}

func FuzzCode(f *testing.F) {
	f.Add("package b\n\n// F\nfunc F() {}\nvar (\n\tx = 1\n)\n")
	f.Add("#x\n\ndef f():\n\n  y\n\nz")
	f.Fuzz(func(t *testing.T, in string) {
		for _, name := range []string{"a.go", "a.py"} {
			filestest.ReadAll(t, name, in, Options{})
		}
	})
}
