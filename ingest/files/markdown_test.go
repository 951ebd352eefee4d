package files_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	. "github.com/lexsem/lexsem/ingest/files"
	"github.com/lexsem/lexsem/ingest/internal/filestest"
)

func TestMarkdown(t *testing.T) {
	for _, c := range []struct {
		in, title, text string
		from            int
		breaks          string // the texts from each break to its line's end
	}{
		{"# A heading #\n\nbody\n", "A heading", "body\n", 3, ""},
		{"# C#\r\n\r\nbody\r\n", "C#", "body\n", 3, ""},
		{"# Just this\n", "", "# Just this\n", 1, ""},
		{"\n\n  # T\nbody\n## Two ##\nx\n", "T", "body\n## Two ##\nx\n", 4, "## Two ##"},
		{"badge\n\n# T\nbody", "T", "badge\n\n# T\nbody", 1, "# T"},
		{"Top\n===\n\nbody\n\nSub\n---\nx", "Top", "body\n\nSub\n---\nx", 4, "Sub"},
		{"a\n```\n# no\n~~~\n```\n# yes\n", "yes", "a\n```\n# no\n~~~\n```\n# yes\n", 1, "# yes"},
		{"~~~~\n# no\n~~~\n# no\n~~~~\n## yes\n", "", "~~~~\n# no\n~~~\n# no\n~~~~\n## yes\n", 1, "## yes"},
		{"<!-- a\n# no\n-->\n## yes\nx", "", "<!-- a\n# no\n-->\n## yes\nx", 1, "## yes"},
		{"a\n    # code\n\t# code\n#no\n####### no\n* x\n---\n| a |\n---\n", "", "a\n    # code\n\t# code\n#no\n####### no\n* x\n---\n| a |\n---\n", 1, ""},
		{"two\nlines\n---\nx", "", "two\nlines\n---\nx", 1, ""},
		{"---\ntitle: Front\n---\n\n# H\n\nbody\n", "Front", "# H\n\nbody\n", 5, ""},
		{"---\ntitle: H\n---\n# H\n\nbody\n", "H", "body\n", 6, ""},
		{"---\nrule\n---\ntext", "", "---\nrule\n---\ntext", 1, ""},
		{"---\nno: end\ntext", "", "---\nno: end\ntext", 1, ""},
		{"---\n---\ntext", "", "text", 3, ""},
		{"+++\ntitle = 'T'\n+++\ntext", "T", "text", 4, ""},
		{"---\ntitle: only\n---\n", "only", "", 1, ""},
	} {
		recs, _, err := filestest.ReadAll(t, "a.md", c.in, Options{})
		if err != nil || len(recs) != 1 {
			t.Errorf("%q: %v, %v", c.in, recs, err)
			continue
		}
		r := recs[0]
		var breaks []string
		for _, b := range r.Breaks {
			line, _, _ := strings.Cut(r.Text[b:], "\n")
			breaks = append(breaks, line)
		}
		if r.Title != c.title || r.Text != c.text || r.From != c.from || strings.Join(breaks, "|") != c.breaks || r.Verbatim == (r.Text == "") {
			t.Errorf("%q: title %q, text %q from line %d, breaks %q", c.in, r.Title, r.Text, r.From, breaks)
		}
	}
}

func TestFrontMatter(t *testing.T) {
	yaml := "---\ntags: [a, b]\ndate: 2024-01-05\nwhen: 2024-01-05T10:00:00.5+02:00\nn: 3\nf: 1.5\nyes: true\nnone:\nm: {1: a, b: {c: 2020-02-02}}\n2: two\nb: !!binary /w==\n---\nx"
	toml := "+++\ntags = ['a', 'b']\ndate = 2024-01-05\nwhen = 2024-01-05T10:00:00.5+02:00\nn = 3\nf = 1.5\nyes = true\nlocal = 2024-01-05T10:00:00\nt = 10:00:00\n[[rows]]\nd = 2020-02-02\n[m]\nb = {c = 2020-02-02}\n+++\nx"
	for in, want := range map[string]string{
		yaml: "map[2:two b:/w== date:2024-01-05 f:1.5 m:map[1:a b:map[c:2020-02-02]] n:3 none:<nil> tags:[a b] when:2024-01-05T08:00:00.5Z yes:true]",
		toml: "map[date:2024-01-05 f:1.5 local:2024-01-05T10:00:00Z m:map[b:map[c:2020-02-02]] n:3 rows:[map[d:2020-02-02]] t:10:00:00 tags:[a b] when:2024-01-05T08:00:00.5Z yes:true]",
	} {
		recs, _, err := filestest.ReadAll(t, "a.md", in, Options{})
		if err != nil || len(recs) != 1 || fmt.Sprint(recs[0].Metadata) != want {
			t.Errorf("%q: %v, %v; want %s", in, recs, err, want)
			continue
		}
		filestest.Encodable(t, recs[0])
	}
	typed := "---\nzip: 01234\nversion: 1.10\nsha: 12e8\nhex: 0x10\nbig: 9007199254740993\nno: .nan\nlist: [007, 1.50, {deep: 0o17}]\nnot: -.inf\nquoted: '1'\n---\nx"
	want := `{"big":9007199254740993,"hex":"0x10","list":["007",1.50,{"deep":"0o17"}],"no":".nan","not":"-.inf","quoted":"1","sha":12e8,"version":1.10,"zip":"01234"}`
	recs, _, err := filestest.ReadAll(t, "a.md", typed, Options{})
	if err != nil || len(recs) != 1 {
		t.Fatalf("%v, %v", recs, err)
	}
	if got, err := json.Marshal(recs[0].Metadata); err != nil || string(got) != want {
		t.Errorf("as typed: %s, %v; want %s", got, err, want)
	}
	for in, want := range map[string]string{"1984": "1984", "01234": "01234", "1.10": "1.10", "true": "true", "2024-01-05": "2024-01-05", "' '": "", "[a]": "", "'T'": "T"} {
		for _, text := range []string{"---\ntitle: " + in + "\n---\nx", "+++\ntitle = " + in + "\n+++\nx"} {
			if text[0] == '+' && in == "01234" {
				continue // no TOML
			}
			if text[0] == '+' && in == "1.10" {
				want = "1.1" // TOML's library keeps no digits
			}
			recs, _, err := filestest.ReadAll(t, "a.md", strings.ReplaceAll(text, "[a]", "['a']"), Options{})
			if err != nil || recs[0].Title != want {
				t.Errorf("%q: title %q, %v; want %q", text, recs[0].Title, err, want)
			}
		}
	}
	bomb := "a: &a [x,x,x,x,x,x,x,x,x]\n"
	for c := 'b'; c < 'i'; c++ {
		bomb += fmt.Sprintf("%c: &%c [*%[3]c,*%[3]c,*%[3]c,*%[3]c,*%[3]c,*%[3]c,*%[3]c,*%[3]c,*%[3]c]\n", c, c, c-1)
	}
	for in, want := range map[string]string{
		"a: [1":                             "front matter",
		"a: 1\na: 2":                        "already defined",
		"a: {b: 1, c: 2, b: 3}":             "already defined",
		bomb:                                "excessive aliasing",
		"a: &a [*a]":                        "front matter",
		"a: " + strings.Repeat("[", 20_000): "exceeded max depth",
		"a: b\n- c":                         "front matter",
	} {
		text := "---\n" + in + "\n---\nx"
		recs, warned := warnings(t, "a.md", text, Options{})
		if len(recs) != 1 || len(warned) != 1 || !strings.Contains(warned[0], want) || !strings.HasSuffix(recs[0].Text, "\nx") {
			t.Errorf("%.60q: %.200v, warned %q; want the text, and %q", in, recs, warned, want)
		}
	}
}

// TestBrokenFrontMatter: front matter that cannot be read is text, and the warning names the line of the file.
func TestBrokenFrontMatter(t *testing.T) {
	for in, line := range map[string]string{
		"---\ntitle: Foo: the bar story\n---\n":                                                   "2: ",
		"---\na: b\ntags:\n\t- a\n---\n":                                                          "4: ",
		"---\ntitle: @mention notes\n---\n":                                                       "2: ",
		"---\ntitle: {{ title }}\ndate: {{date}}\n---\n":                                          "2: ",
		"+++\na = 1\ntitle = toml bad\n+++\n":                                                     "3: ",
		"+++\na = \n+++\n":                                                                        "2: ",
		"+++\n" + strings.Repeat("a.", 101) + "a = 1\n+++\n":                                      "1: ",
		"+++\na = " + strings.Repeat("{a = ", 1001) + "1" + strings.Repeat("}", 1001) + "\n+++\n": "1: ",
	} {
		recs, warned := warnings(t, "a.md", in+"\nBody about zebras\n", Options{})
		if len(recs) != 1 || recs[0].Text != in+"\nBody about zebras\n" || recs[0].Metadata != nil || recs[0].From != 1 {
			t.Errorf("%q: %+v; want all as text", in, recs)
		}
		if len(warned) != 1 || !strings.HasPrefix(warned[0], line) || !strings.Contains(warned[0], "front matter cannot be read") || strings.Contains(warned[0], "interface {}") {
			t.Errorf("%q: warned %q, want one that begins with %q", in, warned, line)
		}
	}
	recs, warned := warnings(t, "a.md", "---\na: "+strings.Repeat("[", 200)+strings.Repeat("]", 200)+"\nb: 2\n---\nx", Options{})
	if len(recs) != 1 || fmt.Sprint(recs[0].Metadata) != "map[b:2]" || len(warned) != 1 {
		t.Errorf("one bad field: %+v, warned %q; want the other field", recs, warned)
	}
}

// TestDataURIs: pictures within a text are no one's words.
func TestDataURIs(t *testing.T) {
	data := "data:image/png;base64," + strings.Repeat("iVBORw0KGgo/+", 3000) + "=="
	for in, want := range map[string]string{
		"a ![plan](" + data + ") b\n\nc\n":              "a ![plan]() b\n\nc\n",
		"<img src=\"" + data + "\"> b\n":                "<img src=\"\"> b\n",
		"b\n\n[x]: <" + data + ">\n":                    "b\n\n[x]: <>\n",
		"data:text/plain,short\n":                       "data:text/plain,short\n",
		"the data: image/png is " + data[22:400] + "\n": "the data: image/png is " + data[22:400] + "\n",
	} {
		var got string
		for rec, err := range Read(t.Context(), strings.NewReader(in), int64(len(in)), "a.md", Options{}) {
			if err != nil {
				t.Error(err)
			}
			got = rec.Text
		}
		if got != want {
			t.Errorf("%.60q: %.100q, want %.100q", in, got, want)
		}
	}
	recs, _, err := filestest.ReadAll(t, "a.html", "<p>crane <img src='"+data+"'> moves</p>", Options{})
	if err != nil || len(recs) != 1 || len(recs[0].Text) > 40 {
		t.Errorf("a page: %.200v, %v", recs, err)
	}
}

func FuzzMarkdown(f *testing.F) {
	filestest.Fuzz(f, "markdown", "---\ntitle: T\nd: 2024-01-05\n---\n# H\n```\n# x\n```\n## Two\n", "+++\na = 1\n+++\nx", "A\n===\nb\n---\n", "<pre\n#", "---\na: &a [*a]\n---\n",
		"---\n"+strings.Repeat("a: 1\n", 3000)+"---\nx", "+++\n"+strings.Repeat("a.", 5000)+"a=1\n+++\nx", "+++\na="+strings.Repeat("{a=", 5000)+"\n+++\nx")
}
func FuzzText(f *testing.F) { filestest.Fuzz(f, "text", "a\r\nb", "\xff\xfea\x00", "\ufeffx") }
