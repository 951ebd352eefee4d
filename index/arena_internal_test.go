package index

import (
	"errors"
	"testing"

	"github.com/lexsem/lexsem/internal/snapshot"
)

// A chunk is checked once, whatever comes of it; what is damaged stays so.
func TestLazyChecksOnce(t *testing.T) {
	bad := errors.New("bad")
	calls := [3]int{}
	l := newLazy(3, func(c int) error {
		calls[c]++
		if c == 1 {
			return bad
		}
		return nil
	})
	for range 3 {
		for c, want := range []error{nil, bad, nil, nil} { // the last is not of the snapshot
			if err := l.check(c); err != want {
				t.Errorf("chunk %d: %v, want %v", c, err, want)
			}
		}
	}
	if calls != [3]int{1, 1, 1} || l.left.Load() != 1 {
		t.Errorf("checked %v times, %d left", calls, l.left.Load())
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
