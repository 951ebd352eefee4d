package folder

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/lexsem/lexsem/encoder"
	"github.com/lexsem/lexsem/engine"
	"github.com/lexsem/lexsem/internal/location"
)

// TestMadeFiles: files of offices, books, notebooks and mail are stored by a sync, found unchanged by the next one, and
// what was stored of them stays where they become unreadable.
func TestMadeFiles(t *testing.T) {
	dir := t.TempDir()
	root := filepath.Join(dir, "root")
	names, err := filepath.Glob("../files/testdata/*.*")
	if err == nil {
		err = os.Mkdir(root, 0o755)
	}
	if err != nil || len(names) < 20 {
		t.Fatal(len(names), err)
	}
	for _, name := range names {
		b, err := os.ReadFile(name)
		if err == nil {
			err = os.WriteFile(filepath.Join(root, filepath.Base(name)), b, 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	e, err := engine.Open(t.Context(), filepath.Join(dir, "db"), encoder.NewHash(16), engine.Options{NoSync: true, MemoryMiB: 32})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	sync := func() Report {
		t.Helper()
		f, err := Open(t.Context(), e, root, Options{})
		if err != nil {
			t.Fatal(err)
		}
		r, err := f.Sync(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	want := len(names) + 1 // a mailbox of two messages
	if r := sync(); r.Added != want || len(r.Failed)+len(r.Warned) > 0 || r.Skipped.Other > 0 {
		t.Errorf("%+v", r)
	}
	if r := sync(); r.Unchanged != want || r.Added+r.Replaced+r.Removed > 0 {
		t.Errorf("again: %+v", r)
	}
	lines := 0
	for d, err := range e.All(t.Context(), engine.Filter{}) {
		if err != nil {
			t.Fatal(err)
		}
		if !strings.HasPrefix(d.ID, fileOf(d, location.Path).(string)) && !strings.HasSuffix(d.ID, "@example.org") || len(d.Text) < 40 {
			t.Errorf("%+v", d)
		}
		if strings.HasSuffix(d.ID, "@example.org") {
			if line, ok := location.Whole(fileOf(d, location.Line)); ok && line > 0 {
				lines++
			}
		}
	}
	if lines != 2 {
		t.Errorf("%d of 2 messages have a line", lines)
	}
	for _, name := range names {
		name = filepath.Base(name)
		if strings.HasSuffix(name, ".mbox") || strings.HasSuffix(name, ".sh") || strings.HasPrefix(name, "pandoc") && !strings.Contains(".docx .odt .epub .pptx .rtf .ipynb", filepath.Ext(name)) {
			continue
		}
		if err := os.WriteFile(filepath.Join(root, name), []byte("\x00\x01 damaged \xff\xfe"), 0o644); err != nil {
			t.Fatal(err)
		}
		want--
	}
	if r := sync(); r.Removed+r.Added+r.Replaced > 0 || len(r.Failed)+want != len(names)+1 {
		t.Errorf("damaged: %+v", r)
	}
	n, err := e.Count(t.Context(), engine.Filter{})
	if err != nil || n != len(names)+1 {
		t.Errorf("%d documents, %v", n, err)
	}
}

// fileOf is a field of location.File.
func fileOf(d engine.Document, name string) any {
	file, _ := d.Metadata[location.File].(map[string]any)
	return file[name]
}
