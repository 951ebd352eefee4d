package folder_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/lexsem/lexsem/encoder"
	"github.com/lexsem/lexsem/engine"
	"github.com/lexsem/lexsem/engine/filter"
	"github.com/lexsem/lexsem/ingest/folder"
	"github.com/lexsem/lexsem/internal/location"
)

// base is a database, and a folder beside it.
type base struct {
	*testing.T
	e       *engine.Engine
	enc     *counting
	db, dir string
}

// counting is a source of vectors that counts what it encodes.
type counting struct{ texts int }

func (c *counting) encoder() encoder.Encoder {
	return encoder.Func("counting", 16, func(_ context.Context, texts []string) ([][]float32, error) {
		out := make([][]float32, len(texts))
		for i, s := range texts {
			c.texts++
			out[i] = make([]float32, 16)
			for j := range len(s) {
				out[i][(int(s[j])+j)%16]++
			}
		}
		return out, nil
	})
}

func newBase(t *testing.T) *base {
	t.Helper()
	dir := t.TempDir()
	b := &base{T: t, enc: &counting{}, db: filepath.Join(dir, "db"), dir: filepath.Join(dir, "notes")}
	b.open()
	t.Cleanup(func() { b.e.Close() })
	b.ok(os.Mkdir(b.dir, 0o755))
	return b
}

func (b *base) ok(err error) {
	b.Helper()
	if err != nil {
		b.Fatal(err)
	}
}

func (b *base) open() {
	b.Helper()
	e, err := engine.Open(b.Context(), b.db, b.enc.encoder(), engine.Options{NoSync: true, MemoryMiB: 32})
	b.ok(err)
	b.e = e
}

// past is long before now: a file of that time is not racy.
var past = time.Date(2024, 5, 6, 7, 8, 9, 0, time.UTC)

// write writes files, the time of which is long past.
func (b *base) write(files map[string]string) {
	b.Helper()
	for name, text := range files {
		b.writeAt(b.dir, name, text, past)
	}
}

func (b *base) writeAt(dir, name, text string, at time.Time) {
	b.Helper()
	p := filepath.Join(dir, filepath.FromSlash(name))
	b.ok(os.MkdirAll(filepath.Dir(p), 0o755))
	whole := filepath.Join(b.TempDir(), "whole") // no Watch reads half of it, or reads it twice
	b.ok(os.WriteFile(whole, []byte(text), 0o644))
	b.ok(os.Chtimes(whole, at, at))
	b.ok(os.Rename(whole, p))
}

func (b *base) remove(name string) {
	b.Helper()
	b.ok(os.RemoveAll(filepath.Join(b.dir, name)))
}

func (b *base) sync(o folder.Options) (folder.Report, error) {
	b.Helper()
	return b.syncDir(b.dir, o)
}

// clean is a sync that has nothing to say.
func (b *base) clean() {
	b.Helper()
	if r, err := b.sync(folder.Options{}); err != nil || len(r.Failed)+len(r.Warned) > 0 {
		b.Fatalf("%v, failed %v, warned %v", err, r.Failed, r.Warned)
	}
}

func (b *base) syncDir(dir string, o folder.Options) (folder.Report, error) {
	b.Helper()
	f, err := folder.Open(b.Context(), b.e, dir, o)
	b.ok(err)
	return f.Sync(b.Context())
}

// synced is a sync that must find no trouble; it counts documents added, replaced,
// removed and unchanged, and files read.
func (b *base) synced(o folder.Options, want string) folder.Report {
	b.Helper()
	r, err := b.sync(o)
	b.ok(err)
	b.counts(r, want)
	if len(r.Failed) > 0 {
		b.Fatalf("failed: %v", r.Failed)
	}
	return r
}

func (b *base) counts(r folder.Report, want string) {
	b.Helper()
	if got := fmt.Sprintf("+%d ~%d -%d =%d read %d", r.Added, r.Replaced, r.Removed, r.Unchanged, r.Read); got != want {
		b.Fatalf("sync did %s, want %s (failed: %v)", got, want, r.Failed)
	}
}

// ids are those of all documents.
func (b *base) ids(f engine.Filter) string {
	b.Helper()
	var out []string
	for d, err := range b.e.All(b.Context(), f) {
		b.ok(err)
		out = append(out, d.ID)
	}
	slices.Sort(out)
	return strings.Join(out, " ")
}

func (b *base) holds(want string) {
	b.Helper()
	if got := b.ids(engine.Filter{}); got != want {
		b.Fatalf("the database holds %q, want %q", got, want)
	}
}

func TestFollow(t *testing.T) {
	b := newBase(t)
	b.write(map[string]string{"a.md": "# Apples\n\nred fruit", "sub/b.txt": "blue sky", "c.jsonl": `{"_id":"j1","text":"one"}` + "\n" + `{"_id":"j2","text":"two"}`})
	b.synced(folder.Options{}, "+4 ~0 -0 =0 read 3")
	b.holds("a.md j1 j2 sub/b.txt")
	encoded := b.enc.texts
	b.synced(folder.Options{}, "+0 ~0 -0 =4 read 0")

	// One changed, one is new, one of two records and one file are gone.
	b.writeAt(b.dir, "sub/b.txt", "green sea", past.Add(time.Hour))
	b.writeAt(b.dir, "c.jsonl", `{"_id":"j2","text":"two"}`, past.Add(time.Hour))
	b.write(map[string]string{"d.txt": "new text"})
	b.remove("a.md")
	b.synced(folder.Options{}, "+1 ~2 -2 =0 read 3") // the record's time is another
	b.holds("d.txt j2 sub/b.txt")
	if n := b.enc.texts - encoded; n != 2 {
		t.Errorf("%d texts were encoded, want the changed one and the new one", n)
	}

	// A renamed file, and a folder that gets another name.
	b.ok(os.Rename(filepath.Join(b.dir, "d.txt"), filepath.Join(b.dir, "e.txt")))
	b.ok(os.Rename(filepath.Join(b.dir, "sub"), filepath.Join(b.dir, "other")))
	b.synced(folder.Options{}, "+2 ~0 -2 =1 read 2")
	b.holds("e.txt j2 other/b.txt")

	// Reopened, nothing is read.
	b.ok(b.e.Close())
	b.open()
	b.synced(folder.Options{}, "+0 ~0 -0 =3 read 0")

	// Without stamps all is read, and nothing encoded or written.
	b.ok(os.RemoveAll(filepath.Join(b.db, "sync")))
	encoded = b.enc.texts
	b.synced(folder.Options{}, "+0 ~0 -0 =3 read 3")
	if b.enc.texts != encoded {
		t.Errorf("%d texts were encoded again", b.enc.texts-encoded)
	}

	// A file whose time alone is new is read, and its document gets the time.
	later := past.Add(48 * time.Hour)
	b.ok(os.Chtimes(filepath.Join(b.dir, "e.txt"), later, later))
	b.synced(folder.Options{}, "+0 ~0 -0 =3 read 1")
	if got := b.ids(filter.Eq("time", later.Format(time.RFC3339))); got != "e.txt" {
		t.Errorf("documents of the new time: %q", got)
	}
	b.synced(folder.Options{}, "+0 ~0 -0 =3 read 0")

	// Documents that are deleted by others come back.
	_, err := b.e.Delete(b.Context(), []string{"e.txt", "j2"})
	b.ok(err)
	b.synced(folder.Options{}, "+2 ~0 -0 =1 read 2")

	// Keep leaves what is gone; without it, it goes.
	b.remove("e.txt")
	b.synced(folder.Options{Keep: true}, "+0 ~0 -0 =2 read 0")
	b.holds("e.txt j2 other/b.txt")
	b.synced(folder.Options{}, "+0 ~0 -1 =2 read 0")
}

func TestMetadata(t *testing.T) {
	b := newBase(t)
	b.write(map[string]string{
		"a.md":    "---\ntitle: Named\ntags: [x, y]\nkind: essay\nfront: f\nday: 2024-01-02\n---\n\nfirst\nsecond\n",
		"b.txt":   "l1\r\nl2\r\n",
		"r.jsonl": "\n" + `{"_id":"r","text":"rec\nord","path":"own","n":7,"_file":"mine"}`,
	})
	b.synced(folder.Options{}, "+3 ~0 -0 =0 read 3")
	root := b.dir
	for expr, want := range map[string]string{
		`tags = "x"`: "a.md", `kind = "essay"`: "a.md", `_file.kind = "markdown"`: "a.md", `kind = "markdown"`: "", `front = "f"`: "a.md",
		`path = "b.txt"`: "b.txt", `kind = "text"`: "b.txt", `path = "own"`: "r", `line = 2 and line_end = 2`: "r",
		`time = "2024-05-06T07:08:09Z"`: "a.md b.txt r", `n = 7`: "r", `_file.path = "r.jsonl"`: "r", `path = "r.jsonl"`: "", `line_end exists`: "r",
		`not kind exists`: "", `_file exists`: "a.md b.txt r", `_file = "mine"`: "", `_file.own = "mine"`: "r",
	} {
		f, err := filter.Parse(expr)
		b.ok(err)
		if got := b.ids(f); got != want {
			t.Errorf("%s: %q, want %q", expr, got, want)
		}
	}
	if got := b.ids(filter.Eq("root", root)); got != "a.md b.txt r" {
		t.Errorf("of this root: %q", got)
	}
	for query, want := range map[string]string{"first second": "a.md:9-10", "l1 l2": "b.txt:1-2", "rec ord": "r.jsonl:2-2"} {
		res, err := b.e.Search(b.Context(), engine.Query{Text: query, K: 1, Mode: engine.ModeLexical})
		b.ok(err)
		p, lines, ok := location.Of(res.Hits[0])
		rel, _ := filepath.Rel(root, p)
		if got := fmt.Sprintf("%s:%d-%d", rel, lines[0], lines[1]); !ok || got != want {
			t.Errorf("%q stands at %s, want %s (%+v)", query, got, want, res.Hits[0].Metadata)
		}
	}
	if _, _, ok := location.Of(engine.Hit{Metadata: map[string]any{"path": "a.md", "kind": "x"}}); ok {
		t.Error("a document that came from no file has a place")
	}
}

// TestOthers: documents of other roots and of the API stay, whatever their ids.
func TestOthers(t *testing.T) {
	b := newBase(t)
	other := filepath.Join(filepath.Dir(b.dir), "other")
	b.writeAt(other, "a.md", "other apples", past)
	b.write(map[string]string{"a.md": "apples", "api.txt": "mine", "was.txt": "as before"})
	_, err := b.e.Add(b.Context(), []engine.Document{
		{ID: "api.txt", Text: "of the api"},
		{ID: "free", Text: "of the api", Metadata: map[string]any{"path": "a.md"}},
		{ID: "was.txt", Text: "as before"}, // as an index before folders were followed left it
	})
	b.ok(err)
	r, err := b.sync(folder.Options{})
	b.ok(err)
	b.counts(r, "+1 ~1 -0 =0 read 3")
	if len(r.Failed) != 1 || r.Failed[0].Path != "api.txt" || !errors.Is(r.Failed[0], folder.ErrForeign) || !strings.Contains(r.Failed[0].Error(), "prefix") {
		t.Fatalf("failed: %v", r.Failed)
	}
	if d, err := b.e.Get(b.Context(), "api.txt"); err != nil || d.Text != "of the api" {
		t.Fatalf("the document of the API is %+v, %v", d, err)
	}
	r, err = b.syncDir(other, folder.Options{})
	b.ok(err)
	if len(r.Failed) != 1 || !errors.Is(r.Failed[0], folder.ErrForeign) || r.Added != 0 {
		t.Fatalf("a second root with the same id: %+v", r)
	}
	r, err = b.syncDir(other, folder.Options{Prefix: "o/"})
	b.ok(err)
	b.counts(r, "+1 ~0 -0 =0 read 1")
	b.holds("a.md api.txt free o/a.md was.txt")

	// What goes from one root touches nothing of the others.
	b.remove("a.md")
	r, err = b.sync(folder.Options{})
	b.ok(err)
	b.counts(r, "+0 ~0 -1 =1 read 1")
	b.holds("api.txt free o/a.md was.txt")

	// Another prefix gives other ids.
	r, err = b.syncDir(other, folder.Options{Prefix: "p"})
	b.ok(err)
	b.counts(r, "+1 ~0 -1 =0 read 1")
	b.holds("api.txt free p/a.md was.txt")
}

func TestVanished(t *testing.T) {
	b := newBase(t)
	b.write(map[string]string{"a.md": "apples", "b.md": "bees"})
	b.synced(folder.Options{}, "+2 ~0 -0 =0 read 2")
	away := b.dir + ".away"
	for _, how := range []string{"gone", "empty"} {
		b.ok(os.Rename(b.dir, away))
		if how == "empty" {
			b.ok(os.Mkdir(b.dir, 0o755))
		}
		_, err := b.sync(folder.Options{})
		var v *folder.VanishedError
		if !errors.As(err, &v) || !errors.Is(err, folder.ErrVanished) || v.Documents != 2 {
			t.Fatalf("%s: %v", how, err)
		}
		if n, err := folder.Recorded(b.Context(), b.e, b.dir); n != 2 || err != nil {
			t.Fatalf("%s: %d recorded, %v", how, n, err)
		}
		b.holds("a.md b.md")
		b.ok(os.RemoveAll(b.dir))
		b.ok(os.Rename(away, b.dir))
		b.synced(folder.Options{}, "+0 ~0 -0 =2 read 0")
	}
	b.ok(os.RemoveAll(b.dir))
	b.synced(folder.Options{PruneAll: true}, "+0 ~0 -2 =0 read 0")
	if _, err := b.sync(folder.Options{}); !errors.Is(err, os.ErrNotExist) || errors.Is(err, folder.ErrVanished) {
		t.Fatalf("a root that never was: %v", err)
	}
}

// TestFailures: one file that cannot be read is named, keeps its version, and stops nothing.
func TestFailures(t *testing.T) {
	b := newBase(t)
	b.write(map[string]string{"a.txt": "apples", "b.txt": "bees", "r.jsonl": "{\"_id\":\"r1\",\"text\":\"one\"}\n{\"_id\":\"r2\",\"text\":\"two\"}\n"})
	b.synced(folder.Options{}, "+4 ~0 -0 =0 read 3")
	b.writeAt(b.dir, "a.txt", " \n", past.Add(time.Hour))
	b.writeAt(b.dir, "r.jsonl", "{\"_id\":\"r1\",\"text\":\"uno\"}\n{\"_id\":\"r2\",\"text\n{\"_id\":\"r3\",\"text\":\"three\"}\n", past.Add(time.Hour))
	b.write(map[string]string{"blob.txt": "\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR", "z.txt": "zebras"})
	var heard []string
	for range 2 {
		heard = nil
		r, err := b.sync(folder.Options{Failed: func(f folder.Failure) { heard = append(heard, f.Error()) }})
		b.ok(err)
		if len(r.Failed) != 2 || r.Failed[0].Path != "a.txt" || r.Failed[1].Path != "r.jsonl" || r.Failed[1].Line != 2 {
			t.Fatalf("failed: %v", r.Failed)
		}
		if r.Skipped.Binary != 1 || len(heard) != 2 || !strings.HasPrefix(heard[1], "r.jsonl:2: ") {
			t.Fatalf("left out %+v, heard %q", r.Skipped, heard)
		}
		b.holds("a.txt b.txt r1 r2 r3 z.txt")
	}
	if d, err := b.e.Get(b.Context(), "a.txt"); err != nil || d.Text != "apples" {
		t.Errorf("the empty file's document is %+v, %v; want its last version", d, err)
	}
	b.writeAt(b.dir, "a.txt", "again", past)
	b.writeAt(b.dir, "r.jsonl", "{\"_id\":\"r3\",\"text\":\"three\"}\n", past)
	b.synced(folder.Options{}, "+0 ~2 -2 =2 read 2")
}

func TestUnreadable(t *testing.T) {
	if os.Geteuid() <= 0 {
		t.Skip("NOT TESTED: folders without the right to read them; run on a Unix and not as root")
	}
	b := newBase(t)
	b.write(map[string]string{"a.txt": "apples", "in/b.txt": "bees", "in/deep/c.txt": "cats"})
	b.synced(folder.Options{}, "+3 ~0 -0 =0 read 3")
	b.remove("a.txt")
	b.ok(os.Chmod(filepath.Join(b.dir, "in"), 0))
	t.Cleanup(func() { os.Chmod(filepath.Join(b.dir, "in"), 0o755) })
	r, err := b.sync(folder.Options{})
	if err != nil && !errors.Is(err, folder.ErrVanished) {
		t.Fatal(err)
	}
	if len(r.Failed) != 1 || r.Failed[0].Path != "in" {
		t.Fatalf("failed: %v", r.Failed)
	}
	if got := b.ids(engine.Filter{}); !strings.Contains(got, "in/b.txt in/deep/c.txt") {
		t.Fatalf("the database holds %q", got)
	}
}

func TestExcludes(t *testing.T) {
	b := newBase(t)
	all := map[string]string{
		"a.md": "a", "b.log.md": "b", "build/c.md": "c", "sub/d.md": "d", "sub/keep.md": "k", "sub/build": "", ".hidden/e.md": "e", ".f.md": "f",
		".gitignore": "build/\n", "sub/.gitignore": "*.md\n", "sub/.lexsemignore": "!keep.md\n", "picture.png": "png", "~$guide.docx": "\x03Ann",
	}
	b.write(all)
	r := b.synced(folder.Options{Exclude: []string{"*.log.md"}}, "+2 ~0 -0 =0 read 2")
	b.holds("a.md sub/keep.md")
	if s := r.Skipped; s.Hidden != 6 || s.Ignored != 3 || s.Other != 2 {
		t.Errorf("left out: %+v", s)
	}
	// What is excluded later goes.
	b.synced(folder.Options{Exclude: []string{"*.log.md", "/a.md"}}, "+0 ~0 -1 =1 read 0")
	if _, err := folder.Open(t.Context(), b.e, b.dir, folder.Options{Exclude: []string{"[a"}}); !errors.Is(err, engine.ErrInvalid) {
		t.Errorf("a broken pattern gave %v", err)
	}
	// A database inside the folder is not read, nor one that is not open.
	inside, err := engine.Open(t.Context(), filepath.Join(b.dir, "inner.db"), encoder.NewHash(64), engine.Options{})
	b.ok(err)
	b.ok(inside.Close())
	b.writeAt(b.dir, "inner.db/x.txt", "none of the folder's", past)
	b.synced(folder.Options{Exclude: []string{"*.log.md", "/a.md"}}, "+0 ~0 -0 =1 read 0")
}

// TestRacy: a file that changes within the grain of its time is noticed.
func TestRacy(t *testing.T) {
	b := newBase(t)
	now := time.Now()
	b.writeAt(b.dir, "a.txt", "one", now)
	b.synced(folder.Options{}, "+1 ~0 -0 =0 read 1")
	b.writeAt(b.dir, "a.txt", "two", now) // as long, at the same time
	b.synced(folder.Options{}, "+0 ~1 -0 =0 read 1")
	b.synced(folder.Options{}, "+0 ~0 -0 =1 read 1") // not trusted yet
	// From the future, never.
	b.writeAt(b.dir, "a.txt", "ten", now.Add(time.Hour))
	b.synced(folder.Options{}, "+0 ~1 -0 =0 read 1")
	b.synced(folder.Options{}, "+0 ~0 -0 =1 read 1")
}

// TestInterrupted: whatever the moment, whole batches stay and the next sync ends it.
func TestInterrupted(t *testing.T) {
	b := newBase(t)
	all := map[string]string{}
	for i := range 60 {
		all[fmt.Sprintf("f%02d.txt", i)] = fmt.Sprintf("file number%d", i)
	}
	b.write(all)
	stored := 0
	for stop := 1; stored < len(all); stop++ {
		ctx, cancel := context.WithCancel(t.Context())
		n := 0
		f, err := folder.Open(ctx, b.e, b.dir, folder.Options{Batch: 7, Progress: func(p folder.Progress) {
			if n++; p.Stage == "sync" && p.Documents > 0 {
				cancel()
			}
		}})
		b.ok(err)
		_, err = f.Sync(ctx)
		cancel()
		now, e := b.e.Count(t.Context(), engine.Filter{})
		b.ok(e)
		if now <= stored && now < len(all) || now%7 != 0 && now != len(all) || now < len(all) && !errors.Is(err, context.Canceled) {
			t.Fatalf("interrupted %d times: %d documents, %d before, %v", stop, now, stored, err)
		}
		stored = now
	}
	if b.enc.texts > len(all)+14+len(encoder.ProbeTexts)+64 { // those that measure the encoder (encoder.Unrelated)
		t.Errorf("%d texts were encoded for %d files", b.enc.texts, len(all))
	}
	b.synced(folder.Options{}, "+0 ~0 -0 =60 read 0")
}

// TestOneIDTwice: with global ids the first file in order has it, within a file the last line.
func TestOneIDTwice(t *testing.T) {
	b := newBase(t)
	b.write(map[string]string{
		"a.jsonl": "{\"_id\":\"x\",\"text\":\"old\"}\n{\"_id\":\"x\",\"text\":\"new\"}\n",
		"b.jsonl": "{\"_id\":\"x\",\"text\":\"other\"}\n{\"_id\":\"y\",\"text\":\"why\"}\n",
	})
	for range 2 {
		r, err := b.sync(folder.Options{GlobalIDs: true})
		b.ok(err)
		if len(r.Failed) != 1 || r.Failed[0].Path != "b.jsonl" || r.Failed[0].Line != 1 || !strings.Contains(r.Failed[0].Error(), "a.jsonl") {
			t.Fatalf("failed: %v", r.Failed)
		}
		if d, err := b.e.Get(t.Context(), "x"); err != nil || d.Text != "new" {
			t.Fatalf("x is %+v, %v", d, err)
		}
	}
	// A record that moves to another file goes with it.
	b.writeAt(b.dir, "b.jsonl", "{\"_id\":\"y\",\"text\":\"why\"}\n", past.Add(time.Hour))
	b.write(map[string]string{"c.jsonl": "{\"_id\":\"x\",\"text\":\"new\"}\n"})
	b.remove("a.jsonl")
	b.synced(folder.Options{GlobalIDs: true}, "+0 ~2 -0 =0 read 2")
	b.holds("x y")
}

// TestSettings: files without a text, such as settings and events, are no documents, and no failures. A file that has records
// with a text is named once for those without.
func TestSettings(t *testing.T) {
	b := newBase(t)
	b.write(map[string]string{"package.json": `{"version": "1.0", "private": true}`, "docs.json": `[{"id":"a","text":"apples"},{"id":"b"}]`, "list.json": `[]`,
		"events.jsonl": `{"ts":1}` + "\n" + `{"ts":2}`, "some.jsonl": `{"id":"c","text":"pears"}` + "\n" + `{"id":"d"}` + "\n" + `{"id":"e"}`,
		"table.csv": "id,text\nf,figs\n# what follows is new\ng,\n"})
	for _, want := range []string{"+3 ~0 -0 =0 read 6", "+0 ~0 -0 =3 read 0"} {
		r, err := b.sync(folder.Options{})
		b.ok(err)
		b.counts(r, want)
		var warned []string
		for _, w := range r.Warned {
			warned = append(warned, fmt.Sprintf("%s:%d: %.9v", w.Path, w.Line, w.Err))
		}
		slices.Sort(warned)
		if got := strings.Join(warned, "; "); len(r.Failed) > 0 || r.Skipped.Other != 2 || r.Skipped.Empty != 1 || r.Skipped.Binary != 0 ||
			got != "docs.json:1: 1 of its ; some.jsonl:2: 2 of its ; table.csv:3: 1 rows ha; table.csv:3: 2 of its " {
			t.Fatalf("failed %v, warned of %s, left out %+v", r.Failed, got, r.Skipped)
		}
	}
}

// TestEarlierState: documents that were brought back to an earlier version are
// brought up to date, though the file is as it was.
func TestEarlierState(t *testing.T) {
	b := newBase(t)
	b.write(map[string]string{"a.txt": "one"})
	b.synced(folder.Options{}, "+1 ~0 -0 =0 read 1")
	before, err := b.e.Get(t.Context(), "a.txt")
	b.ok(err)
	b.writeAt(b.dir, "a.txt", "two", past.Add(time.Hour))
	b.synced(folder.Options{}, "+0 ~1 -0 =0 read 1")
	_, err = b.e.Upsert(t.Context(), []engine.Document{before})
	b.ok(err)
	b.synced(folder.Options{}, "+0 ~1 -0 =0 read 1")
	if d, err := b.e.Get(t.Context(), "a.txt"); err != nil || d.Text != "two" {
		t.Fatalf("the document is %+v, %v; want what the file holds", d, err)
	}
}
