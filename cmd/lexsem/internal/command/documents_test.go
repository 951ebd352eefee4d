package command

import (
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/lexsem/lexsem/internal/problems"
)

// readAll reads files, or standard input for "-", and returns the documents and the
// complaints, those about whole files last.
func readAll(t *testing.T, stdin string, paths ...string) (items []item, bad []string, err error) {
	t.Helper()
	var failed []string
	s := &sources{
		stdin:  strings.NewReader(stdin),
		each:   func(it item) error { items = append(items, it); return nil },
		bad:    func(b *badInput) { bad = append(bad, b.Error()) },
		failed: func(b *badInput) error { failed = append(failed, b.Error()); return nil },
		warned: func(b *badInput) { bad = append(bad, "warned: "+b.Error()) },
		begun:  func(string) {},
	}
	for _, p := range paths {
		if p == "-" {
			err = errors.Join(err, s.stream(t.Context()))
		} else {
			err = errors.Join(err, s.file(t.Context(), p))
		}
	}
	return items, append(bad, failed...), err
}

func TestReadJSONL(t *testing.T) {
	in := "\ufeff" + `{"_id": "a", "title": "T", "text": "one", "year": 2024, "metadata": {"lang": "en"}}` + "\r\n" +
		"\n" +
		`{"id": 12345678901234567890, "text": "two", "big": 12345678901234567890}` + "\n" +
		`{"_id": "c", "id": "kept", "text": "three"}`
	items, bad, err := readAll(t, in, "-")
	if err != nil || len(bad) > 0 || len(items) != 3 {
		t.Fatalf("%d documents, complaints %q, error %v; want 3 documents", len(items), bad, err)
	}
	a, b, c := items[0], items[1], items[2]
	if a.doc.ID != "a" || a.doc.Title != "T" || a.doc.Text != "one" || a.doc.Metadata["lang"] != "en" || a.doc.Metadata["path"] != nil || a.file != "stdin" || a.line != 1 {
		t.Errorf("first document is %+v", a)
	}
	if b.doc.ID != "12345678901234567890" || b.line != 3 {
		t.Errorf("second document is %+v", b)
	}
	if c.doc.Metadata["id"] != "kept" {
		t.Errorf("third document lost its field id: %+v", c)
	}
}

func TestBadJSONL(t *testing.T) {
	cases := map[string]string{
		`{"_id": "a", "text": "x"`:     "not a JSON object",
		`[1]`:                          "not a JSON object but array; put one object on each line",
		`{"text": "x"}`:                "no \"_id\"",
		`{"_id": "a", "text": " \t"}`:  "no text",
		strings.Repeat("x", maxText+9): "16 MiB",
	}
	file := filepath.Join(t.TempDir(), "c.jsonl")
	for in, want := range cases {
		in += "\n{\"_id\": \"ok\", \"text\": \"fine\"}\n"
		if err := os.WriteFile(file, []byte(in), 0o644); err != nil {
			t.Fatal(err)
		}
		for path, name := range map[string]string{"-": "stdin", file: file} {
			items, bad, err := readAll(t, in, path)
			if err != nil || len(items) != 1 || len(bad) != 1 || !strings.Contains(bad[0], want) || !strings.HasPrefix(bad[0], name+":1: ") {
				t.Errorf("%.60q: %d documents, complaints %q, error %v; want one about %q on %s:1", in, len(items), bad, err, want, name)
			}
		}
	}
}

// TestNamedFiles: documents of files that were named have their names as ids, and say
// where they are from; a whole file that cannot be read does not stop the others.
func TestNamedFiles(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	for name, text := range map[string]string{
		"x/a.txt": "text of x", "y/a.txt": "text of y", "r.jsonl": "\n{\"_id\":\"r\",\"text\":\"rec\",\"time\":\"noon\"}\n",
		"empty.txt": " \n", "blob.txt": "\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR", "t.csv": "id,text\n7,seven\n", "notes": "plain words\n", "run": "#!/usr/bin/env ruby\nputs\n",
	} {
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	items, bad, err := readAll(t, "", "./x/a.txt", "empty.txt", "blob.txt", "gone.txt", "x", "y/a.txt", "r.jsonl", "t.csv")
	if err != nil || len(items) != 4 || items[0].doc.ID != "x/a.txt" || items[1].doc.ID != "y/a.txt" || items[2].doc.ID != "r" || items[3].doc.ID != "7" {
		t.Fatalf("files: %+v, %q, %v", items, bad, err)
	}
	if len(bad) != 4 || !strings.HasPrefix(bad[0], "empty.txt: no text") || !strings.HasPrefix(bad[1], "blob.txt: not UTF-8") ||
		!strings.HasPrefix(bad[2], "gone.txt: ") || strings.Count(bad[2], "gone.txt") != 1 || !strings.HasPrefix(bad[3], "x: ") {
		t.Errorf("complaints: %q", bad)
	}
	if m := items[2].doc.Metadata; len(m) != 2 || m["time"] != "noon" { // a field of its own by a name of ours
		t.Errorf("metadata of a record: %v", m)
	}
	if items, bad, err := readAll(t, "", "notes", "run"); err != nil || len(items) != 1 || items[0].doc.ID != "run" || items[0].doc.Metadata["language"] != "ruby" || len(bad) != 1 || !strings.HasPrefix(bad[0], "notes: a file without an extension") {
		t.Errorf("files without an extension: %+v, %q, %v", items, bad, err)
	}
	m, _ := items[3].doc.Metadata["_file"].(map[string]any)
	if at, _ := m["path"].(string); !filepath.IsAbs(at) || filepath.Base(at) != "t.csv" || m["root"] != nil || m["line"] != 2 {
		t.Errorf("metadata of a record: %v", m)
	}
}

// TestManyBadRecords: of a file or a stream with more bad records than are told, whether nobody can read them or the database refuses
// them, the rest are counted and the good ones are taken.
func TestManyBadRecords(t *testing.T) {
	t.Chdir(t.TempDir())
	const unread, refused = "{}\n", `{"_id": "a", "text": "plums", "vector": [1]}` + "\n"
	for name, bad := range map[string]string{
		"unread":  strings.Repeat(unread, problems.MaxFailures+3),
		"refused": strings.Repeat(refused, problems.MaxFailures+3),
		"both":    strings.Repeat(unread, 4) + strings.Repeat(refused, problems.MaxFailures-1),
	} {
		if err := os.WriteFile("rows.jsonl", []byte(bad+`{"_id": "last", "text": "pears"}`), 0o600); err != nil {
			t.Fatal(err)
		}
		for _, from := range []string{"rows.jsonl", "-"} {
			in, err := os.Open("rows.jsonl")
			if err != nil {
				t.Fatal(err)
			}
			cmd := exec.CommandContext(t.Context(), "lexsem", "index", "--model", "hash-8", "--db", name+from, "--quiet", "--skip-bad", "--vectors", "--json", from)
			cmd.Stdin = in
			out, err := cmd.Output()
			in.Close()
			var got struct {
				Added, Bad int
				Failed     []struct{ Error string }
			}
			if err := errors.Join(err, json.Unmarshal(out, &got)); err != nil {
				t.Fatal(name, from, err)
			}
			n := len(got.Failed)
			if got.Added != 1 || got.Bad != problems.MaxFailures+3 || n != problems.MaxFailures+1 || got.Failed[n-1].Error != "3 more records of this file were not taken over" || strings.HasPrefix(got.Failed[n-2].Error, "3 more") {
				t.Errorf("%s of %s: %d added, %d left out, %d problems, the last is %q", name, from, got.Added, got.Bad, n, got.Failed[max(0, n-1)].Error)
			}
		}
	}
}
