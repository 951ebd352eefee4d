package columns

import (
	"bytes"
	"encoding/binary"
	"math/bits"
	"math/rand/v2"
	"sync/atomic"

	"github.com/lexsem/lexsem/internal/snapshot"
)

// pool is a sequence of texts, each with a tag. It is a value: appending to a copy writes
// after the end that others see.
type pool struct {
	full []block // of blockLen texts each
	tail block   // of fewer, in memory
}

// block is a piece of a pool. It may be in a file; then it must be checked before it is
// read.
type block struct {
	tags, ends []uint32 // ends in text
	text       []byte
	stored     *stored // nil in memory
}

const blockLen = 1024

// stored records whether something in a file was checked and found intact.
type stored struct {
	ok    atomic.Bool
	check func() error
}

// ready must be called before the first read. Error: ErrCorrupt.
func (s *stored) ready() error {
	if s == nil || s.ok.Load() {
		return nil
	}
	if err := s.check(); err != nil {
		return corrupt(err)
	}
	s.ok.Store(true)
	return nil
}

func (p *pool) len() int { return len(p.full)*blockLen + len(p.tail.tags) }

// blocks is the number of blocks, including the tail; block is the i-th.
func (p *pool) blocks() int { return len(p.full) + 1 }

func (p *pool) block(i int) *block {
	if i < len(p.full) {
		return &p.full[i]
	}
	return &p.tail
}

// at returns text n and its tag. The text must not be changed.
func (p *pool) at(n uint32) (tag uint32, text []byte, err error) {
	b := p.block(int(n / blockLen))
	if err := b.stored.ready(); err != nil {
		return 0, nil, err
	}
	i := int(n % blockLen)
	return b.tags[i], b.at(i), nil
}

// at is the i-th text of a block that is ready.
func (b *block) at(i int) []byte {
	from := uint32(0)
	if i > 0 {
		from = b.ends[i-1]
	}
	return b.text[from:b.ends[i]]
}

// add appends a text; errFull if the block has no room for it.
func (p *pool) add(tag uint32, text []byte) error {
	t := &p.tail
	if len(t.tags) == blockLen {
		p.full = append(p.full, block{bytes32(t.tags), bytes32(t.ends), append(make([]byte, 0, len(t.text)), t.text...), nil})
		p.tail = block{}
	}
	if uint64(len(t.text))+uint64(len(text)) > 1<<32-1 {
		return ErrFull
	}
	t.text = append(t.text, text...)
	t.tags = append(t.tags, tag)
	t.ends = append(t.ends, uint32(len(t.text)))
	return nil
}

// bytes32 returns a copy with no spare capacity.
func bytes32(v []uint32) []uint32 { return append(make([]uint32, 0, len(v)), v...) }

// bytes is the memory of the texts.
func (p *pool) bytes() int64 {
	n := int64(0)
	for i := range p.blocks() {
		b := p.block(i)
		n += int64(8*len(b.tags) + len(b.text))
	}
	return n
}

// seed makes hashes unpredictable.
type seed [2]uint64

func newSeed() seed { return seed{rand.Uint64(), rand.Uint64() | 1} }

// hash folds products, eight bytes of text at a time.
func (s seed) hash(tag uint32, text []byte) uint64 {
	h := s[0] ^ uint64(tag)*0x9e3779b97f4a7c15 ^ uint64(len(text))
	mix := func(v uint64) {
		hi, lo := bits.Mul64(h^v, s[1])
		h = hi ^ lo + s[0]
	}
	for ; len(text) >= 8; text = text[8:] {
		mix(binary.LittleEndian.Uint64(text))
	}
	var rest [8]byte
	copy(rest[:], text)
	mix(binary.LittleEndian.Uint64(rest[:]))
	mix(h >> 32)
	return h
}

// dictionary is a pool without duplicates, with a table that finds its texts. It belongs
// to the writer: states have copies of its pool.
type dictionary struct {
	pool
	seed seed
	most int // texts it may have
	// Open addressing: the number of a text plus 1, or 0 if free. own is for the texts
	// from number first on. table, which may be nil, is in a file and is for the earlier
	// ones.
	own   []uint32
	first int
	file  *snapshot.Section
	table []uint32
}

func newDictionary(s seed, most int) dictionary {
	return dictionary{seed: s, most: most, own: make([]uint32, 16)}
}

// place is the first slot for a hash in a table of n.
func place(hash uint64, n int) int {
	hi, _ := bits.Mul64(hash, uint64(n))
	return int(hi)
}

// intern returns the number of a text, a new one if it has none. Errors: ErrFull,
// ErrCorrupt.
func (d *dictionary) intern(tag uint32, text []byte) (uint32, error) {
	hash := d.seed.hash(tag, text)
	if n, ok, err := d.inFile(hash, tag, text); ok || err != nil {
		return n, err
	}
	i := place(hash, len(d.own))
	for d.own[i] != 0 {
		n := d.own[i] - 1
		t, have, err := d.at(n)
		if err != nil {
			return 0, err
		}
		if t == tag && bytes.Equal(have, text) {
			return n, nil
		}
		if i++; i == len(d.own) {
			i = 0
		}
	}
	n := d.len()
	if n >= d.most {
		return 0, ErrFull
	}
	if err := d.add(tag, text); err != nil {
		return 0, err
	}
	d.own[i] = uint32(n) + 1
	if n-d.first > len(d.own)/3*2 {
		return uint32(n), d.grow()
	}
	return uint32(n), nil
}

// inFile looks up a text among those of the file.
func (d *dictionary) inFile(hash uint64, tag uint32, text []byte) (uint32, bool, error) {
	for i, left := place(hash, len(d.table)), len(d.table); left > 0; left-- {
		if err := d.file.Check(4*i, 4); err != nil {
			return 0, false, corrupt(err)
		}
		n := d.table[i]
		if n == 0 {
			return 0, false, nil
		}
		if int64(n) > int64(d.len()) {
			return 0, false, corruptf("a table names text %d of %d", n, d.len())
		}
		t, have, err := d.at(n - 1)
		if err != nil {
			return 0, false, err
		}
		if t == tag && bytes.Equal(have, text) {
			return n - 1, true, nil
		}
		if i++; i == len(d.table) {
			i = 0
		}
	}
	return 0, false, nil
}

func (d *dictionary) grow() error {
	d.own = make([]uint32, 2*len(d.own))
	for n := uint32(d.first); int(n) < d.len(); n++ {
		tag, text, err := d.at(n)
		if err != nil {
			return err
		}
		insert(d.own, d.seed.hash(tag, text), n+1)
	}
	return nil
}

// insert puts a number into a free slot of a table.
func insert(table []uint32, hash uint64, n uint32) {
	i := place(hash, len(table))
	for table[i] != 0 {
		if i++; i == len(table) {
			i = 0
		}
	}
	table[i] = n
}
