package collections_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/lexsem/lexsem/internal/testkit/trial"
	"github.com/lexsem/lexsem/store"
)

const envMany = "LEXSEM_COLLECTIONS_MANY" // how many a child makes

// TestMany makes, fills, searches and backs up many collections of ten documents in a process that has 200 file
// descriptors, and says what that takes.
func TestMany(t *testing.T) {
	if os.Getenv(envMany) == "" {
		n := 20
		if trial.Long() {
			n = 1000
		}
		cmd := exec.Command(os.Args[0], "-test.run=^TestMany$", "-test.v", "-test.timeout=30m")
		cmd.Env = append(os.Environ(), fmt.Sprintf("%s=%d", envMany, n))
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		t.Logf("%s", regexp.MustCompile(`\d+ collections: .*`).Find(out))
		return
	}
	n, err := strconv.Atoi(os.Getenv(envMany))
	if err != nil {
		t.Fatal(err)
	}
	limit := func(cur uint64) {
		t.Helper()
		if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: cur, Max: 200}); err != nil {
			t.Fatal(err)
		}
	}
	limit(200)
	dir, backups := t.TempDir(), t.TempDir()
	s := open(t, dir, small)

	limit(20) // too few to open one: the creation fails, and nothing is left
	if err := s.Create(t.Context(), "few", ""); !errors.Is(err, unix.EMFILE) {
		t.Errorf("with 20 descriptors: %v", err)
	}
	limit(200)
	if entries, err := os.ReadDir(dir); err != nil || len(entries) > 0 {
		t.Errorf("left: %v, %v", entries, err)
	}

	files, begin := 0, time.Now()
	look := func() {
		t.Helper()
		open, err := os.ReadDir("/proc/self/fd")
		if err != nil {
			t.Fatal(err)
		}
		files = max(files, len(open))
	}
	name := func(i int) string { return fmt.Sprintf("tenant-%d", i) }
	for i := range n {
		create(t, s, name(i))
		add(t, get(t, s, name(i)), 10)
		look()
	}
	made := time.Since(begin)
	for i := range n {
		db := get(t, s, name(i))
		holds(t, db, 10)
		if _, err := db.Backup(t.Context(), filepath.Join(backups, name(i))); err != nil {
			t.Fatal(err)
		}
		look()
	}
	all, most := time.Since(begin), peakMiB(t)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	bytes := int64(0)
	for i := range n {
		parts, err := store.Folder(filepath.Join(dir, name(i))).DiskSpace()
		if err != nil {
			t.Fatal(err)
		}
		bytes += parts.Sum()
	}
	t.Logf("%d collections: %.0f KiB of disk each, %d MiB resident at most, %d descriptors at most, made in %v, used and backed up in %v",
		n, float64(bytes)/float64(n)/1024, most, files, made.Round(time.Millisecond), (all - made).Round(time.Millisecond))
	if each := bytes / int64(n); each >= 1<<20 {
		t.Errorf("%d bytes of disk each", each)
	}
	if most > 500 {
		t.Errorf("%d MiB resident", most)
	}
}

// peakMiB is the most memory that this process had.
func peakMiB(t *testing.T) int {
	t.Helper()
	b, err := os.ReadFile("/proc/self/status")
	if err != nil {
		t.Fatal(err)
	}
	m := regexp.MustCompile(`VmHWM:\s+(\d+) kB`).FindSubmatch(b)
	if m == nil {
		t.Fatalf("no VmHWM in %s", b)
	}
	n, err := strconv.Atoi(string(m[1]))
	if err != nil {
		t.Fatal(err)
	}
	return n >> 10
}
