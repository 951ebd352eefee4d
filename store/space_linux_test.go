package store

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// smallDisk mounts a file system in memory.
func smallDisk(t *testing.T, options string) string {
	t.Helper()
	mount := t.TempDir()
	if err := unix.Mount("tmpfs", mount, "tmpfs", 0, options); err != nil {
		t.Skipf("NOT TESTED: a full disk; this needs root, to mount one: %v", err)
	}
	t.Cleanup(func() {
		if err := unix.Unmount(mount, unix.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	return mount
}

// fillDisk leaves no byte free. The returned function gives all back at once, also while a
// child of another test, which is just being started, holds the file open.
func fillDisk(t *testing.T, mount string) (empty func()) {
	t.Helper()
	path := filepath.Join(mount, "others")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for size := 1 << 20; size >= 4096; {
		if _, err := f.Write(make([]byte, size)); err != nil {
			size /= 2
		}
	}
	if free, err := freeBytes(mount); err != nil || free > 0 {
		t.Fatalf("%d bytes are free, %v", free, err)
	}
	return func() {
		if err := errors.Join(os.Truncate(path, 0), os.Remove(path)); err != nil {
			t.Fatal(err)
		}
	}
}

// TestOthersFillTheDisk takes the last byte while a database is open. Writes are
// refused, documents can be deleted, and Close writes what is in memory, all by
// the reserve. When that is gone as well Close says so and can be called again.
func TestOthersFillTheDisk(t *testing.T) {
	t.Parallel()
	mount := smallDisk(t, "size=256m")
	dir := filepath.Join(mount, "db")
	s := open(t, dir, small)
	var docs []*Document
	for i := range 300 {
		docs = append(docs, doc(fmt.Sprint("d", i), i))
		docs[i].Text = strings.Repeat(fmt.Sprint(i, " "), 2000) // 3 MB, in memory alone
	}
	add(t, s, docs...)
	if err := s.Writable(ctx); err != nil {
		t.Errorf("before the disk is full: %v", err)
	}
	empty := fillDisk(t, mount)
	if err := s.Writable(ctx); !errors.Is(err, ErrNoSpace) {
		t.Errorf("on a full disk: %v", err)
	}
	b := begin(t, s)
	_, err := b.Put(ctx, doc("more", 1))
	if err == nil {
		_, err = b.Commit(ctx)
	}
	if !errors.Is(err, ErrNoSpace) {
		t.Errorf("write: %v", err)
	}
	if err := b.Discard(); err != nil {
		t.Fatal(err)
	}
	b = begin(t, s)
	for i := range 100 {
		if _, ok, err := b.Delete(ctx, fmt.Sprint("d", i)); err != nil || !ok {
			t.Fatalf("delete: %t, %v", ok, err)
		}
	}
	if _, err := b.Commit(ctx); err != nil {
		t.Fatalf("delete: %v", err)
	}
	if err := s.Compact(ctx, s.Seq()); err != nil {
		t.Fatalf("compact: %v", err)
	}
	if err := s.Close(); err != nil {
		t.Fatalf("close: %v", err)
	}
	empty()

	s = open(t, dir, small)
	if s.Len() != 200 {
		t.Errorf("%d documents", s.Len())
	}
	add(t, s, docs[:50]...)
	if err := s.releaseReserve(); err != nil {
		t.Fatal(err)
	}
	empty = fillDisk(t, mount)
	for range 2 {
		if err := s.Close(); !errors.Is(err, ErrNoSpace) {
			t.Fatalf("close on a full disk: %v", err)
		}
	}
	if d := find(t, s, "d7"); d == nil {
		t.Error("not to be read after Close has failed")
	}
	empty()
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(dir, reserveName)); !os.IsNotExist(err) {
		t.Errorf("the reserve is left: %v", err)
	}
	r := open(t, dir, Options{ReadOnly: true, MemoryMiB: 64})
	if rep, err := r.Verify(ctx, nil); err != nil || rep.Documents != 250 {
		t.Errorf("%+v %v", rep, err)
	}
	r.Close() // before the disk is unmounted
}

// TestReserveFollowsTheDatabase: a new database reserves little, more while it grows, and less once its space is reclaimed.
func TestReserveFollowsTheDatabase(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir, small)
	reserve := func() int64 {
		t.Helper()
		info, err := os.Stat(filepath.Join(dir, reserveName))
		if err != nil {
			t.Fatal(err)
		}
		return info.Size()
	}
	fresh := reserve()
	for i := range 8 {
		d := doc(fmt.Sprint("d", i), i)
		d.Text = strings.Repeat(fmt.Sprint(i, " "), 200_000)
		add(t, s, d)
	}
	grown := reserve()
	if err := s.Reclaim(ctx, nil); err != nil {
		t.Fatal(err)
	}
	if last := reserve(); fresh > 512<<10 || grown < 4<<20 || last > grown/2 {
		t.Errorf("%d bytes when it is new, %d with 3 MB in memory, %d when that is in tables", fresh, grown, last)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}

// TestReadOnlyDisk opens a copy of a database without its lock on a disk that
// takes no writes.
func TestReadOnlyDisk(t *testing.T) {
	mount := smallDisk(t, "size=64m")
	dir := filepath.Join(mount, "db")
	made := t.TempDir()
	s := open(t, made, small)
	add(t, s, doc("a", 1))
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	copyDir(t, made, dir)
	if err := os.Remove(filepath.Join(dir, lockName)); err != nil {
		t.Fatal(err)
	}
	if err := unix.Mount("", mount, "", unix.MS_REMOUNT|unix.MS_RDONLY, ""); err != nil {
		t.Fatal(err)
	}
	r, err := Open(dir, Options{ReadOnly: true, MemoryMiB: 64})
	if err != nil {
		t.Fatal(err)
	}
	if d := find(t, r, "a"); d == nil {
		t.Error("not found")
	}
	if err := r.Close(); err != nil {
		t.Error(err)
	}
	if _, err := Open(dir, small); !errors.Is(err, unix.EROFS) {
		t.Errorf("for writing: %v", err)
	}
}

// TestDiskFull fills a small file system: writes end in ErrNoSpace, never in a
// fault, and go on when there is room again; nothing acknowledged is lost.
func TestDiskFull(t *testing.T) {
	t.Parallel()
	mount := smallDisk(t, "size=192m")
	ballast := filepath.Join(mount, "ballast")
	if err := os.WriteFile(ballast, make([]byte, 40<<20), 0o644); err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(mount, "db")
	s := open(t, dir, small)
	n := 0
	fill := func() error {
		for ; ; n++ {
			b, err := s.Begin(ctx)
			if err != nil {
				return err
			}
			d := doc(fmt.Sprint(n), n)
			d.Text = strings.Repeat(fmt.Sprint(n, " "), 100_000)
			_, err = b.Put(ctx, d)
			if err == nil {
				_, err = b.Commit(ctx)
			}
			if err != nil {
				return errors.Join(err, b.Discard())
			}
		}
	}
	if err := fill(); !errors.Is(err, ErrNoSpace) {
		t.Fatalf("after %d documents: %v", n, err)
	}
	if n == 0 {
		t.Fatal("nothing could be written")
	}
	full := n
	if s.Len() != n {
		t.Errorf("%d documents, %d acknowledged", s.Len(), n)
	}
	if err := s.SetManifest(ctx, func(m *Manifest) error { return nil }); !errors.Is(err, ErrNoSpace) {
		t.Errorf("set manifest: %v", err)
	}
	if err := os.Remove(ballast); err != nil {
		t.Fatal(err)
	}
	if err := fill(); !errors.Is(err, ErrNoSpace) || n == full {
		t.Errorf("after making room, %d documents more: %v", n-full, err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	t.Logf("%d documents, then %d", full, n-full)
	r := open(t, dir, Options{ReadOnly: true, MemoryMiB: 64})
	if rep, err := r.Verify(ctx, nil); err != nil || rep.Documents != n {
		t.Errorf("verify: %+v %v, want %d documents", rep, err, n)
	}
	r.Close()
	// A full disk is no damage.
	fillDisk(t, mount)
	if _, err := Open(dir, small); !errors.Is(err, ErrNoSpace) || !strings.Contains(err.Error(), "read-only") {
		t.Errorf("open on a full disk: %v", err)
	}
	r = open(t, dir, Options{ReadOnly: true, MemoryMiB: 64})
	defer r.Close()
	if d, err := r.Get(ctx, 1); err != nil || d.Text == "" || r.Len() != n {
		t.Errorf("read-only on a full disk: %v, %d documents, want %d", err, r.Len(), n)
	}
}

// TestOpenAfterKillOnFullDisk: a database of 9 MB whose process was killed opens for writing while 20 MiB are free, the
// rest of the disk is others'. Then documents can be removed, and it can be closed.
func TestOpenAfterKillOnFullDisk(t *testing.T) {
	t.Parallel()
	for name, closed := range map[string]int{"in the log": 0, "in tables": 8, "half in tables": 4} {
		t.Run(name, func(t *testing.T) {
			from := t.TempDir()
			s := open(t, from, Options{})
			for i := range 9 {
				if i == closed && i > 0 {
					if err := s.Close(); err != nil {
						t.Fatal(err)
					}
					s = open(t, from, Options{})
				}
				var docs []*Document
				for j := range 100 {
					d := doc(fmt.Sprint(i, " ", j), i)
					d.Text, d.Rows = strings.Repeat(fmt.Sprint(i, " ", j, " "), 2000), d.Rows[:1]
					d.Rows[0].End = len(d.Text)
					docs = append(docs, d)
				}
				add(t, s, docs...)
			}
			if n := s.held(); n < 8<<20 || n > 10<<20 {
				t.Fatalf("%d bytes", n)
			}
			mount := smallDisk(t, "size=256m")
			dir := filepath.Join(mount, "db")
			copyDir(t, from, dir) // as a kill leaves it
			const free = 20 << 20
			has, err := freeBytes(mount)
			if err != nil {
				t.Fatal(err)
			}
			f, err := os.Create(filepath.Join(mount, "others"))
			if err == nil {
				err = errors.Join(allocate(f, int64(has-free)), f.Close())
			}
			if err != nil {
				t.Fatal(err)
			}
			s = open(t, dir, Options{})
			if s.Len() != 900 {
				t.Errorf("%d documents", s.Len())
			}
			b := begin(t, s)
			for j := range 100 {
				if _, ok, err := b.Delete(ctx, fmt.Sprint("3 ", j)); err != nil || !ok {
					t.Fatalf("delete: %t, %v", ok, err)
				}
			}
			if _, err := b.Commit(ctx); err != nil {
				t.Fatal(err)
			}
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			s = open(t, dir, Options{})
			if s.Len() != 800 || find(t, s, "8 99") == nil {
				t.Errorf("%d documents after it was closed", s.Len())
			}
			if err := s.Close(); err != nil { // before the disk is unmounted
				t.Fatal(err)
			}
		})
	}
}
