package store

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/lexsem/lexsem/internal/atomicfile"
)

func TestSnapshotRoundTrip(t *testing.T) {
	dir := t.TempDir()
	h := SnapshotHeader{Kind: "hnsw", Version: 3, Seq: 77, UUID: newUUID()}
	r := rand.New(rand.NewPCG(1, 1))
	for _, n := range []int{0, 1, 4095, snapshotBlock - 1, snapshotBlock, snapshotBlock + 1, 3*snapshotBlock + 17} {
		data := make([]byte, n)
		for i := range data {
			data[i] = byte(r.Uint32())
		}
		path := filepath.Join(dir, fmt.Sprint(n))
		err := WriteSnapshot(path, h, func(w io.Writer) error {
			for rest := data; len(rest) > 0; {
				k := min(len(rest), 1+r.IntN(300_000))
				if _, err := w.Write(rest[:k]); err != nil {
					return err
				}
				rest = rest[k:]
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		s, err := OpenSnapshot(path, "hnsw", 3, h.UUID)
		if err != nil {
			t.Fatal(err)
		}
		if s.SnapshotHeader != h || !bytes.Equal(s.Data, data) {
			t.Errorf("%d bytes: %+v, %d bytes", n, s.SnapshotHeader, len(s.Data))
		}
		if err := errors.Join(s.Close(), s.Close()); err != nil {
			t.Error(err)
		}
	}
	path := filepath.Join(dir, "1")
	for name, c := range map[string]struct {
		path, kind string
		version    uint32
		uuid       UUID
		want       error
	}{
		"absent":   {filepath.Join(dir, "absent"), "hnsw", 3, h.UUID, fs.ErrNotExist},
		"kind":     {path, "flat", 3, h.UUID, ErrSnapshotForeign},
		"database": {path, "hnsw", 3, newUUID(), ErrSnapshotForeign},
		"version":  {path, "hnsw", 4, h.UUID, ErrSnapshotStale},
	} {
		if _, err := OpenSnapshot(c.path, c.kind, c.version, c.uuid); !errors.Is(err, c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := WriteSnapshot(path, SnapshotHeader{}, nil); err == nil {
		t.Error("a snapshot without kind was written")
	}
	// A failed write leaves the old file and no other.
	boom := errors.New("boom")
	if err := WriteSnapshot(path, h, func(io.Writer) error { return boom }); !errors.Is(err, boom) {
		t.Errorf("failing writer: %v", err)
	}
	if s, err := OpenSnapshot(path, "hnsw", 3, h.UUID); err != nil || len(s.Data) != 1 {
		t.Errorf("after a failed write: %v", err)
	} else {
		s.Close()
	}
	if left, err := filepath.Glob(filepath.Join(dir, "*"+atomicfile.Mark+"*")); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v %v", left, err)
	}
}

// TestSnapshotDamage flips a bit of every byte that is not data and of some
// that are, and cuts and lengthens the file.
func TestSnapshotDamage(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s")
	uuid := newUUID()
	err := WriteSnapshot(path, SnapshotHeader{Kind: "flat", Version: 1, Seq: 5, UUID: uuid}, func(w io.Writer) error {
		_, err := w.Write(bytes.Repeat([]byte("lexsem"), snapshotBlock/5))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	file, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	r := rand.New(rand.NewPCG(2, 2))
	check := func(what string, b []byte) {
		t.Helper()
		if err := new(Snapshot).decode(b); !errors.Is(err, ErrSnapshotDamaged) {
			t.Errorf("%s: %v", what, err)
		}
	}
	// Every byte of the header and behind the data; the data at random.
	var at []int
	for i := range snapshotPage {
		at = append(at, i)
	}
	for i := len(file) - 64; i < len(file); i++ {
		at = append(at, i)
	}
	header := append([]byte(nil), file...)
	for _, i := range at {
		bit := byte(1) << r.IntN(8)
		header[i] ^= bit
		check(fmt.Sprintf("byte %d", i), header)
		header[i] ^= bit
	}
	for range 40 {
		i, bit := snapshotPage+r.IntN(len(file)-snapshotPage), byte(1)<<r.IntN(8)
		header[i] ^= bit
		check(fmt.Sprintf("byte %d", i), header)
		header[i] ^= bit
		n := r.IntN(len(file))
		check(fmt.Sprintf("cut to %d", n), file[:n])
	}
	check("lengthened", append(append([]byte(nil), file...), 0))
	if err := os.WriteFile(path, file[:5000], 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := OpenSnapshot(path, "flat", 1, uuid); !errors.Is(err, ErrSnapshotDamaged) {
		t.Errorf("cut file: %v", err)
	}
	if err := os.WriteFile(path, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := OpenSnapshot(path, "flat", 1, uuid); !errors.Is(err, ErrSnapshotDamaged) {
		t.Errorf("empty file: %v", err)
	}
}

func TestTemporariesAreRemoved(t *testing.T) {
	dir := t.TempDir()
	open(t, dir, small).Close()
	bridges := filepath.Join(dir, "bridges")
	if err := os.Mkdir(bridges, 0o755); err != nil {
		t.Fatal(err)
	}
	kept := filepath.Join(bridges, "slr")
	if err := WriteFileAtomic(kept, []byte("one")); err != nil {
		t.Fatal(err)
	}
	if err := WriteFileAtomic(kept, []byte("two")); err != nil {
		t.Fatal(err)
	}
	// A process that dies before the rename leaves the old file and a temporary.
	died := errors.New("died")
	failpoint = func(name string) {
		if name == "temporary" {
			panic(died)
		}
	}
	func() {
		defer func() {
			failpoint = nil
			if r := recover(); r != died {
				t.Errorf("recovered %v", r)
			}
		}()
		WriteFileAtomic(kept, []byte("three"))
	}()
	if left, _ := filepath.Glob(kept + "*"); len(left) != 2 {
		t.Fatalf("files %v", left)
	}
	open(t, dir, small).Close()
	left, _ := filepath.Glob(kept + "*")
	if b, err := os.ReadFile(kept); len(left) != 1 || err != nil || string(b) != "two" {
		t.Errorf("files %v, contents %q, %v", left, b, err)
	}
}
