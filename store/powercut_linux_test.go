package store

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/lexsem/lexsem/internal/testkit/powercut"
	"github.com/lexsem/lexsem/internal/testkit/trial"
)

const envMount = "LEXSEM_STORE_MOUNT" // of the disk that sees a child's writes

func init() {
	if mount := os.Getenv(envMount); mount != "" {
		told = func(_, what string, seq uint64) { powercut.Mark(mount, fmt.Sprint(what, " ", seq)) }
	}
}

// cutDisk is what children have done to a disk: two that were killed while they
// wrote, one that recovered and closed, and one more.
func cutDisk(t *testing.T, env ...string) *powercut.Disk {
	t.Helper()
	d, mount := powercut.MountFor(t)
	env = append(env, envMount+"="+mount)
	for _, c := range []struct {
		role, point string
		count       int
	}{{"write", "after-commit", 30}, {"write", "staged", 12}, {"open", "", 0}, {"write", "before-commit", 9}, {"compact", "", 0}} {
		p := start(t, c.role, filepath.Join(mount, "db"), c.point, c.count, env...)
		if _, killed := p.wait(t, 0); killed != (c.point != "") {
			t.Errorf("%s: killed: %t", c.role, killed)
		}
	}
	if err := d.Unmount(); err != nil {
		t.Fatal(err)
	}
	return d
}

// TestPowerCut loses the power at random moments while databases are written,
// killed, recovered, compacted and closed. A disk may have lost then, or torn, all
// that was not synced: no acknowledged batch is lost, one in flight is there as a
// whole or not at all, and the database opens.
func TestPowerCut(t *testing.T) {
	t.Parallel()
	cuts, seed := trial.Rounds(t, 7, 500), trial.Seed(t)
	d := cutDisk(t)
	last := uint64(0)
	d.Cuts(t, cuts, seed, func(label, dir string, marks powercut.Marks) {
		dir, acknowledged, begun := filepath.Join(dir, "db"), marks.Last("committed"), max(marks.Last("committed"), marks.Last("seen"))
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
		closeAndRead(t, label, s)
	})
	t.Logf("%d cuts, %d batches were acknowledged at the last", cuts, last)
}

// TestPowerCutWithoutSync is what NoSync gives up, and what it does not: whatever
// opens is whole, and is a state of the past.
func TestPowerCutWithoutSync(t *testing.T) {
	t.Parallel()
	cuts, seed := trial.Rounds(t, 3, 100), trial.Seed(t)
	d := cutDisk(t, envNoSync+"=1")
	lost, refused := 0, 0
	check := func(label, dir string, marks powercut.Marks) {
		dir, acknowledged, begun := filepath.Join(dir, "db"), marks.Last("committed"), max(marks.Last("committed"), marks.Last("seen"))
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
	}
	for turn := 0; turn < 10 && lost+refused == 0; turn++ { // few cuts may happen to lose nothing
		d.Cuts(t, cuts, seed+uint64(turn), check)
	}
	t.Logf("%d cuts at a time: %d lost acknowledged batches, %d are reported damaged", cuts, lost, refused)
	if lost+refused == 0 {
		t.Error("nothing is lost without a sync: the disk does not cut")
	}
}
