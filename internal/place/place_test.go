package place

import (
	"strings"
	"testing"
)

// TestOf: the words of a text say where they are.
func TestOf(t *testing.T) {
	pages := "\fone\n\n\f\fthree\n\n\ffour"
	sheets := "\f\fQ1\n\nfirst\n\n\nfourth\n\n\f\fQ2\n\n\vfar"
	heads := "intro\n\n\fGuide\n\ngreet\n\n\f\fInstall\n\nrun\n\n\f\f\fOn Linux\n\nsetup\n\n\f\fUsage\n\nmoor"
	marks := "hello\n\n## Install\n\n```\n# comment\n```\n\n### On Linux ###\n\nsetup\n\nUsage\n-----\n\nmoor"
	for _, c := range []struct{ kind, title, text, from, to, want string }{
		{"pdf", "T", pages, "one", "one", "page 1"},
		{"pdf", "T", pages, "three", "three", "page 3"},
		{"pptx", "T", pages, "four", "four", "slide 4"},
		{"odp", "T", pages, "one", "three\n\n\f", "slides 1-3"},
		{"pdf", "", "old text", "old", "text", ""},
		{"pptx", "", "Title\n\n\fa\n\n\fb", "Title", "Title", ""},
		{"pptx", "", "Title\n\n\fa\n\n\fb", "Title", "a", "slide 1"},
		{"xlsx", "", sheets, "first", "first", `sheet "Q1" row 1`},
		{"ods", "", sheets, "fourth", "fourth\n\n", `sheet "Q1" row 4`},
		{"xlsx", "", sheets, "first", "fourth", `sheet "Q1"`},
		{"xlsx", "", sheets, "Q1", "Q1", `sheet "Q1"`},
		{"xlsx", "", sheets, "far", "far", `sheet "Q2"`},
		{"xlsx", "", "old", "old", "old", ""},
		{"html", "T", heads, "intro", "intro", ""},
		{"html", "T", heads, "greet", "greet", "Guide"},
		{"html", "T", "\f\fInstall\n\nrun", "run", "run", "T › Install"},
		{"docx", "T", heads, "run", "run", "T › Guide › Install"},
		{"epub", "T", heads, "setup", "setup", "T › Guide › Install › On Linux"},
		{"odt", "T", heads, "moor", "moor", "T › Guide › Usage"},
		{"rtf", "Guide", heads, "Usage", "moor", "Guide › Usage"},
		{"ipynb", "Book", "\f\f## Method\n\nstaff", "staff", "staff", "Book › Method"},
		{"markdown", "Guide", marks, "hello", "hello", ""},
		{"markdown", "Guide", marks, "# comment", "#", "Guide › Install"},
		{"markdown", "Guide", marks, "setup", "setup", "Guide › Install › On Linux"},
		{"markdown", " ", marks, "moor", "moor", "Usage"},
		{"markdown", "Guide", "# " + strings.Repeat("x", 200) + "\n\na", "a", "a", "Guide › " + strings.Repeat("x", 79) + "…"},
		{"text", "T", heads, "run", "run", ""},
		{In("text", "a/B.ORG.gz"), "T", "hello\n* One  :tag:\n#+begin_src\n* no\n#+end_src\nx\n** Two :: three\ny\n* Three\nz\n", "x", "x", "T › One"},
		{In("text", "b.org"), "T", "* One\n** Two :: three\ny\n* Three\nz\n", "y", "y", "T › One › Two :: three"},
		{In("text", "b.rst"), "Top", "====\nTop\n====\n\na\n\nOne\n---\n\nb\n\nDeep\n====\n\nc\n\nTwo\n---\n\nd\n", "c", "c", "Top › One › Deep"},
		{In("text", "b.rst"), "Top", "====\nTop\n====\n\na\n\nOne\n---\n\nb\n\nDeep\n====\n\nc\n\nTwo\n---\n\nd\n", "d", "d", "Top › Two"},
		{In("text", "b.adoc"), "G", "= G\n\n== One\n\n----\n== no\n----\n\n=== Two\n\nx\n\n== Three\n\ny\n", "x", "x", "G › One › Two"},
		{In("text", "b.asciidoc"), "G", "= G\n\n== One\n\n=== Two\n\nx\n\n== Three\n\ny\n", "y", "y", "G › Three"},
		{In("text", "b.tex"), "G", "\\title{G}\n\\begin{document}\nhello\n\\section[s]{One \\emph{two}\nthree}\nx\n\\subsection*{Four}\ny\n", "hello", "hello", ""},
		{In("text", "b.tex"), "G", "\\chapter{Zero}\\section[s]\n\\section[s]{One \\emph{two}\nthree}\nx\n\\subsection*{Four}\ny\n", "y", "y", "G › Zero › One two three › Four"},
		{In("text", "b.tex/readme"), "G", "\\chapter{Zero}\nx", "x", "x", ""},
	} {
		from := strings.Index(c.text, c.from)
		to := from + strings.Index(c.text[from:], c.to) + len(c.to)
		if got := Of(c.kind, c.title, c.text)(from, to); got != c.want {
			t.Errorf("%s, %q in %q: %q, want %q", c.kind, c.text[from:to], c.text, got, c.want)
		}
		if Known(c.kind) != (c.kind != "text" && c.kind != In("text", "b.tex/readme")) {
			t.Errorf("%s: known is %t", c.kind, Known(c.kind))
		}
	}
}

// FuzzOf: any bytes of any text have a place.
func FuzzOf(f *testing.F) {
	f.Add("\f\fQ\n\na\vb", 2, 5)
	f.Add("# a\n\nb", 0, 7)
	f.Fuzz(func(t *testing.T, text string, from, to int) {
		if from < 0 || to < from || to > len(text) {
			return
		}
		for _, kind := range []string{"pdf", "xlsx", "markdown", "html", "text.org", "text.rst", "text.adoc", "text.tex"} {
			Of(kind, "T", text)(from, to)
		}
	})
}
