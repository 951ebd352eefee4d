package files_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/lexsem/lexsem/engine"
	. "github.com/lexsem/lexsem/ingest/files"
	"github.com/lexsem/lexsem/ingest/internal/filestest"
)

// TestMarkup: titles and headings of markups, and what only looks like them.
func TestMarkup(t *testing.T) {
	for _, c := range []struct{ name, in, title, breaks, metadata string }{
		{"a.org", "#+TITLE: T\n#+AUTHOR: A\n#+DATE: <2024-03-01 Fri>\n#+BEGIN_SRC c\n* no\n#+END_SRC\n* One\n*bold* no\n** Two\n", "T", "* One|** Two", "map[author:A date:2024-03-01 Fri]"},
		{"a.rst", "..  comment\n\n####\nTop\n####\n\n:Author: A\n:Date: 2024\n\ntext\n\nSub: ä\n======\ntext\n\n====== ===\nno     no\n====== ===\n\n- item\n-----\n", "Top", "####|Sub: ä", "map[author:A date:2024]"},
		{"b.rst", "text first\n\nHead\n----\ntext\n", "", "Head", "map[]"},
		{"a.adoc", "= T\nAnn B <a@b.c>\n:revdate: 2024-03-01\n\ntext\n\n----\n== no\n----\n\n== One\n\n====\nexample\n====\n", "T", "== One", "map[author:Ann B date:2024-03-01]"},
		{"a.tex", "\\documentclass{article}\n\\title[short]{A \\emph{long}\ntitle}\n\\author{A \\and B}\n\\date{\\today}\n\\begin{document}\nx\n\\section*{One}\n\\subsection[s]{Two}\n", "A long title", `\begin{document}|\section*{One}|\subsection[s]{Two}`, "map[author:A , B]"},
		{"a.txt", "Head\n====\n\nHead\n====\n", "", "", "map[]"},
	} {
		recs, _, err := filestest.ReadAll(t, c.name, c.in, Options{ID: "x"})
		if err != nil || len(recs) != 1 {
			t.Errorf("%s: %v, %v", c.name, recs, err)
			continue
		}
		r := recs[0]
		var begin []string
		for _, b := range r.Breaks {
			line, _, _ := strings.Cut(r.Text[b:], "\n")
			begin = append(begin, line)
		}
		if r.Text != c.in || !r.Verbatim || r.Title != c.title || strings.Join(begin, "|") != c.breaks || fmt.Sprint(r.Metadata) != c.metadata {
			t.Errorf("%s: title %q, breaks at %q, metadata %v", c.name, r.Title, begin, r.Metadata)
		}
	}
}

func FuzzMarkup(f *testing.F) {
	for _, name := range []string{"pandoc.rst", "pandoc.org", "pandoc.adoc", "pandoc.tex"} {
		f.Add(name, made(f, name))
	}
	f.Add("a.rst.gz", "a")
	f.Fuzz(func(t *testing.T, name, in string) {
		if _, _, err := filestest.ReadAll(t, name, in, Options{Kind: "text", ID: "x"}); err != nil && !errors.Is(err, engine.ErrInvalid) {
			t.Error(err)
		}
	})
}

// TestRTF: characters of all sorts, and what is no text.
func TestRTF(t *testing.T) {
	for in, want := range map[string]string{
		`a\'e9\u8364?b\u-10179?\u-8704?c`:                                              "aé€b😀c",
		`{\uc2\u233 xx}\u233?\uc0\u233 y`:                                              "ééé y"[:len("ééé")] + "y",
		`a\emdash b\~c\_d\-e\{\}\\f\line g\tab h`:                                      "a—b\u00a0c-de{}\\f\ng\th",
		`{\fonttbl{\f1\fcharset204 x;}{\f2\fcharset128 y;}}{\f1\'ef\'f0}{\f2\'93\'fa}`: "пр日",
		`{\*\unknown no}{\pict\bin4 }}}}ab}{\v no}{\v0 yes}{\object{\objdata no}}x`:    "yesx",
		`{\field{\*\fldinst HYPERLINK "no"}{\fldrslt link}}`:                           "link",
		`a{\footnote b\par c}d\par e`:                                                  "ad\n\nb\nc\n\ne",
		"a\\\nb":                                                                       "a\n\nb",
		`\trowd a\cell b\cell\row\trowd c\cell\row d`:                                  "a\tb\nc\n\nd",
		`{\stylesheet{\s5 heading 2;}}a\par\pard\s5 H\par\pard b`:                      "a\n\nH\n\nb",
		`{\info{\title T}{\operator no}{\creatim\yr2024\mo3\dy1}}x`:                    "x",
	} {
		recs, warned := warnings(t, "a.rtf", `{\rtf1\ansi\ansicpg1252 `+in+`}`, Options{ID: "x"})
		if len(recs) != 1 || bare(recs[0].Text) != want || len(warned) > 0 {
			t.Errorf("%s: %+v, warned %q; want %q", in, recs, warned, want)
		}
	}
	recs, warned := warnings(t, "a.rtf", `{\rtf1{\info{\title T}{\author A}{\creatim\yr2024\mo13\dy1}}x\par y`, Options{ID: "x"})
	if r := recs[0]; r.Title != "T" || r.Text != "x\n\ny" || fmt.Sprint(r.Metadata) != "map[author:A]" || len(warned) != 2 {
		t.Errorf("%+v, warned %q", r, warned)
	}
	for in, want := range map[string]string{"x" + strings.Repeat("{", 2000): "nest deeper than 1000", "x" + strings.Repeat("y", 2000): "its text is longer than", `x\par {\*`: "ends too early", `x{\bin999999999`: "ends too early", `x\`: "ends too early", `x\'`: "ends too early", `x\'e`: "ends too early"} {
		recs, warned := warnings(t, "a.rtf", `{\rtf1 `+in, Options{ID: "x", MaxBytes: 1000})
		if len(recs) != 1 || recs[0].Text[0] != 'x' || len(warned) != 1 || !strings.Contains(warned[0], want) {
			t.Errorf("%.30s: %.80v, warned %q; want %q", in, recs, warned, want)
		}
	}
	if recs, warned := warnings(t, "a.rtf", "{\\rtf1 a\x00b\x03\tc}", Options{ID: "x"}); recs[0].Text != "ab\x03\tc" && recs[0].Text != "ab\tc" || len(warned) != 1 || !strings.Contains(warned[0], "control characters (2)") {
		t.Errorf("control characters: %q, warned %q", recs[0].Text, warned)
	}
	for in, is := range map[string]error{"": ErrNoText, "words": ErrMalformed, `{\rtf1 }`: ErrNoText} {
		if recs, _, err := filestest.ReadAll(t, "a.rtf", in, Options{ID: "x"}); !errors.Is(err, is) {
			t.Errorf("%q: %v, %v", in, recs, err)
		}
	}
}

// TestNotebook: cells of all formats, bounded outputs, and damage.
func TestNotebook(t *testing.T) {
	for in, want := range map[string]struct{ text, warn string }{
		`{"cells":[{"cell_type":"code","source":["a\n","b"],"outputs":[{"data":{"image/png":"x"}}]}]}`:                           {"a\nb", ""},
		`{"worksheets":[{"cells":[{"cell_type":"heading","level":2,"source":"H"},{"cell_type":"code","input":"a"}]}]}`:           {"H\n\na", ""},
		`{"cells":[{"cell_type":"code","source":"a","outputs":[{"text":"` + strings.Repeat("é", 3000) + `"},{"text":"more"}]}]}`: {"a\n\n" + strings.Repeat("é", 2048) + "…", "outputs longer than 4096 bytes were cut (1 cells)"},
		`{"metadata":[1],"cells":[{"cell_type":"raw","source":"a"},{"source":{"x":1},"cell_type":7},{"source":"b"}]}`:            {"a\n\nb", "its metadata cannot be read"},
		`{"cells":[{"source":"a"},{"source":"b`: {"a", "it cannot be read to its end"},
		`{"cells":[{"source":"![x](data:image/png;base64,` + strings.Repeat("A", 5000) + `) a","cell_type":"markdown"}]}`: {"![x]() a", ""},
	} {
		recs, warned := warnings(t, "a.ipynb", in, Options{ID: "x"})
		if len(recs) != 1 || bare(recs[0].Text) != want.text || want.warn == "" && len(warned) > 0 || !strings.Contains(strings.Join(warned, "\n"), want.warn) {
			t.Errorf("%.80s: %.300v, warned %q; want %.100q", in, recs, warned, want.text)
		}
	}
	for in, is := range map[string]error{"": ErrNoText, "[]": ErrMalformed, `{"cells":[]}`: ErrNoText, `{"cells":{}}`: ErrMalformed, "words": ErrMalformed, `{"cells":[` + strings.Repeat("[", 20000): ErrMalformed,
		`{"worksheets":[{"worksheets":[{"cells":[{"source":"a"}]}]}]}`: ErrNoText} {
		if recs, _, err := filestest.ReadAll(t, "a.ipynb", in, Options{ID: "x"}); !errors.Is(err, is) {
			t.Errorf("%.30q: %v, %v", in, recs, err)
		}
	}
}
