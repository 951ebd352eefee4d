package command

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// hostile is made to drive a terminal: C0, C1, DEL, and marks of direction.
const hostile = "x\x1b]0;owned\x07\u202e\u009b31m\u2066\x7f\u200e\u061c\u200f"

// silent runs a command and fails the test where it prints something that speaks to
// the terminal. It returns what was printed.
func silent(t *testing.T, cache string, code int, args ...string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	var out, errs bytes.Buffer
	env := Env{Args: args, Stdout: &out, Stderr: &errs, Stdin: strings.NewReader(hostile + "\n"), Getenv: func(k string) string {
		return map[string]string{"LEXSEM_CACHE": cache, "LEXSEM_OFFLINE": "true"}[k]
	}}
	if got := Run(ctx, env); got != code && code >= 0 || got == exitOK && code == -1 {
		t.Errorf("%q: code %d, %s", args, got, errs.String())
	}
	for _, s := range []string{out.String(), errs.String()} {
		if i := strings.IndexFunc(s, speaks); i >= 0 {
			t.Errorf("%q prints %q", args, s[max(0, i-20):min(len(s), i+60)])
		}
	}
	return out.String() + errs.String()
}

// TestEveryCommandEscapes gives every command there is, the ones to come included,
// hostile arguments, flags, folders and models, all of which it has to refuse in words.
func TestEveryCommandEscapes(t *testing.T) {
	cache := t.TempDir()
	for _, c := range commands() {
		name := strings.Fields(c.name)
		for _, args := range [][]string{
			{"--" + hostile}, {"--db", hostile, "--json=" + hostile, hostile}, {"--backend", hostile, hostile},
			{"--cache", hostile, "--data", hostile + "/no", "--model", "./" + hostile, hostile, hostile, hostile},
		} {
			silent(t, cache, -1, append(append([]string{}, name...), args...)...)
		}
		silent(t, cache, -2, append([]string{"help"}, append(name, hostile)...)...)
	}
}

// TestHostileDatabase runs what reads and writes databases on one in a hostile folder,
// of hostile files, ids, texts, metadata and bridges.
func TestHostileDatabase(t *testing.T) {
	dir := t.TempDir()
	cache := filepath.Join(dir, "cache")
	quoted, err := json.Marshal(hostile)
	if err != nil {
		t.Fatal(err)
	}
	q := string(quoted)
	folder := filepath.Join(dir, "f"+strings.ReplaceAll(hostile, "/", ""))
	if err := os.Mkdir(folder, 0o755); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"c.jsonl":                 `{"_id": ` + q + `, "title": ` + q + `, "text": "apple ` + q[1:] + `, ` + q + `: ` + q + `}` + "\n",
		"bad.jsonl":               `{"_id": ` + q + `, "text": 7, ` + hostile + "\n",
		"n" + hostile[:6] + ".md": "pear " + hostile,
		"q.txt":                   "apple " + hostile + "\n",
	} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	db := filepath.Join(dir, "d\x1b[2J\u202e")
	run := func(code int, args ...string) string {
		t.Helper()
		return silent(t, cache, code, append(args, "--db", db, "--model", "hash-64")...)
	}
	run(0, "index", filepath.Join(folder, "c.jsonl"))
	run(-2, "index", filepath.Join(folder, "bad.jsonl"))
	run(0, "index", filepath.Join(folder, "n"+hostile[:6]+".md"))
	run(0, "search", "apple")
	run(0, "search", "--json", "apple")
	run(0, "search", "--collapse", "pear")
	run(2, "search", "--filter", hostile+" = ", "apple")
	run(2, "search", "--variant", hostile, "apple")
	run(0, "search", "--filter", `"`+hostile[:2]+`" = "`+hostile[:2]+`"`, "apple")
	run(0, "explain", "--id", hostile, "apple")
	run(0, "explain", "--json", "--id", hostile, "apple")
	run(0, "embed", filepath.Join(folder, "q.txt"))
	run(0, "stats")
	run(0, "stats", "--json")
	run(0, "doctor")
	run(0, "doctor", "--json")
	run(0, "doctor", "--repair")
	run(0, "compact")
	run(0, "fit", "--variant", "slr", "--epochs", "1")
	run(0, "delete", hostile)
	other := broken(t, db)
	for _, c := range []string{"stats", "search", "doctor", "compact"} {
		args := []string{c, "--db", other, "--model", "hash-64"}
		if c == "search" {
			args = append(args, "apple")
		}
		silent(t, cache, 5, args...)
	}
	if said := silent(t, cache, 5, "doctor", "--repair", "--db", other, "--model", "hash-64", "--to", other+"2"); !strings.Contains(said, "damaged") {
		t.Errorf("%q", said)
	}
}

// broken is a copy of a database whose tables are damaged.
func broken(t *testing.T, db string) string {
	t.Helper()
	to := db + "-broken\x1b[1m"
	if err := os.CopyFS(to, os.DirFS(db)); err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join(filepath.Dir(db), "*-broken*", "records", "*.sst"))
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, f := range files {
		if err := os.Truncate(f, 100); err != nil {
			t.Fatal(err)
		}
	}
	return to
}
