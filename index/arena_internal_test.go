package index

import (
	"errors"
	"testing"

	"github.com/lexsem/lexsem/internal/snapshot"
)

// A piece that is ready is not checked again; one that is damaged is, each time that it is read.
func TestLazyChecksOnce(t *testing.T) {
	bad := errors.New("bad")
	calls := [100]int{}
	l := newLazy(100, func(c, n int) (err error) {
		for p := c; p < c+n; p++ {
			calls[p]++
			if p == 66 {
				err = bad
			}
		}
		return err
	})
	for range 3 {
		for _, c := range []struct {
			from, n int
			want    error
		}{{0, 1, nil}, {2, 1, nil}, {66, 1, bad}, {64, 4, bad}, {96, 8, nil}, {100, 1, nil}, {2000, 8, nil}} { // the last are not of the snapshot
			check := func() error { return l.checkAll(c.from, c.n) }
			if c.n == 1 {
				check = func() error { return l.check(c.from) }
			}
			if err := check(); err != c.want {
				t.Errorf("%d pieces from %d on: %v, want %v", c.n, c.from, err, c.want)
			}
		}
	}
	if want := [100]int{0: 1, 2: 1, 64: 3, 65: 3, 66: 6, 67: 3, 96: 1, 97: 1, 98: 1, 99: 1}; calls != want || l.left.Load() != 94 {
		t.Errorf("checked %v times, %d left", calls, l.left.Load())
	}
}

// TestLazyWaitsForNoOne: a piece is checked while another is, and while it is itself.
func TestLazyWaitsForNoOne(t *testing.T) {
	enter, leave := make(chan int), make(chan int)
	l := newLazy(2, func(c, _ int) error { enter <- c; <-leave; return nil })
	errs := make(chan error)
	for _, c := range []int{0, 1, 1} {
		go func() { errs <- l.check(c) }()
	}
	for range 3 {
		<-enter // would hang if one waited for another
	}
	close(leave)
	for range 3 {
		if err := <-errs; err != nil {
			t.Error(err)
		}
	}
	if l.left.Load() != 0 {
		t.Errorf("%d left", l.left.Load())
	}
}

// Every slot that there is room for has an id, codes and all that belongs to them, however much of the
// vectors lay in a file when the memory grew; slack is an eighth of what lies in memory.
func TestMemoryGrowsAlike(t *testing.T) {
	const dim = 600 // 512 slots a chunk
	for name, by := range map[string]coding{Cosine: byInt8, L2: byInt4} {
		m := metrics[name]
		x := newMemory(dim, m, by)
		for i := range 6 {
			filed := i%2 == 1
			x.rows.places = make([]place, len(x.rows.chunks))
			for c := range x.rows.places {
				if filed {
					x.rows.places[c].in = &snapshot.Section{}
				}
			}
			had := len(x.rows.chunks)
			x = x.grown(max(30_000, x.slots()+1))
			if got := len(x.rows.chunks); filed && got != had+1 || !filed && i > 0 && got != had+had/8 {
				t.Errorf("in a file: %v: %d chunks, %d before", filed, got, had)
			}
			x.put(uint32(x.slots()-1), 7, make([]float32, dim)) // panics where something is missing
		}
	}
}
