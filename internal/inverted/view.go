package inverted

import "github.com/lexsem/lexsem/internal/snapshot"

// view is the postings of a term in a core: the blocks of a snapshot (the head), then
// blocks in memory, then the tail.
type view struct {
	weights bool
	limit   uint32 // slots are below it
	df, n   uint32
	head    []block
	bytes   []byte // of the head, and of the tail where there is nothing of our own
	offset  int    // where bytes lie in section
	section *snapshot.Section
	blocks  []block
	data    []byte
}

// cut keeps only the full blocks of the head, since the rest was copied.
func (v *view) cut() {
	if n := len(v.head); n > 0 {
		v.bytes = v.bytes[:min(len(v.bytes), int(v.head[n-1].end))]
	} else {
		v.bytes = nil
	}
}

// full is the number of full blocks.
func (v *view) full() int { return len(v.head) + len(v.blocks) }

// all is the number of blocks, including the tail.
func (v *view) all() int {
	n := v.full()
	if v.n%blockLen != 0 {
		n++
	}
	return n
}

// block returns full block i.
func (v *view) block(i int) *block {
	if i < len(v.head) {
		return &v.head[i]
	}
	return &v.blocks[i-len(v.head)]
}

// decode reads block i; the one after the full ones is the tail.
func (v *view) decode(p *postings, i int) error {
	p.n = 0
	n, limit, next := blockLen, v.limit, uint32(0)
	if i > 0 {
		next = v.block(i - 1).next
	}
	if i == v.full() {
		n = int(v.n % blockLen)
	} else {
		limit = v.block(i).next
	}
	if i < len(v.head) || v.data == nil && v.section != nil {
		from, end := 0, len(v.bytes)
		if i > 0 {
			from = int(v.head[i-1].end)
		}
		if i < len(v.head) {
			end = int(v.head[i].end)
		}
		if limit > v.limit || from > end || end > len(v.bytes) {
			return corrupt("block %d of postings lies at %d to %d of %d bytes", i, from, end, len(v.bytes))
		}
		if err := check(v.section, v.offset+from, end-from); err != nil {
			return err
		}
		return p.decode(v.bytes[from:end], n, next, limit, v.weights)
	}
	i -= len(v.head)
	from, end := 0, len(v.data)
	if i > 0 {
		from = int(v.blocks[i-1].end)
	}
	if i < len(v.blocks) {
		end = int(v.blocks[i].end)
	}
	return p.decode(v.data[from:end], n, next, limit, v.weights)
}
