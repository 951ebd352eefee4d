package folder_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/lexsem/lexsem/engine"
	"github.com/lexsem/lexsem/ingest/folder"
)

// TestUnmounted: a disk below the root that is not mounted any more, so that its folder is empty or gone, keeps its documents, is
// a failure as long as that lasts, and comes back; --prune-all removes them. A folder of the root's own disk that empties loses them.
func TestUnmounted(t *testing.T) {
	var mounted atomic.Bool
	t.Cleanup(folder.SetDisk(func(i fs.FileInfo) uint64 {
		if mounted.Load() && slices.Contains([]string{"nas", "deep"}, i.Name()) {
			return 7
		}
		return 1
	}))
	for _, left := range []string{"empty", "gone"} {
		for _, at := range []string{"nas", "in/nas"} {
			t.Run(left+" "+at, func(t *testing.T) {
				mounted.Store(true)
				b := newBase(t)
				nas, away := filepath.Join(b.dir, filepath.FromSlash(at)), filepath.Join(filepath.Dir(b.dir), "away")
				all := map[string]string{"a.txt": "apples", "own/c.txt": "cats", at + "/b.txt": "bees", at + "/deep/d.txt": "dogs"}
				b.write(all)
				b.synced(folder.Options{}, "+4 ~0 -0 =0 read 4")
				ids, rest := b.ids(engine.Filter{}), "a.txt "+at+"/b.txt "+at+"/deep/d.txt"
				unmount := func() {
					mounted.Store(false)
					b.ok(os.Rename(nas, away))
					if left == "empty" {
						b.ok(os.Mkdir(nas, 0o755))
					}
				}
				mount := func() {
					b.ok(os.RemoveAll(nas))
					b.ok(os.Rename(away, nas))
					mounted.Store(true)
				}
				unmount()
				for _, o := range []folder.Options{{}, {MaxBytes: 1 << 20}, {}} { // other settings read all files again
					r, err := b.sync(o)
					b.ok(err)
					if len(r.Failed) != 1 || r.Failed[0].Path != at || r.Removed != 0 || b.lacks() != "stale "+at+":0" {
						t.Fatalf("%+v; %s", r, b.lacks())
					}
				}
				b.holds(ids)
				mount()
				if r := b.synced(folder.Options{}, "+0 ~0 -0 =4 read 2"); b.lacks() != "" {
					t.Fatalf("%+v; %s", r, b.lacks())
				}
				for _, poll := range []time.Duration{0, 50 * time.Millisecond} {
					w, f := b.watched(folder.Options{Poll: poll})
					w.until(ids)
					unmount()
					b.write(map[string]string{"e.txt": "eels"})
					f.CatchUp(t.Context())
					w.until("a.txt e.txt " + ids[len("a.txt "):])
					mount()
					b.remove("e.txt")
					w.until(ids)
				}
				b.ok(os.RemoveAll(filepath.Join(b.dir, "own", "c.txt")))
				unmount()
				if r, err := b.sync(folder.Options{}); err != nil || r.Removed > 1 || b.ids(engine.Filter{}) != rest { // a Watch may have removed it
					t.Fatalf("%+v, %v: %s", r, err, b.ids(engine.Filter{}))
				}
				b.synced(folder.Options{PruneAll: true}, "+0 ~0 -2 =1 read 0")
				b.synced(folder.Options{}, "+0 ~0 -0 =1 read 0")
			})
		}
	}
}
