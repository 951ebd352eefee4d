package store

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"testing"
)

// restoreChild restores the file that lies beside the folder.
func restoreChild(dir string) error {
	f, err := os.Open(dir + ".backup")
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = Restore(ctx, dir, f, RestoreOptions{})
	return err
}

// TestKillRestore kills a Restore at each named moment: then there is nothing, and
// another Restore or a new database takes its place, or the whole database.
func TestKillRestore(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("a child cannot kill itself at a point on Windows")
	}
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "db")
	s := open(t, t.TempDir(), small)
	setBridge(t, s, "slr", "a bridge of some bytes")
	for i := range 3 {
		add(t, s, doc(fmt.Sprint(i), i), doc("shared", i))
		backedUp(t, s, dir+".backup")
	}
	want := held(t, s)
	for i, point := range []string{"folder", "marker", "restore-part", "restore-finished", "restore-built", "restore-bridge", "restore-shown"} {
		if _, killed := start(t, "restore", dir, point, 1).wait(t, 0); !killed {
			t.Fatalf("%s: the child ended by itself", point)
		}
		there, err := Folder(dir).Exists()
		if err != nil || there != (point == "restore-shown") {
			t.Fatalf("%s: there is a database: %v, %v", point, there, err)
		}
		if !there {
			if _, err := Open(dir, Options{ReadOnly: true}); !errors.Is(err, ErrNoDatabase) {
				t.Fatalf("%s: %v", point, err)
			}
			if i%2 == 0 { // else a new database is made there
				if err := restoreChild(dir); err != nil {
					t.Fatalf("%s: %v", point, err)
				}
			}
		}
		if there {
			r := open(t, dir, Options{ReadOnly: true})
			if got := held(t, r); !reflect.DeepEqual(got, want) {
				t.Fatalf("%s: %d documents, read alone", point, len(got))
			}
			if err := r.Close(); err != nil {
				t.Fatal(err)
			}
		}
		o := open(t, dir, small)
		if got := held(t, o); (there || i%2 == 0) != reflect.DeepEqual(got, want) {
			t.Fatalf("%s: %d documents", point, len(got))
		}
		if _, err := o.Verify(ctx, nil); err != nil {
			t.Fatalf("%s: %v", point, err)
		}
		if err := o.Close(); err != nil {
			t.Fatal(err)
		}
		if _, err := os.Stat(filepath.Join(dir, restoreName)); !errors.Is(err, os.ErrNotExist) {
			t.Fatalf("%s: the unfinished folder is left: %v", point, err)
		}
		if err := os.RemoveAll(dir); err != nil {
			t.Fatal(err)
		}
	}
}
