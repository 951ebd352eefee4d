package command

import (
	"encoding/json"
	"errors"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"testing"
)

// printed runs the command, which must succeed, with a standard input, and returns its standard output.
func printed(t *testing.T, in string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "lexsem", args...)
	cmd.Stdin = strings.NewReader(in)
	out, err := cmd.Output()
	if failed, ok := errors.AsType[*exec.ExitError](err); ok {
		t.Fatalf("lexsem %q: %v: %s", args, err, failed.Stderr)
	}
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

// exported are the metadata of all documents of a database, by id.
func exported(t *testing.T, db string) map[string]map[string]any {
	t.Helper()
	all := map[string]map[string]any{}
	for line := range strings.Lines(printed(t, "", "export", "--db", db, "-")) {
		var d struct {
			ID       string `json:"_id"`
			Metadata map[string]any
		}
		if err := json.Unmarshal([]byte(line), &d); err != nil {
			t.Fatal(err)
		}
		all[d.ID] = d.Metadata
	}
	return all
}

// TestOwnFields: all fields of a file or of standard input are stored under their names and are found by them, whatever names
// lexsem has for its own, whatever way they come in. No sync removes what came by standard input, or came from an export.
func TestOwnFields(t *testing.T) {
	dir := t.TempDir()
	notes := filepath.Join(dir, "notes")
	own := map[string]any{"path": "/mine", "root": notes, "time": "noon", "kind": "invoice", "line": "l7", "line_end": "l8", "front": "f", "own": "o", "_file": "x.pdf"}
	raw, err := json.Marshal(own)
	if err != nil {
		t.Fatal(err)
	}
	fields := strings.Trim(string(raw), "{}")
	table := func(comma string) string {
		head, row := "id"+comma+"text", "1"+comma+"walrus"
		for name, v := range own {
			head, row = head+comma+name, row+comma+v.(string)
		}
		return head + "\n" + row + "\n"
	}
	front := ""
	for name, v := range own {
		front += name + ": " + strconv.Quote(v.(string)) + "\n"
	}
	for name, content := range map[string]string{
		"r.jsonl": `{"_id":"1","text":"walrus",` + fields + "}\n", "r.json": `[{"_id":"1","text":"walrus",` + fields + `}]`,
		"r.csv": table(","), "r.tsv": table("\t"), "a.md": "---\n" + front + "---\n\nwalrus\n", "-": `{"_id":"1","text":"walrus",` + fields + "}\n",
	} {
		at := filepath.Join(notes, name)
		if err := errors.Join(os.MkdirAll(notes, 0o755), os.WriteFile(at, []byte(content), 0o644)); err != nil {
			t.Fatal(err)
		}
		for _, way := range []string{"folder", "file", "stdin"} {
			if (way == "stdin") != (name == "-") {
				continue
			}
			db := filepath.Join(dir, way+name)
			in := map[string]string{"folder": notes, "file": at, "stdin": "-"}[way]
			printed(t, content, "index", "--quiet", "--db", db, "--model", "hash-8", in)
			for id, m := range exported(t, db) {
				want := maps.Clone(own)
				if file, ok := m["_file"].(map[string]any); way != "stdin" {
					if !ok || file["own"] != "x.pdf" || (file["root"] == notes) != (way == "folder") || !strings.HasSuffix(file["path"].(string), name) {
						t.Errorf("%s by %s: %q has the file %v", name, way, id, m["_file"])
					}
					want["_file"] = m["_file"]
				}
				if !reflect.DeepEqual(m, want) {
					t.Errorf("%s by %s: %q has the metadata %v, want %v", name, way, id, m, want)
				}
			}
			filter := "text not exists"
			for field, v := range own {
				if field != "_file" {
					filter += " and " + field + " = " + strconv.Quote(v.(string))
				}
			}
			if got := printed(t, "", "count", "--db", db, "--filter", filter); got != "1\n" {
				t.Errorf("%s by %s: %s meets %s", name, way, got, filter)
			}
		}
		if err := os.Remove(at); err != nil {
			t.Fatal(err)
		}
	}

	// What came from files and was exported, comes again by standard input or as a file; the folder is then followed, and empties.
	for _, name := range []string{"a.md", "b.txt", "sub/c.go"} {
		at := filepath.Join(notes, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(at), 0o755), os.WriteFile(at, []byte("walrus in "+name), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	first := filepath.Join(dir, "first")
	printed(t, "", "index", "--quiet", "--db", first, "--model", "hash-8", notes)
	lines := printed(t, "", "export", "--db", first, "-")
	file := filepath.Join(dir, "export.jsonl")
	if err := errors.Join(os.WriteFile(file, []byte(lines), 0o644), os.RemoveAll(notes), os.MkdirAll(notes, 0o755), os.WriteFile(filepath.Join(notes, "new.txt"), []byte("new"), 0o644)); err != nil {
		t.Fatal(err)
	}
	for _, in := range []string{"-", file} {
		db := filepath.Join(dir, "again"+filepath.Base(in))
		printed(t, lines, "index", "--quiet", "--db", db, "--model", "hash-8", in)
		was := exported(t, db)
		for range 2 {
			printed(t, "", "index", "--quiet", "--db", db, notes)
		}
		printed(t, "", "index", "--quiet", "--prune-all", "--db", db, notes)
		got := exported(t, db)
		if delete(got, "new.txt"); len(was) != 3 || !reflect.DeepEqual(got, was) {
			t.Errorf("from %s: %v, want %v", in, got, was)
		}
		if out := printed(t, "", "search", "--json", "-k", "1", "--mode", "lexical", "--db", db, "b.txt"); !strings.Contains(out, `"path":`+strconv.Quote(filepath.Join(notes, "b.txt"))+`,"lines":[1,1]`) {
			t.Errorf("from %s: the file is not told by %s", in, out)
		}
	}
}
