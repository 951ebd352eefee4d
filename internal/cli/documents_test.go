package cli

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// readAll reads paths and returns the documents and the complaints.
func readAll(t *testing.T, stdin string, paths ...string) (items []item, bad []string, s *sources, err error) {
	t.Helper()
	s = &sources{
		stdin: strings.NewReader(stdin),
		each:  func(it item) error { items = append(items, it); return nil },
		bad:   func(b *badInput) error { bad = append(bad, b.Error()); return nil },
	}
	err = s.walk(paths)
	return items, bad, s, err
}

func TestReadJSONL(t *testing.T) {
	in := "\ufeff" + `{"_id": "a", "title": "T", "text": "one", "year": 2024, "metadata": {"lang": "en"}}` + "\r\n" +
		"\n" +
		`{"id": 12345678901234567890, "text": "two", "big": 12345678901234567890}` + "\n" +
		`{"_id": "c", "id": "kept", "text": "three"}`
	items, bad, _, err := readAll(t, in, "-")
	if err != nil || len(bad) > 0 || len(items) != 3 {
		t.Fatalf("%d documents, complaints %q, error %v; want 3 documents", len(items), bad, err)
	}
	a, b, c := items[0], items[1], items[2]
	if a.doc.ID != "a" || a.doc.Title != "T" || a.doc.Text != "one" || a.doc.Metadata["lang"] != "en" || a.where != "stdin:1" {
		t.Errorf("first document is %+v", a)
	}
	if b.doc.ID != "12345678901234567890" || b.where != "stdin:3" {
		t.Errorf("second document is %+v", b)
	}
	if c.doc.Metadata["id"] != "kept" {
		t.Errorf("third document lost its field id: %+v", c)
	}
}

func TestBadJSONL(t *testing.T) {
	cases := map[string]string{
		`{"_id": "a", "text": "x"`:               "not a JSON object",
		`[1]`:                                    "not a JSON object but array; put one object on a line",
		`null`:                                   "not a JSON object",
		`{"_id": "a", "text": "x"} {"_id": "b"}`: "one object on a line",
		`{"text": "x"}`:                          "no \"_id\"",
		`{"_id": "", "text": "x"}`:               "is empty",
		`{"_id": ["a"], "text": "x"}`:            "neither a string nor a number",
		`{"_id": "a", "text": 5}`:                "not a string",
		`{"_id": "a", "text": " \t"}`:            "no text",
		`{"_id": "a"}`:                           "no text",
		`{"_id": "a", "text": "x", "n": 1e400}`:  "out of range",
		`{"_id": "a", "text": "x", "n": [{"m": -1e999}]}`:       "out of range",
		"{\"_id\": \"a\", \"text\": \"\xff\"}":                  "UTF-8",
		`{"_id": "a", "text": "x", "k": 1, "metadata":{"k":2}}`: "both in the document",
		strings.Repeat("[", 20_000):                             "not a JSON object",
	}
	for in, want := range cases {
		_, bad, _, err := readAll(t, in+"\n{\"_id\": \"ok\", \"text\": \"fine\"}\n", "-")
		if err != nil || len(bad) != 1 || !strings.Contains(bad[0], want) || !strings.HasPrefix(bad[0], "stdin:1: ") {
			t.Errorf("%.60q: complaints %q, error %v; want one about %q on stdin:1", in, bad, err, want)
		}
	}
}

func TestLongLine(t *testing.T) {
	in := `{"_id": "big", "text": "` + strings.Repeat("x", maxText) + "\"}\n" + `{"_id": "b", "text": "x"}`
	items, bad, _, err := readAll(t, in, "-")
	if err != nil || len(items) != 1 || items[0].doc.ID != "b" || items[0].where != "stdin:2" || len(bad) != 1 {
		t.Fatalf("%d documents, complaints %q, error %v; want the second document and a complaint about the first", len(items), bad, err)
	}
}

func TestReadFolder(t *testing.T) {
	dir := t.TempDir()
	files := map[string]string{
		"a.txt":             "\ufeffplain\r\ntext",
		"sub/b.md":          "# A heading #\n\nbody\n",
		"sub/only-title.md": "# Just this\n",
		"corpus.jsonl":      `{"_id": "j", "text": "from jsonl"}`,
		"blob.txt":          "a\x00b",
		"latin.md":          "caf\xe9",
		"empty.txt":         " \n",
		"picture.png":       "png",
		".hidden.txt":       "hidden",
		".git/x.txt":        "hidden",
	}
	for name, text := range files {
		p := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(p, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(filepath.Join(dir, "a.txt"), filepath.Join(dir, "link.txt")); err != nil {
		t.Log("no symbolic links here:", err)
	}
	items, bad, s, err := readAll(t, "", dir)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]item{}
	for _, it := range items {
		got[it.doc.ID] = it
	}
	if len(got) != 4 || got["a.txt"].doc.Text != "plain\ntext" || got["j"].doc.Text != "from jsonl" {
		t.Errorf("documents: %+v", got)
	}
	if b := got["sub/b.md"].doc; b.Title != "A heading" || b.Text != "body\n" {
		t.Errorf("sub/b.md is %+v", b)
	}
	if b := got["sub/only-title.md"].doc; b.Title != "" || !strings.Contains(b.Text, "Just this") {
		t.Errorf("a heading alone is the text: %+v", b)
	}
	if len(bad) != 1 || !strings.Contains(bad[0], "empty.txt") {
		t.Errorf("complaints %q; want one about empty.txt", bad)
	}
	if s.skipped.Hidden != 2 || s.skipped.Binary != 2 || s.skipped.Other < 1 {
		t.Errorf("left out %+v; want 2 hidden, 2 binary, and the picture", s.skipped)
	}
}

func TestFileArguments(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	for _, name := range []string{"x/a.txt", "y/a.txt"} {
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte("text of "+name), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	items, bad, _, err := readAll(t, "", "./x/a.txt", "y/a.txt")
	if err != nil || len(bad) > 0 || len(items) != 2 || items[0].doc.ID != "x/a.txt" || items[1].doc.ID != "y/a.txt" {
		t.Errorf("files: %+v, %q, %v", items, bad, err)
	}
	items, bad, _, err = readAll(t, "", "x", "y")
	if err != nil || len(items) != 1 || len(bad) != 1 || !strings.Contains(bad[0], "index a folder above both") {
		t.Errorf("two folders with one file name: %d documents, complaints %q, %v; want the second refused", len(items), bad, err)
	}
	if err := os.Symlink("x", "link"); err != nil {
		t.Log("no symbolic links here:", err)
	} else if items, _, s, err := readAll(t, "", "link"); err != nil || len(items) != 1 || items[0].doc.ID != "a.txt" || s.total([]string{"link"}) == 0 {
		t.Errorf("a link to a folder: %+v, %v; want what the folder holds", items, err)
	}
	if _, _, _, err := readAll(t, "", ""); exitCode(err) != exitUsage {
		t.Errorf("an empty name gave %v; want a usage error", err)
	}
	if _, _, _, err := readAll(t, "", "nowhere"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a missing path gave %v", err)
	}
	if err := os.WriteFile("doc.pdf", []byte("%PDF"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, _, _, err := readAll(t, "", "doc.pdf"); exitCode(err) != exitUsage {
		t.Errorf("a file of an unknown kind gave %v; want a usage error", err)
	}
}

// TestUnreadableFile: a file that cannot be read is a document that cannot be
// read, about which --skip-bad decides.
func TestUnreadableFile(t *testing.T) {
	var bad []string
	s := &sources{
		each: func(item) error { return nil },
		bad:  func(b *badInput) error { bad = append(bad, b.Error()); return nil },
	}
	dir := filepath.Join(t.TempDir(), "folder.txt")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	gone := filepath.Join(dir, "gone.md")
	for _, name := range []string{dir, gone} {
		if err := s.file(name, "id", true); err != nil {
			t.Errorf("%s: %v; want a complaint", name, err)
		}
	}
	if len(bad) != 2 || !strings.HasPrefix(bad[0], dir+": ") || strings.Count(bad[1], gone) != 1 {
		t.Errorf("complaints %q", bad)
	}
	if os.Geteuid() <= 0 {
		t.Skip("NOT TESTED: a folder without the right to read it; run on a Unix and not as root")
	}
	closed := filepath.Join(dir, "closed")
	if err := os.Mkdir(closed, 0); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.Chmod(closed, 0o755) })
	if _, bad, _, err := readAll(t, "", dir); err != nil || len(bad) != 1 || !strings.HasPrefix(bad[0], closed+": ") {
		t.Errorf("a closed folder: %q, %v", bad, err)
	}
}

func FuzzParseDocument(f *testing.F) {
	f.Add([]byte(`{"_id": "a", "title": "t", "text": "x", "metadata": {"y": [1, 2.5e3, null]}}`))
	f.Add([]byte(`{"id": 1e5, "text": "\ud800"}`))
	f.Fuzz(func(t *testing.T, line []byte) {
		doc, err := parseDocument(line)
		if err == nil && doc.ID == "" {
			t.Errorf("%q: a document without an id", line)
		}
	})
}
