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

	"github.com/lexsem/lexsem/engine"
	"github.com/lexsem/lexsem/engine/filter"
	"github.com/lexsem/lexsem/ingest/folder"
)

// TestMovedRoot: a folder that was renamed, moved or copied anew keeps its documents, which are neither read nor encoded again.
func TestMovedRoot(t *testing.T) {
	b := newBase(t)
	for i := range 30 {
		b.write(map[string]string{fmt.Sprintf("sub/%02d.txt", i): fmt.Sprint("walrus number ", i)})
	}
	b.write(map[string]string{"r.jsonl": `{"_id":"r1","text":"seal"}` + "\n", "w.md": "---\na: b: c\n---\nzebras"})
	b.synced(folder.Options{}, "+32 ~0 -0 =0 read 32")
	_, err := b.e.Add(t.Context(), []engine.Document{{ID: "mine", Text: "x", Metadata: map[string]any{"root": b.dir, "path": "mine", "kind": "text"}}})
	b.ok(err)
	want, encoded := b.ids(engine.Filter{}), b.enc.texts
	move := func(to string) (from string) {
		t.Helper()
		from, b.dir = b.dir, filepath.Join(filepath.Dir(b.dir), filepath.FromSlash(to))
		b.ok(os.MkdirAll(filepath.Dir(b.dir), 0o755))
		b.ok(os.Rename(from, b.dir))
		return from
	}
	taken := func(r folder.Report, from string) {
		t.Helper()
		n, err := b.e.Count(t.Context(), filter.Eq("root", b.dir))
		b.ok(err)
		left, err := folder.Recorded(t.Context(), b.e, from)
		b.ok(err)
		if !slices.Equal(r.Moved, []string{from}) || n != 32 || left != 1 || b.ids(engine.Filter{}) != want || b.enc.texts != encoded {
			t.Fatalf("moved from %q, %d documents of the folder, %d of the former one, %d texts encoded", r.Moved, n, left, b.enc.texts-encoded)
		}
		if got := b.lacks(); got != "warned w.md:2" {
			t.Errorf("the database lacks %s", got)
		}
	}
	first := b.dir
	move("other/place")
	taken(b.synced(folder.Options{}, "+0 ~0 -0 =32 read 0"), first)

	// The same folder by another path, and by its own again.
	own, link := b.dir, filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(own, link); err == nil { // Windows may refuse it
		for _, path := range []string{link, own} {
			from := b.dir
			b.dir = path
			r := b.synced(folder.Options{}, "+0 ~0 -0 =32 read 0")
			if n, err := folder.Recorded(t.Context(), b.e, path); err != nil || n != 32 || !slices.Equal(r.Moved, []string{from}) || b.enc.texts != encoded || b.ids(engine.Filter{}) != want {
				t.Errorf("by %s: %d documents, moved from %q, %v", path, n, r.Moved, err)
			}
		}
		b.ok(os.Remove(link))
	}

	// Copied without its times, as git does.
	from := move("copy")
	later := past.Add(time.Hour)
	b.ok(filepath.WalkDir(b.dir, func(p string, d os.DirEntry, err error) error {
		return errors.Join(err, os.Chtimes(p, later, later))
	}))
	r := b.synced(folder.Options{}, "+0 ~0 -0 =32 read 32")
	if len(r.Moved) != 1 || r.Moved[0] != from || b.enc.texts != encoded {
		t.Errorf("moved from %q, %d texts encoded", r.Moved, b.enc.texts-encoded)
	}

	// Interrupted in the middle, it is repeated.
	move("half")
	_, err = b.e.Patch(t.Context(), []engine.Patch{{ID: "r1", Metadata: map[string]any{"_file": map[string]any{"root": b.dir}}}})
	b.ok(err)
	if r, err := b.sync(folder.Options{}); err != nil || len(r.Moved) != 1 || len(r.Failed) > 0 || b.ids(engine.Filter{}) != want {
		t.Errorf("interrupted: moved from %q, failed %v, %v, %s", r.Moved, r.Failed, err, b.ids(engine.Filter{}))
	}

	// Other files, other ids, or a folder that is still there, are no move; a name that is told is.
	from = move("told")
	b.ok(os.MkdirAll(from, 0o755))
	if r, err := b.sync(folder.Options{}); err != nil || len(r.Moved) > 0 || len(r.Failed) == 0 {
		t.Errorf("the former folder is there: moved from %q, failed %d, %v", r.Moved, len(r.Failed), err)
	}
	b.ok(os.Remove(from))
	if r, err := b.sync(folder.Options{Prefix: "p"}); err != nil || len(r.Moved) > 0 || r.Added != 32 {
		t.Errorf("with a prefix: moved from %q, %d added, %v", r.Moved, r.Added, err)
	}
	if _, err := b.sync(folder.Options{Moved: from + "x", Prefix: "p"}); err != nil {
		t.Errorf("a name without documents, where some are recorded: %v", err)
	}
	empty := newBase(t)
	if _, err := empty.sync(folder.Options{Moved: "nowhere"}); !errors.Is(err, engine.ErrInvalid) || !strings.Contains(err.Error(), "nowhere") {
		t.Errorf("a name without documents: %v", err)
	}
	b.ok(os.MkdirAll(from, 0o755))
	if r, err := b.sync(folder.Options{Moved: from}); err != nil || len(r.Moved) != 1 || len(r.Failed) > 0 || r.Removed != 32 {
		t.Errorf("told: moved from %q, failed %v, %d removed, %v", r.Moved, r.Failed, r.Removed, err)
	}
	if got := b.ids(engine.Filter{}); got != want {
		t.Errorf("at the end %s", got)
	}

	// Of other files a third is there.
	b.ok(os.Remove(from))
	move("third")
	for i := range 22 {
		b.writeAt(b.dir, fmt.Sprintf("sub/%02d.txt", i), fmt.Sprint("other words ", i), past)
	}
	if r, err := b.sync(folder.Options{}); err != nil || len(r.Moved) > 0 {
		t.Errorf("other files: moved from %q, %v", r.Moved, err)
	}
}
