package index

import (
	"math/rand/v2"
	"sync/atomic"
	"testing"
)

// TestIDTable holds the table against a map.
func TestIDTable(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	mem := newMemory(1, metrics[Dot], noCodes).grown(200_000)
	table := idTable{mem: &atomic.Pointer[memory]{}}
	table.mem.Store(mem)
	next := uint32(0)
	model := map[uint64]uint32{}
	for op := range 200_000 {
		id := uint64(r.IntN(5000))
		if op%3 == 0 {
			id = id * 0x9e3779b97f4a7c15 // far apart
		}
		if slot, ok := model[id]; r.IntN(100) < 45 {
			table.drop(id)
			delete(model, id)
			_ = slot
		} else {
			slot = next
			next++
			mem.ids.row(slot)[0] = id
			if table.put(id, slot) == ok {
				t.Fatalf("op %d: put of %d says the opposite", op, id)
			}
			model[id] = slot
		}
		if n := int(table.n.Load()); n != len(model) {
			t.Fatalf("op %d: %d ids, want %d", op, n, len(model))
		}
		probe := uint64(r.IntN(5000))
		slot, ok := table.get(probe)
		if want, there := model[probe]; ok != there || ok && slot != want {
			t.Fatalf("op %d: %d, %v for %d, want %d, %v", op, slot, ok, probe, want, there)
		}
	}
	for id, want := range model {
		if slot, ok := table.get(id); !ok || slot != want {
			t.Fatalf("id %d at %d, %v", id, slot, ok)
		}
	}
}
