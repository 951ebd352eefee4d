package store

import (
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/dgraph-io/badger/v4"
)

// contents reads all files below a folder; folders end in a slash.
func contents(t *testing.T, dir string) map[string]string {
	t.Helper()
	out := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			out[path+"/"] = ""
			return nil
		}
		b, err := os.ReadFile(path)
		out[path] = string(b)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o644)); err != nil {
		t.Fatal(err)
	}
}

// TestForeignFolders opens folders of other programs: they are refused and stay
// as they are, to the byte.
func TestForeignFolders(t *testing.T) {
	for name, make := range map[string]func(t *testing.T, dir string){
		"another database of Badger": func(t *testing.T, dir string) {
			o := badger.DefaultOptions(filepath.Join(dir, recordsName)).WithLogger(nil).WithValueThreshold(16)
			db, err := badger.Open(o)
			if err != nil {
				t.Fatal(err)
			}
			err = db.Update(func(txn *badger.Txn) error { return txn.Set([]byte("k"), []byte(strings.Repeat("v", 100))) })
			if err := errors.Join(err, db.Close()); err != nil {
				t.Fatal(err)
			}
		},
		"a repository": func(t *testing.T, dir string) {
			write(t, filepath.Join(dir, "HEAD"), "ref: refs/heads/main\n")
			write(t, filepath.Join(dir, "derived", "hnsw.snap"), "x")
		},
		"bridges and temporaries": func(t *testing.T, dir string) {
			write(t, filepath.Join(dir, "bridges", "golden.gate.bridge"), "x")
			write(t, filepath.Join(dir, "a.lexsem-tmp-1"), "x")
			write(t, filepath.Join(dir, "fit", "notes"), "x")
		},
		"a file of the marker's name": func(t *testing.T, dir string) { write(t, filepath.Join(dir, markerName), "my notes") },
		"a file of zeros": func(t *testing.T, dir string) {
			write(t, filepath.Join(dir, markerName), strings.Repeat("\x00", len(markerText)+1))
		},
		"a folder of that name": func(t *testing.T, dir string) { write(t, filepath.Join(dir, markerName, "x"), "") },
		"the lock of another":   func(t *testing.T, dir string) { write(t, filepath.Join(dir, lockName), "host:12") },
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			make(t, dir)
			before := contents(t, dir)
			for _, o := range []Options{small, {ReadOnly: true}} {
				_, err := Open(dir, o)
				var foreign *foreignError
				if !errors.Is(err, ErrForeign) || !errors.As(err, &foreign) || foreign.Dir != dir {
					t.Errorf("%+v: %v", o, err)
				}
			}
			if _, err := Folder(dir).Exists(); !errors.Is(err, ErrForeign) {
				t.Errorf("exists: %v", err)
			}
			if after := contents(t, dir); !reflect.DeepEqual(before, after) {
				t.Errorf("was %q, is %q", before, after)
			}
		})
	}
}

// TestExistsBesideOthers: a database that others make and remove meanwhile is there or not, and
// never a folder of other files.
func TestExistsBesideOthers(t *testing.T) {
	t.Parallel()
	parent := t.TempDir()
	dir, away := filepath.Join(parent, "db"), filepath.Join(parent, "away")
	stop := make(chan struct{})
	var others sync.WaitGroup
	others.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
			}
			err := claim(dir)
			for _, name := range []string{lockName, headName, "000001.vlog"} {
				err = errors.Join(err, os.WriteFile(filepath.Join(dir, name), []byte(headMagic), 0o644))
			}
			if err = errors.Join(err, os.Rename(dir, away), os.RemoveAll(away)); err != nil {
				t.Error(err)
				return
			}
		}
	})
	defer others.Wait()
	defer close(stop)
	found := map[bool]int{}
	for n := 0; n < 20_000 || found[true] == 0 || found[false] == 0; n++ {
		there, err := Folder(dir).Exists()
		if err != nil {
			t.Fatal(err)
		}
		found[there]++
	}
}

// TestReadingMakesNothing opens folders without a database for reading.
func TestReadingMakesNothing(t *testing.T) {
	dir := t.TempDir()
	for _, d := range []string{dir, filepath.Join(dir, "nowhere")} {
		if _, err := Open(d, Options{ReadOnly: true}); !errors.Is(err, ErrNoDatabase) {
			t.Errorf("%v", err)
		}
	}
	if after := contents(t, dir); len(after) != 1 {
		t.Errorf("%v", after)
	}
}

// TestFirstMoments opens what processes leave that die while they make a
// database, this version's and earlier ones'.
func TestFirstMoments(t *testing.T) {
	t.Parallel()
	for name, files := range map[string]map[string]string{
		"nothing":         {},
		"lost and found":  {"lost+found/x": ""},
		"collections":     {"collections/notes/x": ""},
		"empty marker":    {markerName: ""},
		"half a marker":   {markerName: markerText[:9]},
		"marker":          {markerName: markerText},
		"marker of zeros": {markerName: strings.Repeat("\x00", len(markerText))},
		"marker and lock": {markerName: markerText, lockName: "123\n"},
		"lock alone":      {lockName: "123\n"},
		"records":         {markerName: markerText, lockName: "", recordsName + "/LOCK": "1\n"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			for f, text := range files {
				write(t, filepath.Join(dir, f), text)
			}
			if _, err := Open(dir, Options{ReadOnly: true}); !errors.Is(err, ErrNoDatabase) && !errors.Is(err, ErrUnclean) {
				t.Errorf("reading: %v", err)
			}
			for range 2 {
				if err := open(t, dir, small).Close(); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
	for _, point := range []string{"folder", "marker"} {
		dir := filepath.Join(t.TempDir(), "db")
		p := start(t, "open", dir, point, 1)
		if _, killed := p.wait(t, 0); !killed && runtime.GOOS != "windows" {
			t.Fatalf("%s was not reached", point)
		}
		if err := open(t, dir, small).Close(); err != nil {
			t.Errorf("killed at %s: %v", point, err)
		}
	}
}

// TestMarker: a database of a version without markers gets one; one that lost its
// HEAD and has none is refused until it is given one by hand.
func TestMarker(t *testing.T) {
	dir := format1(t)
	head := filepath.Join(dir, headName)
	saved, err := os.ReadFile(head)
	if err != nil {
		t.Fatal(err)
	}
	marker := filepath.Join(dir, markerName)
	if err := os.Remove(head); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(dir, small); !errors.Is(err, ErrForeign) || !strings.Contains(err.Error(), "empty file "+markerName) {
		t.Fatalf("without HEAD: %v", err)
	}
	write(t, marker, "")
	if err := open(t, dir, small).Close(); err != nil {
		t.Fatal(err)
	}

	dir = format1(t)
	marker = filepath.Join(dir, markerName)
	copy(saved, "damaged!") // the other slot is intact
	write(t, filepath.Join(dir, headName), string(saved))
	for range 2 {
		if err := open(t, dir, small).Close(); err != nil {
			t.Fatal(err)
		}
	}
	if b, err := os.ReadFile(marker); err != nil || string(b) != markerText {
		t.Errorf("marker %q, %v", b, err)
	}
}

// TestOnlyOursIsRemoved puts files of others into a database's folders.
func TestOnlyOursIsRemoved(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir, small)
	add(t, s, doc("a", 1))
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	kept := map[string]string{
		"notes.lexsem-tmp-old":         "x",
		"mine/a.lexsem-tmp-1":          "x",
		"records/notes.mem.txt":        "x",
		"records/KEYREGISTRY":          strings.Repeat("a registry that holds keys", 3),
		"derived/x.lexsem-tmp-1.saved": "x",
	}
	for f, text := range kept {
		write(t, filepath.Join(dir, f), text)
	}
	gone := filepath.Join(dir, "derived", "words.lexsem-tmp-123")
	write(t, gone, "x")
	s, err := Open(dir, small)
	if err == nil {
		t.Error("opened with a foreign registry of keys")
		s.Close()
	}
	for f, text := range kept {
		if b, err := os.ReadFile(filepath.Join(dir, f)); err != nil || string(b) != text {
			t.Errorf("%s: %q %v", f, b, err)
		}
	}
	if _, err := os.Stat(gone); !os.IsNotExist(err) {
		t.Errorf("%s is there: %v", gone, err)
	}
}

// TestValueLogsAreKept: a value log with entries is not this package's.
func TestValueLogsAreKept(t *testing.T) {
	other := filepath.Join(t.TempDir(), "other")
	db, err := badger.Open(badger.DefaultOptions(other).WithLogger(nil).WithValueThreshold(16))
	if err != nil {
		t.Fatal(err)
	}
	err = db.Update(func(txn *badger.Txn) error { return txn.Set([]byte("k"), []byte(strings.Repeat("v", 100))) })
	if err := errors.Join(err, db.Close()); err != nil {
		t.Fatal(err)
	}
	log := filepath.Join(other, "000001.vlog")
	if empty, err := holdsNoValues(log); err != nil || empty {
		t.Errorf("a value: %v %v", empty, err)
	}
	if err := tidy(other, small.logger()); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(log); err != nil {
		t.Error(err)
	}
}
