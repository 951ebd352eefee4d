package store

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/lexsem/lexsem/internal/powercut"
	"github.com/lexsem/lexsem/internal/trial"
)

const envMount = "LEXSEM_STORE_MOUNT" // of the disk that sees a child's writes

func init() {
	if mount := os.Getenv(envMount); mount != "" {
		told = func(_, what string, seq uint64) { powercut.Mark(mount, fmt.Sprint(what, " ", seq)) }
	}
}

// cutDisk is what children have done to a disk: two that were killed while they
// wrote, one that recovered and closed, and one more.
func cutDisk(t *testing.T) *powercut.Disk {
	t.Helper()
	mount := t.TempDir()
	d, err := powercut.Mount(mount)
	if err != nil {
		t.Skipf("NOT TESTED: a loss of power; this needs /dev/fuse and the right to mount: %v", err)
	}
	t.Setenv(envMount, mount)
	for _, c := range []struct {
		role, point string
		count       int
	}{{"write", "after-commit", 30}, {"write", "staged", 12}, {"open", "", 0}, {"write", "before-commit", 9}, {"compact", "", 0}} {
		p := start(t, c.role, filepath.Join(mount, "db"), c.point, c.count)
		if _, killed := p.wait(t, 0); killed != (c.point != "") {
			t.Errorf("%s: killed: %t", c.role, killed)
		}
	}
	if err := d.Unmount(); err != nil {
		t.Fatal(err)
	}
	return d
}

// atCuts calls f with what a disk may hold after each of n losses of power: the
// folder, the last sequence acknowledged until then and the last one begun.
func atCuts(t *testing.T, d *powercut.Disk, n int, seed uint64, f func(label, dir string, acknowledged, begun uint64)) {
	t.Helper()
	rnd := rand.New(rand.NewPCG(seed, 1))
	r := d.Replay()
	var places []int
	for range n {
		places = append(places, 1+rnd.IntN(r.Len()))
	}
	slices.Sort(places)
	tmp := t.TempDir()
	for i, at := range places {
		r.To(at)
		var acknowledged, begun uint64
		for _, m := range r.Marks() {
			var seq uint64
			what, _, _ := strings.Cut(m, " ")
			if _, err := fmt.Sscanf(m, what+" %d", &seq); err != nil {
				t.Fatal(m, err)
			}
			begun = max(begun, seq)
			if what == "committed" {
				acknowledged = max(acknowledged, seq)
			}
		}
		dir := filepath.Join(tmp, fmt.Sprint(i))
		if err := r.Cut(dir, rand.New(rand.NewPCG(seed, uint64(at)))); err != nil {
			t.Fatal(err)
		}
		f(fmt.Sprintf("cut %d, at %d of %d, LEXSEM_SEED=%d", i, at, r.Len(), seed), filepath.Join(dir, "db"), acknowledged, begun)
		if err := os.RemoveAll(dir); err != nil {
			t.Fatal(err)
		}
	}
}

// TestPowerCut loses the power at random moments while databases are written,
// killed, recovered, compacted and closed. A disk may have lost then, or torn, all
// that was not synced: no acknowledged batch is lost, one in flight is there as a
// whole or not at all, and the database opens.
func TestPowerCut(t *testing.T) {
	cuts, seed := trial.Rounds(t, 20, 500), trial.Seed(t)
	d := cutDisk(t)
	last := uint64(0)
	atCuts(t, d, cuts, seed, func(label, dir string, acknowledged, begun uint64) {
		last = max(last, acknowledged)
		checkReading(t, dir)
		s, err := Open(dir, small)
		if err != nil {
			t.Fatalf("%s: %v", label, err)
		}
		if s.Manifest().Dim == 0 && acknowledged > 0 || s.Seq() < acknowledged || s.Seq() > begun {
			t.Fatalf("%s: at sequence %d, %d was acknowledged, %d begun", label, s.Seq(), acknowledged, begun)
		}
		checkContents(t, s)
		if err := s.Close(); err != nil {
			t.Fatalf("%s: %v", label, err)
		}
		r, err := Open(dir, Options{ReadOnly: true, MemoryMiB: 64})
		if err == nil {
			err = r.Close()
		}
		if err != nil {
			t.Fatalf("%s, closed: %v", label, err)
		}
	})
	t.Logf("%d cuts, %d batches were acknowledged at the last", cuts, last)
}

// TestPowerCutWithoutSync is what NoSync gives up, and what it does not: whatever
// opens is whole, and is a state of the past.
func TestPowerCutWithoutSync(t *testing.T) {
	cuts, seed := trial.Rounds(t, 10, 100), trial.Seed(t)
	t.Setenv(envNoSync, "1")
	d := cutDisk(t)
	lost, refused := 0, 0
	atCuts(t, d, cuts, seed, func(label, dir string, acknowledged, begun uint64) {
		checkReading(t, dir)
		s, err := Open(dir, small)
		if errors.Is(err, ErrCorrupt) {
			refused++
			return
		}
		if err != nil {
			t.Fatalf("%s: %v", label, err)
		}
		if s.Seq() > begun {
			t.Fatalf("%s: at sequence %d, %d was begun", label, s.Seq(), begun)
		}
		if s.Seq() < acknowledged {
			lost++
		}
		checkContents(t, s)
		if err := s.Close(); err != nil {
			t.Fatalf("%s: %v", label, err)
		}
	})
	t.Logf("%d cuts: %d lost acknowledged batches, %d are reported damaged", cuts, lost, refused)
	if lost+refused == 0 {
		t.Error("nothing is lost without a sync: the disk does not cut")
	}
}
