package inverted

import (
	"encoding/binary"
	"math/bits"
	"sync/atomic"

	"github.com/lexsem/lexsem/internal/vec"
)

// table is a hash table from keys that are stored elsewhere to numbers: the caller
// compares the keys of the numbers found. Entries are only added, and all values share a
// table. So a reader skips numbers that its value does not know, and those of abandoned
// edits. Readers need no lock during one writer's changes.
type table struct {
	entries []uint32 // number + 1, 0 for none; a power of two of them
	used    int      // entries that are not 0
}

// newTable has space for n numbers, and for later growth.
func newTable(n int) *table { return sizedTable(n + n/2) }

// sizedTable has space for exactly n numbers; at most 7/8 of the table is used.
func sizedTable(n int) *table {
	size := 8
	for size < n+n/7+1 {
		size *= 2
	}
	return &table{entries: make([]uint32, size)}
}

// full reports whether the next number needs a larger table.
func (t *table) full() bool { return 4*t.used >= 3*len(t.entries) }

// add inserts a number; the table must not be full.
func (t *table) add(hash uint64, number uint32) {
	mask := uint64(len(t.entries) - 1)
	at := hash & mask
	for t.entries[at] != 0 { // the only writer may read without care
		at = (at + 1) & mask
	}
	atomic.StoreUint32(&t.entries[at], number+1)
	t.used++
}

// ahead prefetches the entry that a probe of a hash reads first. first is the number
// there, 2³²-1 for none.
func (t *table) ahead(hash uint64) { vec.Prefetch(t.entries[hash&uint64(len(t.entries)-1):], 4) }

func (t *table) first(hash uint64) uint32 {
	return atomic.LoadUint32(&t.entries[hash&uint64(len(t.entries)-1)]) - 1
}

// probe finds the numbers that may have a key.
type probe struct {
	entries  []uint32
	at, left uint64
}

func (t *table) probe(hash uint64) probe {
	n := uint64(len(t.entries))
	return probe{t.entries, hash & (n - 1), n}
}

// next returns the next number; ok is false after the last one.
func (p *probe) next() (number uint32, ok bool) {
	if p.left == 0 {
		return 0, false
	}
	v := atomic.LoadUint32(&p.entries[p.at])
	p.at = (p.at + 1) & uint64(len(p.entries)-1)
	p.left--
	return v - 1, v != 0
}

func fold(a, b uint64) uint64 {
	hi, lo := bits.Mul64(a, b)
	return hi ^ lo
}

func hashID(id uint64) uint64 { return fold(id^0x9E3779B97F4A7C15, 0xD6E8FEB86659FD93) }

// hashText is the hash of a term. seed determines which terms have equal hashes, so only
// someone who knows it can write a text that makes the table slow.
func hashText(seed uint64, s string) uint64 {
	h := fold(seed^uint64(len(s)), 0xA0761D6478BD642F)
	for ; len(s) >= 8; s = s[8:] {
		h = fold(h^word(s), 0xE7037ED1A0B428DB^seed)
	}
	tail := [8]byte{}
	copy(tail[:], s)
	return fold(h^binary.LittleEndian.Uint64(tail[:]), 0x8EBC6AF09C88C6E3^seed)
}

func word(s string) uint64 {
	return uint64(s[0]) | uint64(s[1])<<8 | uint64(s[2])<<16 | uint64(s[3])<<24 |
		uint64(s[4])<<32 | uint64(s[5])<<40 | uint64(s[6])<<48 | uint64(s[7])<<56
}
