//go:build linux

package powercut

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// MountFor mounts a disk for a test, and skips the test if that is not possible.
func MountFor(t *testing.T) (d *Disk, mount string) {
	t.Helper()
	mount = t.TempDir()
	d, err := Mount(mount)
	if err != nil {
		t.Skipf("NOT TESTED: a loss of power; this needs /dev/fuse and the right to mount: %v", err)
	}
	return d, mount
}

// Cuts calls f with the possible content of the disk after each of n power cuts at random
// moments, and with the marks made until then.
func (d *Disk) Cuts(t *testing.T, n int, seed uint64, f func(label, dir string, marks Marks)) {
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
		dir := filepath.Join(tmp, strconv.Itoa(i))
		if err := r.Cut(dir, rand.New(rand.NewPCG(seed, uint64(i)))); err != nil {
			t.Fatal(err)
		}
		f(fmt.Sprintf("cut %d, at %d of %d, LEXSEM_SEED=%d", i, at, r.Len(), seed), dir, r.Marks())
		if err := os.RemoveAll(dir); err != nil {
			t.Fatal(err)
		}
	}
}

// Marks are the texts given to Mark, in order.
type Marks []string

// Last is the highest number n of a mark "what n", or 0 if there is none.
func (m Marks) Last(what string) (last uint64) {
	for _, text := range m {
		if number, ok := strings.CutPrefix(text, what+" "); ok {
			n, err := strconv.ParseUint(number, 10, 64)
			if err != nil {
				panic(err) // a test's own mark
			}
			last = max(last, n)
		}
	}
	return last
}
