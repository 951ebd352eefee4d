package inverted

import "sync"

// state is a core with its locks. Changes are made one after the other under
// write; mu is held exclusively for the moment of each, shared by searches.
type state struct {
	write   sync.Mutex
	mu      sync.RWMutex
	c       *core
	entries []entry // of the document that is being added
}

// Len is the number of documents.
func (x *state) Len() int {
	x.mu.RLock()
	defer x.mu.RUnlock()
	return x.c.live
}

// Has says whether a document is there.
func (x *state) Has(id uint64) bool {
	x.mu.RLock()
	defer x.mu.RUnlock()
	_, ok := x.c.slot(id)
	return ok
}

// Bytes is the memory that the documents and postings take, in bytes; the
// texts of terms come on top.
func (x *state) Bytes() int64 {
	x.mu.RLock()
	defer x.mu.RUnlock()
	return x.c.bytes()
}

// put stores a document in place of the one with its id. The caller holds
// write and mu.
func (x *state) put(id uint64, entries []entry) {
	if slot, ok := x.c.slot(id); ok {
		x.c.remove(slot)
	}
	x.c.add(id, entries)
	x.entries = entries[:0]
	if cap(entries) > 1<<16 {
		x.entries = nil
	}
}

// remove deletes the documents that are there. The caller holds write.
func (x *state) remove(ids []uint64) int {
	n := 0
	for _, id := range ids {
		x.mu.Lock()
		if slot, ok := x.c.slot(id); ok {
			x.c.remove(slot)
			n++
		}
		x.mu.Unlock()
	}
	return n
}
