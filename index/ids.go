package index

import (
	"math/bits"
	"sync"
	"sync/atomic"
)

// idTable finds the slot of an id. It stores only slots, some ten bytes an id, and reads
// the ids from memory. One goroutine changes it. Others may look up ids meanwhile, each
// under the lock of one of 64 shards for one lookup. Growing moves one shard at a time,
// so nobody waits long.
type idTable struct {
	mem    *atomic.Pointer[memory]
	shards [64]idShard
	n      atomic.Int64
}

// idShard is a hash table with linear probing: slot + 1, 0 for free. Its
// length is a power of two and at least a quarter of it is free.
type idShard struct {
	mu    sync.RWMutex
	slots []uint32
	n     int
}

// hash spreads ids: the upper 6 bits choose the shard, the lower bits the place in it.
func hash(id uint64) uint64 {
	h, l := bits.Mul64(id^0x9e3779b97f4a7c15, 0xd6e8feb86659fd93)
	return h ^ l
}

func (t *idTable) shard(h uint64) *idShard { return &t.shards[h>>58] }

func (t *idTable) id(slot uint32) uint64 { return t.mem.Load().id(slot) }

// get returns the slot of id. It is for the writer.
func (t *idTable) get(id uint64) (slot uint32, ok bool) {
	h := hash(id)
	return t.find(t.shard(h), h, id)
}

func (t *idTable) find(s *idShard, h, id uint64) (slot uint32, ok bool) {
	if s.n == 0 {
		return 0, false
	}
	x, mask := t.mem.Load(), uint64(len(s.slots)-1)
	for i := h & mask; s.slots[i] != 0; i = (i + 1) & mask {
		if slot := s.slots[i] - 1; x.id(slot) == id {
			return slot, true
		}
	}
	return 0, false
}

// slot returns the slot of id, which may change after slot has returned.
func (t *idTable) slot(id uint64) (slot uint32, ok bool) {
	h := hash(id)
	s := t.shard(h)
	s.mu.RLock()
	defer s.mu.RUnlock()
	return t.find(s, h, id)
}

// at returns the slot of id and the memory that has it, nil if id is absent. The slot may have another id after
// at has returned, but the vector there stays valid.
func (t *idTable) at(id uint64) (x *memory, slot uint32) {
	h := hash(id)
	s := t.shard(h)
	s.mu.RLock()
	defer s.mu.RUnlock()
	slot, ok := t.find(s, h, id)
	if !ok {
		return nil, 0
	}
	return t.mem.Load(), slot
}

// put sets the slot of id, and reports whether id was absent; memory already has the id
// at that slot.
func (t *idTable) put(id uint64, slot uint32) bool {
	h := hash(id)
	s := t.shard(h)
	s.mu.Lock()
	defer s.mu.Unlock()
	if 4*(s.n+1) > 3*len(s.slots) {
		t.grow(s)
	}
	x, mask := t.mem.Load(), uint64(len(s.slots)-1)
	i := h & mask
	for ; s.slots[i] != 0; i = (i + 1) & mask {
		if x.id(s.slots[i]-1) == id {
			s.slots[i] = slot + 1
			return false
		}
	}
	s.slots[i] = slot + 1
	s.n++
	t.n.Add(1)
	return true
}

func (t *idTable) grow(s *idShard) {
	old := s.slots
	s.slots = make([]uint32, max(8, 2*len(old)))
	mask := uint64(len(s.slots) - 1)
	for _, v := range old {
		if v != 0 {
			i := hash(t.id(v-1)) & mask
			for s.slots[i] != 0 {
				i = (i + 1) & mask
			}
			s.slots[i] = v
		}
	}
}

// drop removes id, whose slot must still hold it.
func (t *idTable) drop(id uint64) {
	h := hash(id)
	s := t.shard(h)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.n == 0 {
		return
	}
	mask := uint64(len(s.slots) - 1)
	i := h & mask
	for ; s.slots[i] == 0 || t.id(s.slots[i]-1) != id; i = (i + 1) & mask {
		if s.slots[i] == 0 {
			return
		}
	}
	s.n--
	t.n.Add(-1)
	// Close the gap: entries that were displaced past it move up.
	for j := (i + 1) & mask; s.slots[j] != 0; j = (j + 1) & mask {
		if home := hash(t.id(s.slots[j]-1)) & mask; (j-home)&mask >= (j-i)&mask {
			s.slots[i] = s.slots[j]
			i = j
		}
	}
	s.slots[i] = 0
}

func (t *idTable) bytes() (n int64) {
	for i := range t.shards {
		s := &t.shards[i]
		s.mu.RLock()
		n += 4 * int64(len(s.slots))
		s.mu.RUnlock()
	}
	return n
}
