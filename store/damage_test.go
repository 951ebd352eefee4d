package store

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"testing"

	"github.com/lexsem/lexsem/internal/testkit/trial"
)

// victims are the databases that TestDamage damages. Their writers were killed, so
// that logs are there to be replayed; the first was then closed cleanly.
var victims = []struct {
	name, point  string // where the writer was killed
	batch        int    // in which batch
	acknowledged uint64
}{
	{"clean", "after-commit", 40, 40},
	{"killed", "staged", 42, 41},               // with a part of batch 42, which belongs to nothing
	{"unacknowledged", "after-commit", 40, 39}, // damage that ends batch 40 is a torn tail
}

// damaged makes the victims and returns their folders.
func damaged(t *testing.T) map[string]string {
	t.Helper()
	dirs := map[string]string{}
	for _, v := range victims {
		dirs[v.name] = t.TempDir()
		p := start(t, "write", dirs[v.name], v.point, v.batch)
		if _, killed := p.wait(t, 0); !killed {
			if runtime.GOOS == "windows" { // where a killed process counts as one that exited
				t.Skip("NOT TESTED: damage to the files of a killed writer; run on a Unix")
			}
			t.Fatal("the writer was not killed")
		}
	}
	if err := open(t, dirs["clean"], small).Close(); err != nil {
		t.Fatal(err)
	}
	return dirs
}

func copyDir(t *testing.T, from, to string) []string {
	t.Helper()
	var files []string
	err := filepath.WalkDir(from, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, _ := filepath.Rel(from, path)
		if d.IsDir() {
			return os.MkdirAll(filepath.Join(to, rel), 0o755)
		}
		if badgerLocks && rel == filepath.Join(recordsName, lockName) { // which nobody can read
			return nil
		}
		files = append(files, rel)
		return copyFile(path, filepath.Join(to, rel))
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// copyFile copies a file and keeps its holes: the logs are mostly zeros behind their
// entries.
func copyFile(from, to string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.Create(to)
	if err != nil {
		return err
	}
	var zeros [4096]byte
	buf, size := make([]byte, 64*len(zeros)), int64(0)
	for {
		n, err := io.ReadFull(in, buf)
		for off := 0; off < n; off += len(zeros) {
			page := buf[off:min(n, off+len(zeros))]
			if !bytes.Equal(page, zeros[:len(page)]) {
				if _, err := out.WriteAt(page, size+int64(off)); err != nil {
					return errors.Join(err, out.Close())
				}
			}
		}
		size += int64(n)
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			return errors.Join(out.Truncate(size), out.Close())
		} else if err != nil {
			return errors.Join(err, out.Close())
		}
	}
}

// used is the length of a file without the zeros at its end.
func used(t *testing.T, path string) int {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return len(bytes.TrimRight(b, "\x00"))
}

// TestDamage flips bits in, truncates and removes every kind of file. Opening
// and reading then gives a typed error or exactly the right records. The
// opening happens in a child, because Badger may end its process.
func TestDamage(t *testing.T) {
	t.Parallel()
	rounds, seed := trial.Rounds(t, 12, 10_000), trial.Seed(t)
	dirs := damaged(t)
	want := map[string]map[string]string{}
	for _, v := range victims {
		c := filepath.Join(t.TempDir(), "c")
		copyDir(t, dirs[v.name], c)
		s := open(t, c, small)
		checkWritten(t, s, v.acknowledged)
		want[v.name] = dump(t, s)
		s.Close()
	}
	outcome := map[string]int{}
	for i := range rounds {
		round := int((seed + uint64(i)) & math.MaxInt)
		r := rand.New(rand.NewPCG(uint64(round), 0))
		victim := victims[round%len(victims)]
		name := victim.name
		dir := filepath.Join(t.TempDir(), "d")
		files := copyDir(t, dirs[name], dir)
		var kinds []string
		for _, f := range files {
			kinds = append(kinds, kindOf(f))
		}
		slices.Sort(kinds)
		kinds = slices.Compact(kinds)
		kind := kinds[round/len(victims)%len(kinds)]
		files = slices.DeleteFunc(files, func(f string) bool { return kindOf(f) != kind })
		file := files[r.IntN(len(files))]
		path := filepath.Join(dir, file)
		n := used(t, path)
		from := 0
		if r.IntN(4) == 0 { // where a log's last batches are
			from = max(0, n-8<<10)
		}
		what := "removed"
		switch k := r.IntN(8); {
		case k == 0:
			if err := os.Remove(path); err != nil {
				t.Fatal(err)
			}
		case k < 3 && n > 0:
			at := from + r.IntN(n-from)
			what = fmt.Sprintf("truncated to %d of %d", at, n)
			if err := os.Truncate(path, int64(at)); err != nil {
				t.Fatal(err)
			}
		case n > 0:
			at, bit := from+r.IntN(n-from), r.IntN(8)
			what = fmt.Sprintf("byte %d of %d, bit %d flipped", at, n, bit)
			f, err := os.OpenFile(path, os.O_RDWR, 0)
			if err != nil {
				t.Fatal(err)
			}
			b := []byte{0}
			_, err = f.ReadAt(b, int64(at))
			b[0] ^= 1 << bit
			_, werr := f.WriteAt(b, int64(at))
			if err := errors.Join(err, werr, f.Close()); err != nil {
				t.Fatal(err)
			}
		}
		label := fmt.Sprintf("round %d: %s, %s %s", round, name, file, what)
		for again := range 2 { // the second opening must not accept what the first refused
			s, err := Open(dir, small)
			if err != nil {
				if !errors.Is(err, ErrCorrupt) && !errors.Is(err, ErrVersion) {
					t.Errorf("%s (opening %d): untyped error %v", label, again, err)
				}
				outcome[kind+" refused"]++
				continue
			}
			outcome[kind+" opened"]++
			if err := s.tables.checkAll(s.stopped); err != nil { // it opened without having read all
				if !errors.Is(err, ErrCorrupt) {
					t.Errorf("%s: untyped error %v", label, err)
				}
				if _, verr := s.Verify(ctx, nil); !errors.Is(verr, ErrCorrupt) {
					t.Errorf("%s: verify: %v, the tables: %v", label, verr, err)
				}
				outcome[kind+" met later"]++
			} else if got := dump(t, s); s.Seq() == victim.acknowledged && name == "unacknowledged" {
				outcome["without the batch that was not acknowledged"]++
				checkContents(t, s)
			} else if !reflect.DeepEqual(got, want[name]) {
				t.Errorf("%s (opening %d): opened with %d records, want %d", label, again, len(got), len(want[name]))
			} else if _, err := s.Verify(ctx, nil); err != nil {
				t.Errorf("%s: verify: %v", label, err)
			}
			if err := s.Close(); err != nil {
				t.Errorf("%s: close: %v", label, err)
			}
		}
		os.RemoveAll(dir)
	}
	t.Log(outcome)
}

func kindOf(file string) string {
	if ext := filepath.Ext(file); ext != "" {
		return ext
	}
	return filepath.Base(file)
}
