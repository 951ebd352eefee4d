package folder_test

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/lexsem/lexsem/engine"
	"github.com/lexsem/lexsem/engine/filter"
	"github.com/lexsem/lexsem/ingest/folder"
	"github.com/lexsem/lexsem/internal/location"
)

// earlier makes the database and the folder that the build before the field _file had after it had indexed testdata/earlier/root,
// a text that was named itself, and two lines of standard input.
func earlier(t *testing.T) *base {
	t.Helper()
	b := newBase(t)
	b.ok(os.Remove(b.dir))
	from := filepath.Join("testdata", "earlier")
	b.ok(os.CopyFS(b.dir, os.DirFS(filepath.Join(from, "root"))))
	b.ok(filepath.WalkDir(b.dir, func(p string, _ os.DirEntry, err error) error { return errors.Join(err, os.Chtimes(p, past, past)) }))
	quoted := func(s string) string { raw, _ := json.Marshal(s); return strings.Trim(string(raw), `"`) }
	read := func(name string) string {
		raw, err := os.ReadFile(filepath.Join(from, name))
		b.ok(err)
		return strings.NewReplacer("ROOT", quoted(b.dir), "BESIDE", quoted(filepath.Dir(b.dir))).Replace(string(raw))
	}
	for line := range strings.Lines(read("export.jsonl")) {
		var d struct {
			ID          string `json:"_id"`
			Title, Text string
			Metadata    map[string]any
		}
		dec := json.NewDecoder(strings.NewReader(line))
		dec.UseNumber()
		b.ok(dec.Decode(&d))
		_, err := b.e.Add(t.Context(), []engine.Document{{ID: d.ID, Title: d.Title, Text: d.Text, Metadata: d.Metadata}})
		b.ok(err)
	}
	sum := sha256.Sum256([]byte(b.dir))
	for name, ext := range map[string]string{"stamps.jsonl": ".jsonl", "ids": ".ids"} {
		at := filepath.Join(b.db, "sync", hex.EncodeToString(sum[:12])+ext)
		b.ok(os.MkdirAll(filepath.Dir(at), 0o700))
		b.ok(os.WriteFile(at, []byte(read(name)), 0o600))
	}
	return b
}

// metadata are those of a document as JSON, without the folders of the test.
func (b *base) metadata(id string) string {
	b.Helper()
	d, err := b.e.Get(b.Context(), id)
	b.ok(err)
	raw, err := json.Marshal(d.Metadata)
	b.ok(err)
	return strings.ReplaceAll(string(raw), b.dir, "ROOT")
}

// found is where the best hit of a query is: its id, file and lines, and the name of that place.
func (b *base) found(query string) string {
	b.Helper()
	r, err := b.e.Search(b.Context(), engine.Query{Text: query, Mode: engine.ModeLexical, K: 1, Spans: true})
	b.ok(err)
	if len(r.Hits) == 0 {
		return ""
	}
	at, lines, ok := location.OfSpan(r.Hits[0])
	rel, err := filepath.Rel(filepath.Dir(b.dir), at)
	b.ok(err)
	return fmt.Sprintf("%s %s%v %t %s", r.Hits[0].ID, filepath.ToSlash(rel), lines, ok, r.Hits[0].Symbol)
}

// TestEarlierMetadata: a database in which lexsem's own stood among the fields of the files goes on. Its hits tell their places
// before and after the next sync, which gives all that it can read the new form, encodes nothing, and gives the files' fields their
// names back. What cannot be read, and what is kept though its file is gone, goes on in the old form until it is mended or goes.
func TestEarlierMetadata(t *testing.T) {
	b := earlier(t)
	places := map[string]string{
		"orchard": "a.md notes/a.md[9 9] true ", "walrus": "sub/b.txt notes/sub/b.txt[2 2] true ", "seal": "go.go notes/go.go[3 3] true Feed",
		"otter": "1 notes/r.jsonl[1 1] true ", "crabs": "2 notes/r.jsonl[2 2] true ", "whales": "t.csv:1 notes/t.csv[2 2] true ", "kittiwake": "page.html notes/page.html[1 1] true Install",
		"readable": "stale.txt notes/stale.txt[1 1] true ", "kept": "left.txt notes/left.txt[1 1] true ", "manatee": "m.txt m.txt[1 1] true ",
	}
	check := func(when string, filters map[string]string) {
		t.Helper()
		for query, want := range places {
			if got := b.found(query); got != want {
				t.Errorf("%s: %q is at %q, want %q", when, query, got, want)
			}
		}
		for expr, want := range filters {
			f, err := filter.Parse(expr)
			b.ok(err)
			if got := b.ids(f); got != want {
				t.Errorf("%s: %s is met by %q, want %q", when, expr, got, want)
			}
		}
	}
	check("before", map[string]string{`path = "sub/b.txt"`: "sub/b.txt", `kind = "jsonl" and time > "2024-01-01"`: "1 2", `language = "go"`: "go.go", `front.kind = "invoice"`: "1"})
	stdin := map[string]string{}
	for _, id := range []string{"stdin.md", "own", "n1"} {
		stdin[id] = b.metadata(id)
	}
	encoded, had := b.enc.texts, b.content()
	b.writeAt(b.dir, "stale.txt", "\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR", past.Add(time.Hour))
	b.remove("left.txt")
	r, err := b.sync(folder.Options{DropVectors: true, Keep: true})
	b.ok(err)
	if b.counts(r, "+0 ~9 -0 =0 read 9"); b.lacks() != "stale stale.txt:0, warned warned.md:2" || b.enc.texts != encoded || !maps.Equal(b.content(), had) {
		t.Errorf("%s; %d texts encoded; stored %q", b.lacks(), b.enc.texts-encoded, b.content())
	}
	check("after", map[string]string{
		`path = "sub/b.txt"`: "sub/b.txt", `kind = "jsonl"`: "2", `_file.kind = "jsonl"`: "1 2", `kind = "invoice" and time = "2020" and line = 7`: "1", `root = "left"`: "t.csv:1",
		`language = "go"`: "go.go", `kind = "essay" and front = "f" and tags = "fruit"`: "a.md", `front.kind exists`: "", `time = "2024-05-06T07:08:09Z" and kind = "text"`: "gone.txt left.txt m.txt stale.txt sub/b.txt",
	})
	for id, want := range map[string]string{
		"1":         `{"_file":{"kind":"jsonl","line":1,"line_end":1,"path":"r.jsonl","root":"ROOT","time":"2024-05-06T07:08:09Z"},"kind":"invoice","line":7,"path":"/mine","time":"2020"}`,
		"a.md":      `{"_file":{"kind":"markdown","line":8,"path":"a.md","root":"ROOT","time":"2024-05-06T07:08:09Z","words":1},"front":"f","kind":"essay","tags":["fruit"]}`,
		"stale.txt": `{"kind":"text","line":1,"path":"stale.txt","root":"ROOT","time":"2024-05-06T07:08:09Z"}`,
		"left.txt":  `{"kind":"text","line":1,"path":"left.txt","root":"ROOT","time":"2024-05-06T07:08:09Z"}`,
	} {
		if got := b.metadata(id); got != want {
			t.Errorf("%s has the metadata %s, want %s", id, got, want)
		}
	}
	r, err = b.sync(folder.Options{DropVectors: true, Keep: true})
	b.ok(err)
	b.counts(r, "+0 ~0 -0 =9 read 1")
	b.writeAt(b.dir, "stale.txt", "once readable\n", past.Add(2*time.Hour))
	b.remove("gone.txt")
	b.synced(folder.Options{DropVectors: true}, "+0 ~1 -2 =8 read 1")
	if b.holds("1 2 a.md go.go m.txt n1 own page.html stale.txt stdin.md sub/b.txt t.csv:1 warned.md"); !strings.HasPrefix(b.metadata("stale.txt"), `{"_file":`) || b.enc.texts != encoded {
		t.Errorf("mended: %s, %d texts encoded", b.metadata("stale.txt"), b.enc.texts-encoded)
	}
	b.ok(os.RemoveAll(b.dir))
	b.synced(folder.Options{DropVectors: true, PruneAll: true}, "+0 ~0 -9 =0 read 0")
	b.holds("m.txt n1 own stdin.md")
	for id, was := range stdin {
		if got := b.metadata(id); got != was {
			t.Errorf("%s, which no folder had, has the metadata %s, want %s", id, got, was)
		}
	}
}

// TestEarlierMoved: a folder that was moved before the first sync of this build keeps its documents.
func TestEarlierMoved(t *testing.T) {
	b := earlier(t)
	from := b.dir
	b.dir += "2"
	b.ok(os.Rename(from, b.dir))
	b.remove("gone.txt")
	encoded := b.enc.texts
	b.synced(folder.Options{DropVectors: true, Moved: from}, "+0 ~10 -1 =0 read 9")
	if left, err := folder.Recorded(t.Context(), b.e, from); err != nil || left != 1 || b.enc.texts != encoded { // that of standard input
		t.Errorf("%d documents are of the former path, %v, %d texts encoded", left, err, b.enc.texts-encoded)
	}
}

// TestEarlierBackup: a backup, or a copy, has no notes. Documents in the old form give way to their files, and none is removed, as a
// user's fields may have these names.
func TestEarlierBackup(t *testing.T) {
	b := earlier(t)
	b.forget("a restore")
	b.remove("gone.txt")
	b.synced(folder.Options{}, "+0 ~10 -0 =0 read 9")
	b.holds("1 2 a.md go.go gone.txt left.txt m.txt n1 own page.html stale.txt stdin.md sub/b.txt t.csv:1 warned.md")
	b.remove("left.txt")
	b.synced(folder.Options{}, "+0 ~0 -1 =9 read 0")
}
