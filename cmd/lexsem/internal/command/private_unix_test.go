//go:build unix

package command

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/lexsem/lexsem/encoder"
	"github.com/lexsem/lexsem/engine"
	"github.com/lexsem/lexsem/internal/testkit/encoders"
	"github.com/lexsem/lexsem/serve/collections"
	"github.com/lexsem/lexsem/store"
)

// must runs a command that must succeed.
func must(t *testing.T, env map[string]string, args ...string) {
	t.Helper()
	if code, said := ran(t.Context(), env, args...); code != exitOK {
		t.Fatalf("%q: %d, %s", args, code, said)
	}
}

// openToOthers are the files and folders below the current one that other users may do something with.
func openToOthers(t *testing.T) (open []string, all int) {
	t.Helper()
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || path == "." {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		if all++; info.Mode().Perm()&0o077 != 0 && info.Mode()&fs.ModeSymlink == 0 {
			open = append(open, fmt.Sprint(path, " ", info.Mode()))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return open, all
}

// manyTexts are lines of JSONL.
func manyTexts(t *testing.T, file string, n int) {
	t.Helper()
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, `{"_id":"%d","title":"T%d","text":"text number%d of word%d and word%d"}`+"\n", i, i, i, i%7, i%11)
	}
	if err := os.WriteFile(file, []byte(b.String()), 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestOthersReadNothing fills databases in every way, under a umask that hides nothing: none of what is written
// is open to other users.
func TestOthersReadNothing(t *testing.T) {
	in, model := t.TempDir(), t.TempDir()
	t.Chdir(t.TempDir())
	defer syscall.Umask(syscall.Umask(0))
	docs, data := filepath.Join(in, "docs.jsonl"), filepath.Join(in, "data")
	manyTexts(t, docs, 40)
	encoders.NewTiny(1, encoders.Tiny{Positions: 64}).Write(t, model)
	if err := errors.Join(os.MkdirAll(data, 0o700), os.MkdirAll(filepath.Join(in, "folder"), 0o700), os.WriteFile(filepath.Join(in, "folder", "a.txt"), []byte("a file"), 0o600),
		os.Mkdir("cache", 0o700), os.Mkdir("flat", 0o777), os.Mkdir("restored", 0o777), os.Mkdir("cache/vectors", 0o777)); err != nil {
		t.Fatal(err)
	}
	manyTexts(t, filepath.Join(data, "corpus.jsonl"), 60)
	env := map[string]string{"LEXSEM_CACHE": "cache", "LEXSEM_CACHE_DIR": "cache"}
	for _, kind := range []string{"flat", "flat-int8", "hnsw", "hnsw-int8", "hnsw-compact", "hnsw-fast"} {
		must(t, env, "index", "--db", kind, "--model", "hash-16", "--index", kind, docs)
	}
	const db = "flat"
	for _, args := range [][]string{
		{"index", "--db", db, filepath.Join(in, "folder")},
		{"tokens", "--db", db},
		{"backup", "--db", db, "kept"}, {"delete", "--db", db, "7"}, {"backup", "--db", db, "kept"}, {"restore", "--db", "restored", "kept"},
		{"export", "--db", db, "--vectors", "exported"}, {"import", "--db", "imported", "--model", "hash-16", "exported"},
		{"reembed", "--db", db, "--model", "hash-32"}, {"fit", "--db", db, "--queries-per-passage", "1"},
		{"embed", "--model", "hash-16", "--out", "vectors.npy", docs},
		{"index", "--db", "tiny", "--model", model, "--backend", "native", docs},
		{"bench", "--data", data, "--model", "hash-16", "--systems", "dense,rlr,engine:hybrid/tokens", "--tasks", "keyword", "--queries-limit", "5", "--queries-per-passage", "1",
			"--encodings", "cache/bench", "--json", "report.json", "--html", "report.html", "--runs", "runs"},
	} {
		must(t, env, args...)
	}
	set, err := collections.Open(store.Folder(db).Collections(), encoder.NewHash(32), collections.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(set.Create(t.Context(), "one", ""), set.Close()); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile("restored/records/MANIFEST", []byte("damage"), 0o600); err != nil {
		t.Fatal(err)
	}
	if code, said := ran(t.Context(), env, "doctor", "--repair", "--db", "restored"); code != exitOK || !strings.Contains(said, "restored.salvaged") {
		t.Fatalf("%d, %s", code, said)
	}
	open, all := openToOthers(t)
	for _, must := range []string{"flat/collections/one/HEAD", "flat/bridges", "flat/sync", "flat/derived/words.snap", "restored.salvaged/HEAD", "runs", "cache/vectors", "cache/bench"} {
		if _, err := os.Stat(must); err != nil {
			t.Error(err) // the test is to see it
		}
	}
	if len(open) > 0 || all < 150 {
		t.Errorf("of %d files and folders other users may do something with %d: %s", all, len(open), strings.Join(open, "; "))
	}

	// While it is open, and after others have widened all of it.
	e, err := engine.Open(t.Context(), db, encoder.NewHash(32), engine.Options{})
	if err != nil {
		t.Fatal(err)
	}
	_, err = e.Add(t.Context(), []engine.Document{{ID: "new", Text: "a new text"}})
	if open, _ := openToOthers(t); err != nil || len(open) > 0 {
		t.Errorf("an open database: %s, %v", strings.Join(open, "; "), err)
	}
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	theirs := []string{"flat/notes.txt", "flat/derived/notes.txt", "flat/records/notes.sst.txt", "cache/vectors/notes.txt", filepath.Join(in, "out")}
	for _, path := range theirs {
		if err := os.WriteFile(path, nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(filepath.Join(in, "out"), "flat/derived/out.snap"); err != nil {
		t.Fatal(err)
	}
	for _, reader := range []bool{true, false} {
		for _, db := range []string{"flat", "tiny", "cache/vectors"} {
			if err := filepath.WalkDir(db, widen); err != nil {
				t.Fatal(err)
			}
		}
		if reader {
			must(t, env, "search", "--db", "flat", "text")
			must(t, env, "search", "--db", "tiny", "--mode", "lexical", "text")
			must(t, env, "index", "--db", "another", "--model", model, "--backend", "native", docs)
		} else {
			must(t, env, "delete", "--db", "flat", "1")
			must(t, env, "index", "--db", "tiny", "--model", model, "--backend", "native", docs)
		}
		open, _ = openToOthers(t)
		open = slices.DeleteFunc(open, func(name string) bool {
			return slices.ContainsFunc(theirs, func(n string) bool { return strings.HasPrefix(name, n+" ") }) || strings.HasPrefix(name, "flat/collections/one")
		})
		if len(open) > 0 {
			t.Errorf("not tightened: %s", strings.Join(open, "; "))
		}
		for _, path := range theirs {
			if info, err := os.Stat(path); err != nil || info.Mode().Perm()&0o077 == 0 {
				t.Errorf("%s, which is not ours: %v, %v", path, info.Mode(), err)
			}
		}
	}
}

// widen opens a file or folder to all users.
func widen(path string, d fs.DirEntry, err error) error {
	switch {
	case err != nil || d.Type()&fs.ModeSymlink != 0:
		return err
	case d.IsDir():
		return os.Chmod(path, 0o777)
	}
	return os.Chmod(path, 0o666)
}
