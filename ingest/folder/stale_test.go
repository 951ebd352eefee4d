package folder_test

import (
	"bytes"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/parquet-go/parquet-go"

	"github.com/lexsem/lexsem/engine"
	"github.com/lexsem/lexsem/ingest/folder"
)

// TestStale: what was stored of a file stays when nothing of it can be read any more, whatever its kind and the reason, and each
// sync names the file and says how many documents may be stale; once it can be read they are brought up to date, and once it is
// gone they go.
func TestStale(t *testing.T) {
	good := map[string]string{
		"a.md": "# Apples\n\nred", "a.txt": "apples", "a.html": "<p>apples</p>", "a.go": "package apples", "a.json": `{"_id":"j","text":"apples"}`,
		"a.jsonl": `{"_id":"l1","text":"one"}` + "\n" + `{"_id":"l2","text":"two"}`, "a.csv": "_id,text\nc1,one\nc2,two\n", "a.tsv": "_id\ttext\nt1,\tone\n",
		"a.parquet": table(t),
	}
	other := "\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR\x00\x00\x01\xf4"
	bad := map[string]map[string]string{ // by reason
		"no text":             {"a.md": other, "a.txt": other, "a.go": other, "a.html": other, "a.json": other, "a.jsonl": other, "a.csv": other, "a.tsv": other},
		"another kind":        {"a.parquet": "no table", "a.json": "{", "a.csv": "_id,text\n\"c1", "a.md": "\x89PNG\r\n\x1a\n\x00\x00"},
		"nothing to be found": {"a.md": " \n", "a.txt": "", "a.go": "\n", "a.html": "<p></p>"},
	}
	for why, changed := range bad {
		b := newBase(t)
		o := folder.Options{MaxBytes: 1 << 10}
		b.write(map[string]string{"keep.txt": "kept"})
		for name := range changed {
			b.write(map[string]string{name: good[name]})
		}
		first, err := b.sync(o)
		b.ok(err)
		if len(first.Failed) > 0 {
			t.Fatal(first.Failed)
		}
		was := b.content()
		for name, text := range changed {
			b.writeAt(b.dir, name, text, past.Add(time.Hour))
		}
		for _, again := range []string{"", " again", " without stamps"} {
			if again == " without stamps" {
				b.ok(os.RemoveAll(filepath.Join(b.db, "sync")))
			}
			r, err := b.sync(o)
			b.ok(err)
			named := map[string]bool{}
			for _, x := range r.Failed {
				named[x.Path] = true
				if s, ok := errors.AsType[*folder.StaleError](x.Err); !ok {
					if x.Line == 0 && again == "" {
						t.Errorf("%s: %v says nothing of what is stored", why, x)
					}
				} else if s.Documents < 1 || !strings.Contains(x.Error(), "stored") {
					t.Errorf("%s: %v: %d documents", why, x, s.Documents)
				}
			}
			for name := range changed {
				if !named[name] {
					t.Errorf("%s%s: %s is not named; failed %v", why, again, name, r.Failed)
				}
			}
			if now := b.content(); !maps.Equal(now, was) || len(now) < len(was) || r.Removed > 0 {
				t.Errorf("%s%s: stored is %q, want %q", why, again, now, was)
			}
		}
		for name := range changed {
			b.writeAt(b.dir, name, good[name], past.Add(2*time.Hour))
		}
		r, err := b.sync(o)
		b.ok(err)
		if now := b.content(); len(r.Failed) > 0 || !maps.Equal(now, was) {
			t.Errorf("%s, mended: failed %v, stored %q, want %q", why, r.Failed, now, was)
		}
		for name := range changed {
			b.remove(name)
		}
		if _, err := b.sync(o); err != nil || len(b.content()) != 1 {
			t.Errorf("%s, gone: %q is stored, %v", why, b.content(), err)
		}
	}
}

// content is the text of each document.
func (b *base) content() map[string]string {
	b.Helper()
	out := map[string]string{}
	for d, err := range b.e.All(b.Context(), engine.Filter{}) {
		b.ok(err)
		out[d.ID] = d.Title + "|" + d.Text
	}
	return out
}

// table is a Parquet file.
func table(t *testing.T) string {
	t.Helper()
	type row struct {
		ID   string `parquet:"_id"`
		Text string `parquet:"text"`
	}
	var b bytes.Buffer
	if err := parquet.Write(&b, []row{{"p1", "one"}, {"p2", "two"}}); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// TestStaleFolders: a folder or a file that may not be read is named with how many documents of it stay.
func TestStaleFolders(t *testing.T) {
	if os.Geteuid() <= 0 {
		t.Skip("NOT TESTED: files and folders without the right to read them; run on a Unix and not as root")
	}
	b := newBase(t)
	b.write(map[string]string{"a.txt": "apples", "in/b.txt": "bees", "in/deep/c.txt": "cats", "d.txt": "dogs"})
	b.synced(folder.Options{}, "+4 ~0 -0 =0 read 4")
	b.writeAt(b.dir, "d.txt", "ducks", past.Add(time.Hour))
	for _, name := range []string{"in", "d.txt"} {
		at := filepath.Join(b.dir, name)
		b.ok(os.Chmod(at, 0))
		t.Cleanup(func() { os.Chmod(at, 0o755) })
	}
	r, err := b.sync(folder.Options{})
	b.ok(err)
	stale := map[string]int{}
	for _, x := range r.Failed {
		if s, ok := errors.AsType[*folder.StaleError](x); ok {
			stale[x.Path] = s.Documents
		}
	}
	if !maps.Equal(stale, map[string]int{"in": 2, "d.txt": 1}) || r.Removed > 0 {
		t.Errorf("stale %v, failed %v", stale, r.Failed)
	}
}
