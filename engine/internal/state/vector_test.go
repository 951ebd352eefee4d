package state

import (
	"slices"
	"testing"

	"github.com/lexsem/lexsem/index"
)

// aside is an index of one passage, which copies its vector.
type aside struct {
	index.Index
	id uint64
}

func (x aside) Vector(id uint64, space *[]float32) []float32 {
	if id != x.id {
		return nil
	}
	if space == nil {
		space = new([]float32)
	}
	*space = append((*space)[:0], float32(id))
	return *space
}

// TestVectorSpace: vectors of the present index and of the one before come in the caller's space, or in one of their own.
func TestVectorSpace(t *testing.T) {
	d := &DB{}
	d.vectors.Store(&Vectors{Index: aside{id: 1}})
	d.before.Store(&Vectors{Index: aside{id: 2}})
	space := make([]float32, 1)
	for _, id := range []uint64{1, 2} {
		if v := d.vector(id, &space); len(v) != 1 || &v[0] != &space[0] || v[0] != float32(id) {
			t.Errorf("vector %d: %v, in the space %v", id, v, space)
		}
	}
	if a, b := d.ownVector(1), d.ownVector(2); !slices.Equal(a, []float32{1}) || !slices.Equal(b, []float32{2}) {
		t.Errorf("vectors to keep are %v and %v", a, b)
	}
	if v := d.vector(3, &space); v != nil || !d.lost.Load() {
		t.Errorf("a vector that is nowhere is %v", v)
	}
}
