package store

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"sort"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/dgraph-io/badger/v4/fb"
	"github.com/dgraph-io/badger/v4/pb"
	"github.com/dgraph-io/badger/v4/y"
	"google.golang.org/protobuf/proto"

	"github.com/lexsem/lexsem/internal/regular"
)

// tableFile is one table.
type tableFile struct {
	id    uint64
	path  string
	level int
	size  int64
	first []byte // its first key
	// filter is the Bloom filter of its keys, 10 bits a key, empty if the table has none.
	filter y.Filter
	index  [2]int64 // where its index begins and ends
	last   uint64   // the highest version of its records

	blocks   int    // how many there are
	indexSum uint32 // checksum of the index
	lastSum  uint32 // of the last block
	known    bool   // sums are those that the table had when the database was closed

	done atomic.Bool // all blocks are checked
	mu   sync.Mutex  // guards what follows, but for bad once done
	bad  []badBlock
	read []bool   // by block, nil before the first is
	sums []uint32 // by block: its checksum, if it is known or read
	next int      // the first block that may not have been read
	kept []byte   // the index, from the first check until all blocks are checked, as far as there is room
	room *atomic.Int64
}

// indexRoom is how many bytes of indexes a database keeps until all its tables are checked. A search may check a
// hundred places in one table, and would read an index of half a megabyte for each.
const indexRoom = 8 << 20

// blockReader is the buffer and decoder for reading blocks. It is reused: new memory costs as much as the
// check itself.
type blockReader struct {
	in    *bufio.Reader
	block []byte
}

var blockReaders = sync.Pool{New: func() any { return &blockReader{in: bufio.NewReaderSize(nil, aside)} }}

// aside is how many bytes a call checks beside those that it needs, at least, some hundredths of a millisecond.
const aside = 64 << 10

// badBlock is an invalid block: nothing between its keys may be read.
type badBlock struct {
	from, to []byte
	err      error
}

// ahead is how many blocks beyond its position one of Badger's iterators may look into if it does not
// prefetch.
const ahead = 4

// The end of a table file: index, length of the index, checksum of the index, length of that checksum. The
// blocks lie before it without gaps.

// open reads the end of the file and the last block.
func (f *tableFile) open() (err error) {
	file, err := regular.Open(f.path)
	if err != nil {
		return err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return err
	}
	f.size = info.Size()
	end, err := tail(file, f.size, min(f.size, 64<<10))
	if err != nil {
		return err
	}
	rest, sum, err := cutChecksum(end)
	if err != nil {
		return fmt.Errorf("footer: %w", err)
	}
	f.index[1] = f.size - int64(len(end)-len(rest)) - 4
	n, err := lengthBefore(rest, f.index[1]+4)
	if err != nil {
		return fmt.Errorf("footer: %w", err)
	}
	f.index[0] = f.index[1] - n
	index, err := f.readIndex(file)
	if err != nil {
		return err
	}
	if err := verify(index, sum); err != nil {
		return fmt.Errorf("index: %w", err)
	}
	f.indexSum = uint32(sum.Sum)
	defer func() {
		if r := recover(); r != nil { // the index decoder trusts its input
			err = firstLine(r)
		}
	}()
	return f.checkIndex(file, fb.GetRootAsTableIndex(index, 0))
}

// mayHold reports whether Badger reads the table for a key with this hash.
func (f *tableFile) mayHold(hash uint32) bool {
	return len(f.filter) == 0 || f.filter.MayContain(hash)
}

func (f *tableFile) readIndex(file *os.File) ([]byte, error) {
	b := make([]byte, f.index[1]-f.index[0])
	_, err := file.ReadAt(b, f.index[0])
	return b, err
}

// checkIndex checks that the blocks lie without gaps up to the index, each with a first key, and that the
// last one is valid.
func (f *tableFile) checkIndex(file *os.File, index *fb.TableIndex) error {
	var o fb.BlockOffset
	var at int64
	n := index.OffsetsLength()
	for i := range n {
		if !index.Offsets(&o, i) || len(o.KeyBytes()) < 8 || int64(o.Offset()) != at {
			return fmt.Errorf("index: block %d", i)
		}
		at += int64(o.Len())
	}
	if n == 0 || at != f.index[0] {
		return fmt.Errorf("index: blocks end at byte %d, the index begins at %d", at, f.index[0])
	}
	f.blocks, f.first, f.filter, f.last = n, firstKey(index, 0), bytes.Clone(index.BloomFilterBytes()), index.MaxVersion()
	last := make([]byte, o.Len())
	if _, err := file.ReadAt(last, int64(o.Offset())); err != nil {
		return err
	}
	var err error
	f.lastSum, err = checkBlock(n-1, last)
	return err
}

// firstKey is the first key of a block, without the last eight bytes, which Badger adds; after the last
// block, a key above all.
func firstKey(index *fb.TableIndex, block int) []byte {
	var o fb.BlockOffset
	if !index.Offsets(&o, block) {
		return []byte{0xff}
	}
	k := o.KeyBytes()
	return bytes.Clone(k[:len(k)-8])
}

// check reads the blocks that a call needs, and some others, and lists the bad ones. In the end all are read, and no
// call reads the index any more, but no call waits for all.
func (f *tableFile) check(from, to []byte) (err error) {
	file, err := os.Open(f.path)
	if err != nil {
		return err
	}
	defer file.Close()
	defer func() {
		if r := recover(); r != nil { // the index was good when the table was opened
			err = firstLine(r)
		}
	}()
	b := f.kept
	if b == nil {
		if b, err = f.readIndex(file); err != nil {
			return err
		}
		if f.room.Add(-int64(len(b))) >= 0 {
			f.kept = b
		} else {
			f.room.Add(int64(len(b)))
		}
	}
	index := fb.GetRootAsTableIndex(b, 0)
	n := index.OffsetsLength()
	if f.read == nil {
		f.read = make([]bool, n)
		if !f.known {
			f.sums = make([]uint32, n)
		}
	}
	first := sort.Search(n, func(i int) bool { return bytes.Compare(firstKey(index, i), from) >= 0 })
	end := sort.Search(n, func(i int) bool { return bytes.Compare(firstKey(index, i), to) > 0 })
	if err := f.checkBlocks(file, index, max(first-1, 0), min(end+ahead, n)); err != nil {
		return err
	}
	// That this ends, about as many bytes of others are read as of the index, in the order of the blocks.
	more := f.next
	for left := max(len(b), aside); more < n && (left > 0 || f.read[more]); more++ {
		var o fb.BlockOffset
		if index.Offsets(&o, more); !f.read[more] {
			left -= int(o.Len())
		}
	}
	if err := f.checkBlocks(file, index, f.next, more); err != nil {
		return err
	}
	if f.next = more; more == n {
		f.room.Add(int64(len(f.kept)))
		f.kept = nil
		f.done.Store(true)
	}
	return nil
}

// checkBlocks reads the blocks from first to before end that were not yet read.
func (f *tableFile) checkBlocks(file *os.File, index *fb.TableIndex, first, end int) error {
	r := blockReaders.Get().(*blockReader)
	defer func() {
		r.in.Reset(nil) // lets go of the file
		blockReaders.Put(r)
	}()
	follows := false // r.in is at the end of the block before
	for i := first; i < end; i++ {
		if f.read[i] {
			follows = false
			continue
		}
		var o fb.BlockOffset
		index.Offsets(&o, i)
		if at := int64(o.Offset()); !follows {
			r.in.Reset(io.NewSectionReader(file, at, f.blocksEnd(index, i, end)-at))
		}
		follows = true
		if n := int(o.Len()); cap(r.block) < n {
			r.block = make([]byte, n)
		}
		block := r.block[:o.Len()]
		if _, err := io.ReadFull(r.in, block); err != nil {
			return err
		}
		sum, err := checkBlock(i, block)
		if err == nil && f.known && sum != f.sums[i] {
			err = fmt.Errorf("block %d: %w", i, errForeignTable)
		}
		if f.sums[i] = sum; err != nil {
			f.bad = append(f.bad, badBlock{firstKey(index, max(i-ahead, 0)), firstKey(index, i+1), err})
		}
		f.read[i] = true
	}
	return nil
}

// blocksEnd is the end of block i and of the unread blocks directly after it, up to block end.
func (f *tableFile) blocksEnd(index *fb.TableIndex, i, end int) int64 {
	for i+1 < end && !f.read[i+1] {
		i++
	}
	var o fb.BlockOffset
	index.Offsets(&o, i)
	return int64(o.Offset()) + int64(o.Len())
}

// tail reads the last n bytes of a file.
func tail(f *os.File, size, n int64) ([]byte, error) {
	b := make([]byte, n)
	_, err := f.ReadAt(b, size-n)
	return b, err
}

// checkBlock compares a block with its checksum, and returns another checksum, CRC-32 (IEEE). Each record
// ends with its own CRC-32C, and the CRC-32C of data that ends with its own CRC-32C is constant: so Badger's
// checksum does not distinguish two blocks of good records.
func checkBlock(i int, block []byte) (uint32, error) {
	body, sum, err := cutChecksum(block)
	if err == nil {
		err = verify(body, sum)
	}
	if err != nil {
		return 0, fmt.Errorf("block %d: %w", i, err)
	}
	return crc32.ChecksumIEEE(body), nil
}

// lengthBefore reads the length at the end of b, which counts the bytes before it; room is their maximum.
func lengthBefore(b []byte, room int64) (int64, error) {
	if len(b) < 4 {
		return 0, errors.New("file is truncated")
	}
	n := int64(binary.BigEndian.Uint32(b[len(b)-4:]))
	if n > room-4 {
		return 0, errors.New("impossible length")
	}
	return n, nil
}

// cutChecksum splits off a checksum and the length after it.
func cutChecksum(b []byte) (rest []byte, sum *pb.Checksum, err error) {
	n, err := lengthBefore(b, int64(len(b)))
	if err != nil {
		return nil, nil, err
	}
	b = b[:len(b)-4]
	sum = &pb.Checksum{}
	if err := proto.Unmarshal(b[len(b)-int(n):], sum); err != nil {
		return nil, nil, err
	}
	return b[:len(b)-int(n)], sum, nil
}

func verify(b []byte, sum *pb.Checksum) error {
	if sum.Algo != pb.Checksum_CRC32C || uint64(crc32.Checksum(b, castagnoli)) != sum.Sum {
		return errors.New("checksum mismatch")
	}
	return nil
}

func firstLine(v any) error {
	s, _, _ := strings.Cut(strings.TrimSpace(fmt.Sprint(v)), "\n")
	return errors.New(s)
}
