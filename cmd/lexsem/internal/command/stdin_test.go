package command

import (
	"bytes"
	"compress/gzip"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestPackedInput: each command that reads a file or standard input reads what gzip packed as it reads it plain, whatever its
// name, and says what to do about a damaged one.
func TestPackedInput(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	write := func(name, text string) string {
		t.Helper()
		if err := os.WriteFile(at(name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return at(name)
	}
	texts := `{"_id": "1", "text": "red apples"}` + "\n"
	db := at("db")
	printed(t, texts, "index", "--db", db, "--model", "hash-32", "--quiet", "-")
	printed(t, "", "backup", "--db", db, "--quiet", at("backup"))
	kept, err := os.ReadFile(at("backup"))
	if err != nil {
		t.Fatal(err)
	}
	qrels := write("qrels", "1 0 1 1\n")
	fresh := 0
	for _, c := range []struct {
		name, text string
		args       []string // after which the name of the file stands
	}{
		{"queries.jsonl", texts, []string{"search", "--db", db, "--format", "trec", "--queries"}},
		{"texts.jsonl", texts, []string{"embed", "--model", "hash-32"}},
		{"lines.txt", "red apples\n", []string{"embed", "--model", "hash-32"}},
		{"run.trec", "1 Q0 1 1 0.5 t\n", []string{"bench", "score", "--metrics", "ndcg@1", "--json", "-", "--qrels", qrels}},
		{"export.jsonl", printed(t, "", "export", "--db", db, "-"), []string{"import", "--model", "hash-32", "--quiet"}},
		{"notes.backup", string(kept), []string{"restore", "--quiet"}},
	} {
		var b bytes.Buffer
		z := gzip.NewWriter(&b)
		if _, err := z.Write([]byte(c.text)); err != nil {
			t.Fatal(err)
		}
		if err := z.Close(); err != nil {
			t.Fatal(err)
		}
		args := func(name string) []string {
			all := append(append([]string{}, c.args...), name)
			if all[0] == "import" || all[0] == "restore" {
				fresh++
				return append(all, "--db", at("db"+strings.Repeat("x", fresh)))
			}
			return all
		}
		said := func(in, name string) string {
			t.Helper()
			out := printed(t, in, args(name)...)
			return strings.NewReplacer(at(c.name)+".gz", "FILE", at(c.name), "FILE", `"-"`, `"FILE"`, at("db"+strings.Repeat("x", fresh)), "DB").Replace(out)
		}
		want := said("", write(c.name, c.text))
		for _, name := range []string{c.name + ".gz", c.name} { // also under the name of a plain file
			if got := said("", write(name, b.String())); got != want {
				t.Errorf("%s: %s, want %s", name, got, want)
			}
		}
		if kind := filepath.Ext(c.name); kind != ".jsonl" || c.args[0] != "embed" { // without a name, embed takes lines
			if got := said(b.String(), "-"); got != want {
				t.Errorf("%s by standard input: %s, want %s", c.name, got, want)
			}
		}
		for _, cut := range []int{5, b.Len() - 9} { // within its header, and before its end
			code, _, notes := lexsem(t, args(write(c.name+".gz", b.String()[:cut]))...)
			if code != exitFailure || !strings.Contains(notes, c.name+".gz is damaged; pack it with gzip again") {
				t.Errorf("%s of %d bytes: %d, %s", c.name, cut, code, notes)
			}
		}
	}
}
