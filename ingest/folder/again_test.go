package folder_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"testing"
	"time"

	"github.com/lexsem/lexsem/ingest/files"
	"github.com/lexsem/lexsem/ingest/folder"
)

// TestBehind: new, changed and gone files are counted as the next sync would find them, with the options of the last one. A file
// of the same time is read where that time says nothing.
func TestBehind(t *testing.T) {
	b := newBase(t)
	b.write(map[string]string{"a.txt": "one", "b.txt": "two", "c.txt": "three", "drafts/d.txt": "four", "bad.json": "{"})
	o := folder.Options{Exclude: []string{"drafts/"}, Prefix: "p", GlobalIDs: true, Columns: files.Columns{ID: "sku"}, MaxBytes: 1 << 20, NoDefaultExcludes: true}
	if _, ok, err := folder.Again(b.db, b.dir, folder.Options{}); ok || err != nil {
		t.Fatalf("options before the first sync: %t, %v", ok, err)
	}
	behind := func(want int) {
		t.Helper()
		last, ok, err := folder.Again(b.db, b.dir, folder.Options{WordsFirst: true})
		b.ok(err)
		all := o
		all.WordsFirst = true
		if !ok || !reflect.DeepEqual(last, all) {
			t.Fatalf("the last options are %+v, %t; want %+v", last, ok, all)
		}
		f, err := folder.Open(b.Context(), b.e, b.dir, last)
		b.ok(err)
		if n, err := f.Behind(b.Context()); n != want || err != nil {
			t.Errorf("%d files behind, %v; want %d", n, err, want)
		}
		ctx, cancel := context.WithCancel(b.Context())
		cancel()
		if _, err := f.Behind(ctx); !errors.Is(err, context.Canceled) {
			t.Errorf("with an ended context: %v", err)
		}
	}
	_, err := b.sync(o)
	b.ok(err)
	behind(0)
	b.write(map[string]string{"drafts/e.txt": "five"})
	behind(0)
	b.writeAt(b.dir, "a.txt", "six", past.Add(time.Hour))
	b.write(map[string]string{"e.txt": "seven"})
	b.remove("b.txt")
	behind(3)
	_, err = b.sync(o)
	b.ok(err)
	behind(0)
	o.Keep = true
	_, err = b.sync(o)
	b.ok(err)
	b.remove("c.txt")
	behind(0)
	now := time.Now()
	b.writeAt(b.dir, "new.txt", "12", now)
	_, err = b.sync(o)
	b.ok(err)
	behind(0)
	b.writeAt(b.dir, "new.txt", "34", now)
	behind(1)
	b.ok(os.Truncate(options(b), 3)) // damaged: as if there were none
	if _, ok, err := folder.Again(b.db, b.dir, folder.Options{}); ok || err != nil {
		t.Errorf("damaged options: %t, %v", ok, err)
	}
	_, err = b.sync(o)
	b.ok(err)
	behind(0)
}

// options is the file of the options of the one root.
func options(b *base) string {
	b.Helper()
	names, err := filepath.Glob(filepath.Join(b.db, "sync", "*.options"))
	b.ok(err)
	if len(names) != 1 {
		b.Fatalf("options in %q", names)
	}
	return names[0]
}
