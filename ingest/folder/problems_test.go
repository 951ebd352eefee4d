package folder_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/lexsem/lexsem/encoder/openai"
	"github.com/lexsem/lexsem/engine"
	"github.com/lexsem/lexsem/ingest/files"
	"github.com/lexsem/lexsem/ingest/folder"
	"github.com/lexsem/lexsem/internal/problems"
	"github.com/lexsem/lexsem/internal/testkit/encoders"
)

// lacks is what the database lacks by its statistics: "state path:line", sorted.
func (b *base) lacks() string {
	b.Helper()
	s, err := b.e.Stats(b.Context())
	b.ok(err)
	list, _, err := problems.All(b.db)
	b.ok(err)
	if len(list) != s.Problems.Total() || len(s.Problems.First) != min(len(list), 20) {
		b.Errorf("%d problems, by the statistics %+v", len(list), s.Problems)
	}
	var out []string
	for _, p := range list {
		if at, err := time.Parse(time.RFC3339, p.Time); err != nil || time.Since(at) > time.Hour || p.Reason == "" || p.Source != b.dir {
			b.Errorf("%+v says too little", p)
		}
		out = append(out, fmt.Sprintf("%s %s:%d", p.State, p.Path, p.Line))
	}
	slices.Sort(out)
	return strings.Join(out, ", ")
}

// TestProblems: the database keeps what failed, is stale or was warned of, over syncs that do not read the file again, and forgets
// it when it is mended.
func TestProblems(t *testing.T) {
	b := newBase(t)
	b.write(map[string]string{
		"stale.txt": "once readable", "front.md": "---\na: b: c\n---\nzebras", "fine.txt": "fine", "bad.json": "{", "r.jsonl": "{\"_id\":\"r1\",\"text\":\"one\"}\n!\n",
		"empty.py": "", "blank.txt": " \n", "list.json": "[]", "a.vsdx": "x", "sub/b.VSDX": "x", "other.json": `{"n":1}`, "c.bin": "x", "noext": "x", "pic.svg": "x", "settings.json": `{"port":8080}`, "blob.log": "\x7fELF\x02\x01\x01\x00\x00\x00\x03",
	})
	var heard []string
	o := folder.Options{Warned: func(f folder.Failure) { heard = append(heard, f.Error()) }}
	r, err := b.sync(o)
	b.ok(err)
	b.counts(r, "+4 ~0 -0 =0 read 11")
	if len(r.Failed) != 2 || len(r.Warned) != 1 || len(heard) != 1 || !strings.HasPrefix(heard[0], "front.md:2: the front matter") {
		t.Fatalf("failed %v, warned %v, heard %q", r.Failed, r.Warned, heard)
	}
	left := "{Hidden:0 Ignored:0 Binary:1 Empty:3 Other:7 BinaryExample:blob.log Usual:[] Kinds:[{Extension:.json Files:2 Example:other.json} {Extension:.vsdx Files:2 Example:a.vsdx} {Extension: Files:1 Example:noext}]}"
	if got := fmt.Sprintf("%+v", r.Skipped); got != left {
		t.Errorf("left out %s, want %s", got, left)
	}
	b.writeAt(b.dir, "stale.txt", "\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR", past.Add(time.Hour))
	want := "failed bad.json:0, failed r.jsonl:2, stale stale.txt:0, warned front.md:2"
	since := ""
	for _, how := range []string{"", "again", "touched", "reopened", "without stamps", "without problems"} {
		switch how {
		case "touched":
			later := past.Add(time.Hour)
			b.ok(os.Chtimes(filepath.Join(b.dir, "front.md"), later, later))
		case "reopened":
			b.ok(b.e.Close())
			b.open()
		case "without stamps", "without problems":
			names, err := filepath.Glob(filepath.Join(b.db, "sync", map[string]string{"without stamps": "*.jsonl", "without problems": "*.problems"}[how]))
			b.ok(err)
			if len(names) != 1 {
				t.Fatalf("%s: %q", how, names)
			}
			b.ok(os.Remove(names[0]))
		}
		heard = nil
		r, err := b.sync(o)
		b.ok(err)
		if got := b.lacks(); got != want {
			t.Errorf("%s: the database lacks %s, want %s", how, got, want)
		}
		if again := how == "without stamps"; len(r.Warned) != 1 || (len(heard) == 1) != again {
			t.Errorf("%s: warned %v, heard %q", how, r.Warned, heard)
		}
		s, err := b.e.Stats(t.Context())
		b.ok(err)
		if got := fmt.Sprintf("%+v", s.Problems.LeftOut); got != left {
			t.Errorf("%s: left out %s", how, got)
		}
		for _, p := range s.Problems.First {
			if p.State == problems.Stale && p.Documents != 1 {
				t.Errorf("%s: %+v", how, p)
			}
			if p.State == problems.Warned && how != "without stamps" && how != "without problems" {
				if since == "" {
					since = p.Time
				}
				if p.Time != since {
					t.Errorf("%s: seen first at %s, before at %s", how, p.Time, since)
				}
			}
		}
	}
	b.holds("fine.txt front.md r1 stale.txt")
	b.writeAt(b.dir, "front.md", "---\na: b\n---\nzebras", past.Add(2*time.Hour))
	b.writeAt(b.dir, "r.jsonl", "{\"_id\":\"r1\",\"text\":\"one\"}\n", past.Add(2*time.Hour))
	b.remove("bad.json")
	if _, err := b.sync(o); err != nil || b.lacks() != "stale stale.txt:0" {
		t.Errorf("some mended: %s, %v", b.lacks(), err)
	}
	b.writeAt(b.dir, "stale.txt", "readable again", past.Add(2*time.Hour))
	if r, err := b.sync(o); err != nil || b.lacks() != "" || len(r.Warned) > 0 {
		t.Errorf("all mended: %s, %v", b.lacks(), err)
	}
	b.ok(os.RemoveAll(b.dir))
	if _, err := b.sync(o); !errors.Is(err, folder.ErrVanished) || b.lacks() != "stale :0" {
		t.Errorf("the folder is gone: %s, %v", b.lacks(), err)
	}
	b.write(map[string]string{"fine.txt": "fine"})
	if _, err := b.sync(o); err != nil || b.lacks() != "" {
		t.Errorf("the folder is back: %s, %v", b.lacks(), err)
	}
}

// TestWatchedProblems: a watch tells a warning once, and the database forgets it when the file is mended, but nothing of other files.
func TestWatchedProblems(t *testing.T) {
	for _, poll := range []time.Duration{0, 50 * time.Millisecond} {
		b := newBase(t)
		b.write(map[string]string{"a.md": "---\na: b: c\n---\nzebras", "bad.json": "{", "x.vsdx": "x"})
		w := b.watch(folder.Options{Poll: poll})
		if got := <-w.told; got.err != nil || len(got.Warned) != 1 || len(got.Failed) != 1 {
			t.Fatalf("%+v", got)
		}
		b.write(map[string]string{"c.txt": "cats"})
		if got := <-w.told; got.err != nil || len(got.Warned)+len(got.Failed) > 0 || got.Added != 1 {
			t.Fatalf("told again: %+v", got)
		}
		b.writeAt(b.dir, "a.md", "---\na: b\n---\nzebras", past.Add(time.Hour))
		if got := <-w.told; got.err != nil || got.Replaced != 1 || b.lacks() != "failed bad.json:0" {
			t.Fatalf("mended: %+v, %s", got, b.lacks())
		}
		if s, err := b.e.Stats(t.Context()); err != nil || s.Problems.LeftOut.Other != 1 {
			t.Errorf("left out %+v, %v", s.Problems.LeftOut, err)
		}
	}
}

// TestOwnIDs: records of two files may have the same id. Which document has the plain one does not change while its file is there.
func TestOwnIDs(t *testing.T) {
	b := newBase(t)
	csv := func(words string) string { return "id,text\n1," + words + " one\n2," + words + " two\n" }
	b.write(map[string]string{"a.csv": csv("walrus"), "b.csv": csv("seal"), "sub/c.jsonl": `{"id":1,"text":"otter"}`})
	b.synced(folder.Options{}, "+5 ~0 -0 =0 read 3")
	b.holds("1 2 b.csv:1 b.csv:2 sub/c.jsonl:1")
	b.synced(folder.Options{}, "+0 ~0 -0 =5 read 0")
	b.write(map[string]string{"0.csv": csv("crab")})
	b.synced(folder.Options{}, "+2 ~0 -0 =5 read 1")
	b.writeAt(b.dir, "b.csv", csv("fur seal"), past.Add(time.Hour))
	b.synced(folder.Options{}, "+0 ~2 -0 =5 read 1")
	b.remove("a.csv")
	b.writeAt(b.dir, "b.csv", csv("grey seal"), past.Add(2*time.Hour))
	b.synced(folder.Options{}, "+0 ~2 -2 =3 read 1")
	b.holds("0.csv:1 0.csv:2 b.csv:1 b.csv:2 sub/c.jsonl:1")

	// One of the API, and two of one file.
	_, err := b.e.Add(t.Context(), []engine.Document{{ID: "9", Text: "of the api"}})
	b.ok(err)
	b.write(map[string]string{"d.csv": "id,text\n9,dolphin\n8,orca\n8,narwhal\n"})
	r, err := b.sync(folder.Options{})
	b.ok(err)
	if len(r.Failed) > 0 || len(r.Warned) != 1 || r.Warned[0].Line != 4 {
		t.Errorf("failed %v, warned %v", r.Failed, r.Warned)
	}
	b.holds("0.csv:1 0.csv:2 8 8~2 9 b.csv:1 b.csv:2 d.csv:9 sub/c.jsonl:1")
	b.synced(folder.Options{}, "+0 ~0 -0 =8 read 0")
	b.writeAt(b.dir, "d.csv", "id,text\n9,porpoise\n8,orca\n8,narwhal\n", past.Add(time.Hour))
	b.synced(folder.Options{}, "+0 ~3 -0 =5 read 1")
	if d, err := b.e.Get(t.Context(), "9"); err != nil || d.Text != "of the api" {
		t.Errorf("the document of the API is %+v, %v", d, err)
	}
	b.remove("d.csv")
	b.synced(folder.Options{}, "+0 ~0 -3 =5 read 0")
}

// TestEarlierIDs: what was stored with global ids is not stored again without.
func TestEarlierIDs(t *testing.T) {
	b := newBase(t)
	b.write(map[string]string{"a.csv": "id,text\n1,walrus\n2,seal\n2,otter\n", "b.jsonl": `{"id":3,"text":"crab"}`})
	b.synced(folder.Options{GlobalIDs: true}, "+3 ~1 -0 =0 read 2")
	b.holds("1 2 3")
	b.synced(folder.Options{}, "+1 ~1 -0 =2 read 2")
	b.holds("1 2 2~2 3")
	b.synced(folder.Options{GlobalIDs: true}, "+0 ~1 -1 =3 read 2")
	b.holds("1 2 3")
}

// TestDamagedFiles: whatever happens to a file, what was stored of it is there in its old form, or the text before the damage in
// the new one. What is stale or warned of is listed.
func TestDamagedFiles(t *testing.T) {
	words := "Walruses rest on the ice. Größe und Straße. Слова на другом языке. "
	files := map[string]string{
		"a.txt": words + "\nend\n", "a.md": "---\ntitle: T\n---\n\n" + words, "a.html": "<title>T</title><p>" + words, "a.py": "# " + words, "a.csv": "id,text,n\nc1,\"" + words + "\",7\n",
		"a.jsonl": `{"_id":"l1","text":"` + words + `","n":7}`, "a.json": `{"_id":"j1","text":"` + words + `"}`,
	}
	b := newBase(t)
	for name, text := range files {
		b.write(map[string]string{name: text})
	}
	b.synced(folder.Options{}, "+7 ~0 -0 =0 read 7")
	want := b.ids(engine.Filter{})
	at := past
	for round, damage := range []func(string) string{
		func(s string) string { return s[:len(s)-3] },
		func(s string) string { return s[:len(s)/2] },
		func(s string) string { return "" },
		func(s string) string { i := strings.Index(s, "Größe") + 2; return s[:i] + "\xff" + s[i+1:] },
		func(s string) string { i := strings.Index(s, "ice") + 1; return s[:i] + "\x00" + s[i+1:] },
		func(s string) string { return strings.Replace(s, "ice.", "ice.\x01\x02", 1) },
		func(s string) string { return strings.Repeat("\x89PNG\x00\x01\x02\x1a", 9) },
		func(s string) string { return "\ufeff" + s },
		func(s string) string {
			return strings.NewReplacer("ß", "\xdf", "ö", "\xf6", "Слова на другом языке", "").Replace(s)
		},
		func(s string) string {
			return strings.NewReplacer("title: T", "title: T: U", "7", "1e999", "c1", "").Replace(s)
		},
	} {
		at = at.Add(time.Hour)
		for name, text := range files {
			b.writeAt(b.dir, name, damage(text), at)
		}
		r, err := b.sync(folder.Options{})
		b.ok(err)
		listed := b.lacks()
		if n := len(r.Failed) + len(r.Warned); n > 0 && strings.Count(listed, ",")+1 != n {
			t.Errorf("damage %d: failed %v, warned %v; listed are %s", round, r.Failed, r.Warned, listed)
		}
		texts := b.content()
		for name := range files {
			var mine []string
			for d, err := range b.e.All(t.Context(), engine.Filter{}) {
				if b.ok(err); d.Metadata["_file"].(map[string]any)["path"] == name {
					mine = append(mine, d.Text)
				}
			}
			if len(mine) == 0 || !strings.Contains(mine[0]+mine[len(mine)-1], "Walruses rest on the i") {
				t.Errorf("damage %d: of %s %q is stored; failed %v", round, name, mine, r.Failed)
			}
		}
		if len(texts) < len(files) || r.Removed > 1 {
			t.Errorf("damage %d: %d documents, %d removed", round, len(texts), r.Removed)
		}
		at = at.Add(time.Hour)
		for name, text := range files {
			b.writeAt(b.dir, name, text, at)
		}
		if r, err := b.sync(folder.Options{}); err != nil || len(r.Failed) > 0 || b.lacks() != "" || b.ids(engine.Filter{}) != want {
			t.Fatalf("mended after damage %d: %v, %v, %s, %s", round, err, r.Failed, b.lacks(), b.ids(engine.Filter{}))
		}
	}
}

// TestTooLongForServer: a text that is too long for the model behind a URL is cut and counted, and all are stored.
func TestTooLongForServer(t *testing.T) {
	api := encoders.NewAPI(t, 16)
	api.Next = func(_ int, texts []string) encoders.Fault {
		for _, s := range texts {
			if len(s) > 1000 {
				return encoders.Fault{Status: 400, Body: `{"error":{"message":"maximum context length is 512 tokens"}}`}
			}
		}
		return encoders.Fault{}
	}
	enc, err := openai.New(openai.Options{Model: "m", Dim: 16, BaseURL: api.URL + "/v1", Key: "secret-1"})
	if err != nil {
		t.Fatal(err)
	}
	b := newBase(t)
	e, err := engine.Open(t.Context(), b.db+"2", enc, engine.Options{NoSync: true, MemoryMiB: 32})
	b.ok(err)
	defer e.Close()
	files := map[string]string{"r.jsonl": `{"_id":"r1","text":"short"}` + "\n" + `{"_id":"r2","text":"` + strings.Repeat("long", 300) + `"}` + "\n"}
	for i := range 20 {
		files[fmt.Sprintf("f%02d.txt", i)] = fmt.Sprint("text number ", i, strings.Repeat(" more", 300*(i%7/6)))
	}
	b.write(files)
	f, err := folder.Open(t.Context(), e, b.dir, folder.Options{})
	b.ok(err)
	r, err := f.Sync(t.Context())
	b.ok(err)
	if r.Added != 22 || len(r.Failed) > 0 || r.Truncated != 3 {
		t.Fatalf("%d added, %d truncated, failed %v", r.Added, r.Truncated, r.Failed)
	}
}

// TestOtherData: a folder's arrays that are no vectors of the database are warnings, and JSON without objects is of another kind;
// neither fails. Vectors that were stored before stay, and the file is named once.
func TestOtherData(t *testing.T) {
	b := newBase(t)
	array := func(n, dim int) string {
		var out strings.Builder
		add, err := files.NewVectorWriter(&out, "npy", n, dim)
		b.ok(err)
		for range n {
			row := make([]float32, dim)
			row[0] = 1
			b.ok(add(row))
		}
		return out.String()
	}
	b.write(map[string]string{"a.txt": "apples"})
	b.synced(folder.Options{}, "+1 ~0 -0 =0 read 1")
	s, err := b.e.Stats(t.Context())
	b.ok(err)
	b.write(map[string]string{"fits.npy": array(2, s.Dim), "other.npy": array(900, 3), "whole.npy": strings.Replace(array(2, 3), "<f4", "<i8", 1),
		"list.json": `["a", "b"]`, "settings.json": `{"documents": {"port": 1}}`, "mixed.json": `[1, {"id": "m", "text": "pears"}]`})
	for _, want := range []string{"+3 ~0 -0 =1 read 6", "+0 ~0 -0 =4 read 1"} {
		r, err := b.sync(folder.Options{})
		b.ok(err)
		b.counts(r, want)
		if len(r.Failed) != 1 || r.Failed[0].Path != "mixed.json" || r.Failed[0].Line != 1 || r.Skipped.Other != 4 {
			t.Errorf("failed %v, left out %+v", r.Failed, r.Skipped)
		}
		slices.SortFunc(r.Warned, func(x, y folder.Failure) int { return strings.Compare(x.Path, y.Path) })
		if got := fmt.Sprint(r.Warned); len(r.Warned) != 2 || !strings.Contains(got, fmt.Sprintf("other.npy: its rows have 3 numbers, the vectors of the database %d", s.Dim)) || !strings.Contains(got, `whole.npy: its numbers are "<i8"`) {
			t.Errorf("warned %s", got)
		}
	}
	b.writeAt(b.dir, "fits.npy", array(9, 3), past.Add(time.Hour))
	r, err := b.sync(folder.Options{})
	b.ok(err)
	var stale *folder.StaleError
	if len(r.Failed) != 2 || r.Failed[0].Path != "fits.npy" || !errors.As(r.Failed[0].Err, &stale) || stale.Documents != 2 {
		t.Errorf("failed %v", r.Failed)
	}
}

// TestManyFailures: of a file with more failures than are listed, the rest are counted and the good records are stored.
func TestManyFailures(t *testing.T) {
	b := newBase(t)
	b.write(map[string]string{"rows.jsonl": strings.Repeat("x\n", problems.MaxFailures+3) + `{"_id": "last", "text": "pears"}`})
	for _, want := range []string{"+1 ~0 -0 =0 read 1", "+0 ~0 -0 =1 read 1"} { // a file with failures is read again
		r, err := b.sync(folder.Options{})
		b.ok(err)
		b.counts(r, want)
		if n := len(r.Failed); n != problems.MaxFailures+1 || r.Failed[n-1].Path != "rows.jsonl" || r.Failed[n-1].Err.Error() != "3 more records of this file were not taken over" {
			t.Errorf("%d failures, the last is %v", n, r.Failed[n-1])
		}
	}
}
