package index

import "math/bits"

// idTable finds the slot of an id. It holds slots alone, some ten bytes an id,
// and asks for the ids behind them. Growing moves one shard of 64, so that
// nobody waits long.
type idTable struct {
	id     func(slot uint32) uint64
	shards [64]idShard
	n      int
}

// idShard is a hash table with linear probing: slot + 1, 0 for free. Its
// length is a power of two and at least a quarter of it is free.
type idShard struct {
	slots []uint32
	n     int
}

// hash spreads ids: the upper 6 bits choose the shard, the lower the place.
func hash(id uint64) uint64 {
	h, l := bits.Mul64(id^0x9e3779b97f4a7c15, 0xd6e8feb86659fd93)
	return h ^ l
}

func (t *idTable) shard(h uint64) *idShard { return &t.shards[h>>58] }

// get returns the slot of id.
func (t *idTable) get(id uint64) (slot uint32, ok bool) {
	h := hash(id)
	s := t.shard(h)
	if s.n == 0 {
		return 0, false
	}
	mask := uint64(len(s.slots) - 1)
	for i := h & mask; s.slots[i] != 0; i = (i + 1) & mask {
		if slot := s.slots[i] - 1; t.id(slot) == id {
			return slot, true
		}
	}
	return 0, false
}

// put sets the slot of id and reports whether id was absent. The table may ask
// for the id of any slot in it, of this one too.
func (t *idTable) put(id uint64, slot uint32) bool {
	h := hash(id)
	s := t.shard(h)
	if 4*(s.n+1) > 3*len(s.slots) {
		t.grow(s)
	}
	mask := uint64(len(s.slots) - 1)
	i := h & mask
	for ; s.slots[i] != 0; i = (i + 1) & mask {
		if t.id(s.slots[i]-1) == id {
			s.slots[i] = slot + 1
			return false
		}
	}
	s.slots[i] = slot + 1
	s.n++
	t.n++
	return true
}

// reserve makes room for about n ids in an empty table.
func (t *idTable) reserve(n int) {
	size := 1 << bits.Len(uint(n/len(t.shards)*4/3))
	for i := range t.shards {
		t.shards[i].slots = make([]uint32, max(8, size))
	}
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

// drop takes id out, whose slot must still have it.
func (t *idTable) drop(id uint64) {
	h := hash(id)
	s := t.shard(h)
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
	t.n--
	// Close the gap: what probed past it moves up.
	for j := (i + 1) & mask; s.slots[j] != 0; j = (j + 1) & mask {
		if home := hash(t.id(s.slots[j]-1)) & mask; (j-home)&mask >= (j-i)&mask {
			s.slots[i] = s.slots[j]
			i = j
		}
	}
	s.slots[i] = 0
}
