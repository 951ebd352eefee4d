package folder_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/lexsem/lexsem/encoder"
	"github.com/lexsem/lexsem/engine"
	"github.com/lexsem/lexsem/ingest/folder"
)

// users are documents whose own metadata say, in part or in all, that they are from a file of a root.
func users(root string) (docs []engine.Document) {
	const canonical = "2024-05-06T07:08:09Z" // of the files of base
	for _, path := range []string{"a.md", "r.jsonl", "gone.txt", "gone.jsonl", "sub/b.txt", "other"} {
		for _, kind := range []any{nil, "markdown", "text", "jsonl", "note", 7} {
			for _, at := range []any{nil, canonical, "yesterday"} {
				for _, line := range []any{nil, 1} {
					m := map[string]any{"root": root, "path": path, "own": path}
					for k, v := range map[string]any{"kind": kind, "time": at, "line": line, "line_end": line} {
						if v != nil {
							m[k] = v
						}
					}
					for _, m := range []map[string]any{m, {"_file": m}, {"_file": []any{m}}} {
						docs = append(docs, engine.Document{ID: fmt.Sprintf("mine%d", len(docs)), Text: fmt.Sprintf("words of a user %d", len(docs)), Metadata: m})
					}
				}
			}
		}
	}
	for id, m := range map[string]map[string]any{ // the ids that files have
		"gone.md":      {"root": root, "path": "gone.md"},
		"sub/gone.txt": {"root": root, "path": "sub/gone.txt", "kind": "text", "time": "yesterday"},
		"b.txt":        {"root": root, "path": "b.txt", "kind": "text"},
		"r9":           {"root": root, "path": "r.jsonl", "kind": "jsonl", "time": canonical, "line": 1, "line_end": 1},
	} {
		docs = append(docs, engine.Document{ID: id, Text: "words of " + id, Metadata: m}, engine.Document{ID: id + "/" + id, Text: "words of " + id, Metadata: map[string]any{"_file": m}})
	}
	return docs
}

// owned adds documents of a user's, and returns what says whether all are as they were.
func (b *base) owned(docs []engine.Document) (check func(when string)) {
	b.Helper()
	_, err := b.e.Add(b.Context(), docs)
	b.ok(err)
	return func(when string) {
		b.Helper()
		for _, want := range docs {
			got, err := b.e.Get(b.Context(), want.ID)
			if err != nil || got.Text != want.Text || fmt.Sprint(got.Metadata) != fmt.Sprint(want.Metadata) {
				b.Errorf("%s: document %q with %v is %v %q, %v", when, want.ID, want.Metadata, got.Metadata, got.Text, err)
			}
		}
	}
}

var ofFolder = map[string]string{
	"a.md": "# Apples\n\nred fruit", "sub/b.txt": "blue sky",
	"r.jsonl": `{"_id":"r1","text":"one","root":"own","path":"own"}` + "\n" + `{"_id":"r2","text":"two"}` + "\n",
}

// TestUsersDocuments: a document of a user's stays as it is, whatever its metadata say, whatever becomes of the
// files, and whether a sync of this or of an earlier version came before.
func TestUsersDocuments(t *testing.T) {
	for _, before := range []string{"nothing", "a sync", "a sync of before ids were noted", "a restore"} {
		for _, o := range []folder.Options{{}, {Prefix: "p"}} {
			b := newBase(t)
			sub := filepath.Join(b.dir, "sub")
			b.write(ofFolder)
			if before != "nothing" {
				b.synced(o, "+4 ~0 -0 =0 read 3")
				b.forget(before)
			}
			check := b.owned(append(users(b.dir), engine.Document{ID: "nested", Text: "nested", Metadata: map[string]any{"root": sub, "path": "b.txt", "kind": "text"}}))
			when := fmt.Sprintf("after %s, prefix %q", before, o.Prefix)
			_, err := b.sync(o)
			b.ok(err)
			check(when)
			if got := b.ids(engine.Filter{}); !strings.Contains(got, "r1 r2") {
				t.Errorf("%s: %q is stored", when, got)
			}
			// A folder in the folder is one of its own.
			_, err = b.syncDir(sub, folder.Options{Prefix: "inner"})
			b.ok(err)
			check(when + ", a folder in it")
			// Files change and go, and so do their documents.
			b.writeAt(b.dir, "r.jsonl", `{"_id":"r2","text":"deux"}`, past.Add(time.Hour))
			b.remove("a.md")
			r, err := b.sync(o)
			b.ok(err)
			check(when + ", files change")
			if r.Removed != 2 || r.Replaced != 1 {
				t.Errorf("%s: %d removed, %d replaced, failed %v", when, r.Removed, r.Replaced, r.Failed)
			}
			// Another prefix, and no folder at all.
			_, err = b.sync(folder.Options{Prefix: "q"})
			b.ok(err)
			check(when + ", another prefix")
			b.ok(os.RemoveAll(b.dir))
			o.PruneAll = true
			_, err = b.sync(o)
			b.ok(err)
			check(when + ", all files gone")
			if got := b.ids(engine.Filter{}); strings.Contains(got, "r2") || strings.Contains(got, "q/") {
				t.Errorf("%s, all files gone: %q is stored", when, got)
			}
		}
	}
}

// forget takes from a database what it knows beyond what it would if something came before.
func (b *base) forget(before string) {
	b.Helper()
	pattern := "none"
	switch before {
	case "a sync of before ids were noted":
		pattern = "*.ids"
	case "a restore":
		pattern = "*"
	}
	names, err := filepath.Glob(filepath.Join(b.db, "sync", pattern))
	b.ok(err)
	if pattern != "none" && len(names) == 0 {
		b.Fatal("there are no notes to forget")
	}
	for _, name := range names {
		b.ok(os.Remove(name))
	}
}

// TestEarlierDatabase: documents of before ids were noted are followed on: the files are not read again, and what goes is removed.
func TestEarlierDatabase(t *testing.T) {
	for _, before := range []string{"a sync of before ids were noted", "a restore"} {
		b := newBase(t)
		b.write(ofFolder)
		b.synced(folder.Options{}, "+4 ~0 -0 =0 read 3")
		encoded := b.enc.texts
		b.forget(before)
		b.remove("a.md")
		b.writeAt(b.dir, "sub/b.txt", "green sea", past.Add(time.Hour))
		want := "+0 ~1 -1 =2 read 1"
		if before == "a restore" {
			want = "+0 ~1 -1 =2 read 2"
		}
		b.synced(folder.Options{}, want)
		if n := b.enc.texts - encoded; n != 1 {
			t.Errorf("after %s %d texts were encoded, want the one that changed", before, n)
		}
		b.writeAt(b.dir, "r.jsonl", `{"_id":"r2","text":"two"}`+"\n", past.Add(time.Hour))
		b.synced(folder.Options{}, "+0 ~1 -1 =1 read 1")
		b.holds("r2 sub/b.txt")
	}
	// Settings that differ make all files be read anew, and take nothing from what is known.
	b := newBase(t)
	b.write(ofFolder)
	b.synced(folder.Options{}, "+4 ~0 -0 =0 read 3")
	b.forget("a sync of before ids were noted")
	b.remove("r.jsonl")
	b.synced(folder.Options{Prefix: "p"}, "+2 ~0 -4 =0 read 2")
}

// TestTakenOver: a user's document that takes the place of one of the folder's is not overwritten and not removed, neither by a sync
// nor by a watch that goes on.
func TestTakenOver(t *testing.T) {
	for _, metadata := range []map[string]any{nil, {"path": "a.md"}, {"root": "elsewhere", "path": "a.md", "kind": "markdown"}, {"_file": "a.md"}, {"_file": map[string]any{"root": "elsewhere", "path": "a.md", "kind": "markdown"}}} {
		b := newBase(t)
		b.write(map[string]string{"a.md": "apples", "c.md": "cherries", "d.md": "dates"})
		w := b.watch(folder.Options{Poll: 20 * time.Millisecond})
		w.until("a.md c.md d.md")
		mine := engine.Document{ID: "a.md", Text: "mine", Metadata: metadata}
		other := engine.Document{ID: "c.md", Text: "mine", Metadata: metadata}
		_, err := b.e.Upsert(t.Context(), []engine.Document{mine, other})
		b.ok(err)
		b.writeAt(b.dir, "a.md", "other apples", past.Add(time.Hour))
		b.remove("c.md")
		b.write(map[string]string{"e.md": "eels"})
		w.until("a.md c.md d.md e.md")
		b.remove("d.md")
		w.until("a.md c.md e.md")
		for _, id := range []string{"a.md", "c.md"} {
			if d, err := b.e.Get(t.Context(), id); err != nil || d.Text != "mine" || len(d.Metadata) != len(metadata) {
				t.Errorf("with %v: %s is %q %v, %v", metadata, id, d.Text, d.Metadata, err)
			}
		}
	}
}

// TestCopiesOfFiles: what a sync has stored, and came by an export to a database that has not followed the folder, is
// followed there.
func TestCopiesOfFiles(t *testing.T) {
	b := newBase(t)
	b.write(ofFolder)
	b.synced(folder.Options{}, "+4 ~0 -0 =0 read 3")
	var docs []engine.Document
	for d, err := range b.e.All(t.Context(), engine.Filter{}) {
		b.ok(err)
		d.Vector = nil
		docs = append(docs, d)
	}
	other, err := engine.Open(t.Context(), filepath.Join(t.TempDir(), "other"), encoder.NewHash(16), engine.Options{NoSync: true})
	b.ok(err)
	defer other.Close()
	_, err = other.Add(t.Context(), docs)
	b.ok(err)
	b.writeAt(b.dir, "a.md", "green fruit", past.Add(time.Hour))
	f, err := folder.Open(t.Context(), other, b.dir, folder.Options{})
	b.ok(err)
	r, err := f.Sync(t.Context())
	b.ok(err)
	b.counts(r, "+0 ~1 -0 =3 read 3")
	if len(r.Failed) > 0 {
		t.Error(r.Failed)
	}
}

// TestNotesAreRepaired: a line of the notes that was torn, or a file that is none of theirs, costs no document.
func TestNotesAreRepaired(t *testing.T) {
	for how, damage := range map[string]func(string) string{
		"torn":    func(s string) string { return s[:len(s)-9] },
		"cut off": func(s string) string { return s[:10] },
		"other":   func(s string) string { return strings.Replace(s, `"root":"`, `"root":"/x`, 1) },
		"empty":   func(string) string { return "" },
	} {
		b := newBase(t)
		b.write(ofFolder)
		b.synced(folder.Options{}, "+4 ~0 -0 =0 read 3")
		names, err := filepath.Glob(filepath.Join(b.db, "sync", "*.ids"))
		b.ok(err)
		raw, err := os.ReadFile(names[0])
		b.ok(err)
		b.ok(os.WriteFile(names[0], []byte(damage(string(raw))), 0o600))
		b.write(map[string]string{"e.txt": "eels"})
		b.synced(folder.Options{}, "+1 ~0 -0 =4 read 1")
		b.remove("e.txt")
		b.writeAt(b.dir, "r.jsonl", `{"_id":"r2","text":"two"}`+"\n", past.Add(time.Hour))
		b.synced(folder.Options{}, "+0 ~1 -2 =2 read 1")
		if got := b.ids(engine.Filter{}); got != "a.md r2 sub/b.txt" {
			t.Errorf("%s: %q is stored", how, got)
		}
	}
}
