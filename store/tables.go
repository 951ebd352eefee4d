package store

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"sort"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/dgraph-io/badger/v4"
	"github.com/dgraph-io/badger/v4/fb"
	"github.com/dgraph-io/badger/v4/pb"
	"github.com/dgraph-io/badger/v4/table"
	"google.golang.org/protobuf/proto"

	"github.com/lexsem/lexsem/internal/regular"
)

// tables are the tables that were there when the database was opened. Badger
// cannot be left alone with a damaged one: it leaves out a table whose index
// does not check, takes a record in a bad block for absent, so that an older
// one or none answers, ends an iteration early there, drops what follows when it
// compacts, and ends the process at a bad footer. So footers, indexes and last
// blocks, which Badger reads when it opens, are checked before, and the other
// blocks before the first call that reads from them. Compactions read what they
// like: before the first one all is checked.
type tables struct {
	dir    string // of the database
	listed map[uint64]badger.TableManifest
	levels [][]*tableFile // by level, each by first key
	left   atomic.Int64   // tables that were not checked yet, or have a bad block
	seals  *seals         // what HEAD tells of them, or nil
}

// tableFile is one table.
type tableFile struct {
	id    uint64
	path  string
	level int
	size  int64
	first []byte   // its first key
	index [2]int64 // where its index begins and ends

	blocks   int    // how many there are
	indexSum uint32 // checksum of the index
	lastSum  uint32 // of the last block
	known    bool   // sums are those that the table had when the database was closed

	done atomic.Bool // all blocks are checked
	mu   sync.Mutex  // guards what follows, but for bad once done
	bad  []badBlock
	read []bool   // by block, nil before the first is
	sums []uint32 // by block: its checksum, if it is known or read
	asks int      // calls that asked for a part of it
}

// patience is how many calls find their blocks in a table, which costs reading
// its index each time, until all blocks are checked.
const patience = 16

// badBlock is a block that does not check: nothing is to be read between its
// keys.
type badBlock struct {
	from, to []byte
	err      error
}

// ahead is how many blocks behind the one where it stands an iterator of
// Badger's may look into, one that is not prefetching.
const ahead = 4

// file is the table of a number.
func (t *tables) file(id uint64, level int) *tableFile {
	return &tableFile{id: id, path: filepath.Join(t.dir, recordsName, table.IDToFilename(id)), level: level}
}

// openTables checks the footer, the index and the last block of every table
// that Badger's MANIFEST lists, and that it is the table that was there.
func openTables(dir string, k *seals) (*tables, error) {
	t := &tables{dir: dir, seals: k}
	listed, err := listedTables(dir)
	if err != nil || listed == nil {
		return t, err // a new database; if it is not, HEAD tells
	}
	t.listed = listed
	for id, tm := range listed {
		f := t.file(id, int(tm.Level))
		err := f.open()
		if err == nil {
			err = f.hold(k)
		}
		if err != nil {
			return nil, t.damaged(filepath.Base(f.path), err)
		}
		for len(t.levels) <= f.level {
			t.levels = append(t.levels, nil)
		}
		t.levels[f.level] = append(t.levels[f.level], f)
	}
	for _, files := range t.levels {
		sort.Slice(files, func(i, j int) bool { return bytes.Compare(files[i].first, files[j].first) < 0 })
	}
	t.left.Store(int64(len(listed)))
	return t, nil
}

// listedTables are the tables that Badger's MANIFEST names, nil where there is none.
func listedTables(dir string) (map[uint64]badger.TableManifest, error) {
	m, err := manifestOf(filepath.Join(dir, recordsName, badger.ManifestFilename))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, (&tables{dir: dir}).damaged(badger.ManifestFilename, firstLine(err))
	}
	return m.Tables, nil
}

// manifestOf reads Badger's MANIFEST. Badger calls it damaged as well when the disk
// refuses to be read, so what it calls damaged is read twice.
func manifestOf(path string) (m badger.Manifest, err error) {
	for range 2 {
		f, err := regular.Open(path)
		if err != nil {
			return m, err
		}
		if _, err = io.Copy(io.Discard, f); err == nil {
			_, err = f.Seek(0, io.SeekStart)
		}
		if err != nil {
			return m, errors.Join(err, f.Close())
		}
		m, _, err = badger.ReplayManifestFile(f, 0, badger.Options{Logger: logger{slog.New(slog.DiscardHandler)}})
		if err = errors.Join(err, f.Close()); err == nil {
			return m, nil
		}
	}
	return m, err
}

func (t *tables) damaged(name string, err error) error {
	if sys := systemError(err); sys != nil {
		return sys
	}
	return &CorruptError{Dir: t.dir, What: "file " + filepath.Join(recordsName, name), Err: err}
}

// checked says that no table is left to check.
func (t *tables) checked() bool { return t.left.Load() == 0 }

// check makes sure that what lies in the tables under the keys from one to
// another, both included, is as it was written. What lies a few blocks before a
// bad one counts as bad, since Badger looks ahead. stop is asked between tables.
// Cost: one read of each block in question, once, and for the first calls that
// meet a table one of its index.
func (t *tables) check(stop func() error, from, to []byte) error {
	if t.checked() {
		return nil
	}
	for level, files := range t.levels {
		i := 0
		if level > 0 { // whose tables do not overlap
			i = sort.Search(len(files), func(i int) bool { return bytes.Compare(files[i].first, from) >= 0 })
			i = max(i-1, 0)
		}
		for ; i < len(files) && bytes.Compare(files[i].first, to) <= 0; i++ {
			f := files[i]
			if err := t.checkFile(stop, f, from, to); err != nil {
				return err
			}
		}
	}
	return nil
}

// checkAll is check for all keys.
func (t *tables) checkAll(stop func() error) error {
	if t.checked() {
		return nil
	}
	for _, files := range t.levels {
		for _, f := range files {
			if err := t.checkFile(stop, f, nil, []byte{0xff}); err != nil {
				return err
			}
		}
	}
	return nil
}

// checkFile is check for one table.
func (t *tables) checkFile(stop func() error, f *tableFile, from, to []byte) error {
	if !f.done.Load() {
		if err := stop(); err != nil {
			return err
		}
		f.mu.Lock()
		defer f.mu.Unlock()
	}
	if !f.done.Load() {
		if err := f.check(from, to); err != nil {
			return t.damaged(filepath.Base(f.path), err)
		}
		if f.done.Load() && len(f.bad) == 0 {
			t.left.Add(-1)
		}
	}
	for _, b := range f.bad {
		if bytes.Compare(from, b.to) <= 0 && bytes.Compare(to, b.from) >= 0 {
			return t.damaged(filepath.Base(f.path), b.err)
		}
	}
	return nil
}

// compactionDue says that Badger may begin to compact before another memtable
// is full: by the number of tables at level 0, to which the memtables in its
// logs come and the one that Close writes, or by the size of another level.
func (t *tables) compactionDue(logs int) bool {
	const last = 6
	var sizes [last + 1]int64
	for level, files := range t.levels {
		for _, f := range files {
			sizes[min(level, last)] += f.size
		}
	}
	o := badgerOptions("", Options{})
	if len(t.levels) > 0 && len(t.levels[0])+logs+1 >= o.NumLevelZeroTables || logs+1 >= o.NumLevelZeroTables {
		return true
	}
	target := sizes[last]
	for level := last - 1; level > 0; level-- {
		target /= int64(o.LevelSizeMultiplier)
		if sizes[level] >= max(target, o.BaseLevelSize) {
			return true
		}
	}
	return false
}

// The end of a table file: index, length of the index, checksum of the index,
// length of that checksum. Before it lie the blocks, one behind the other.

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

func (f *tableFile) readIndex(file *os.File) ([]byte, error) {
	b := make([]byte, f.index[1]-f.index[0])
	_, err := file.ReadAt(b, f.index[0])
	return b, err
}

// checkIndex says that the blocks lie one behind the other up to the index, each
// with a first key, and that the last one checks.
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
	f.blocks, f.first = n, firstKey(index, 0)
	last := make([]byte, o.Len())
	if _, err := file.ReadAt(last, int64(o.Offset())); err != nil {
		return err
	}
	var err error
	f.lastSum, err = checkBlock(n-1, last)
	return err
}

// firstKey is the first key of a block, without the eight bytes of Badger's behind
// it; behind the last block, a key above all.
func firstKey(index *fb.TableIndex, block int) []byte {
	var o fb.BlockOffset
	if !index.Offsets(&o, block) {
		return []byte{0xff}
	}
	k := o.KeyBytes()
	return bytes.Clone(k[:len(k)-8])
}

// check reads the blocks that a call needs, or all, and lists the bad ones.
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
	b, err := f.readIndex(file)
	if err != nil {
		return err
	}
	index := fb.GetRootAsTableIndex(b, 0)
	n := index.OffsetsLength()
	if f.read == nil {
		f.read = make([]bool, n)
		if !f.known {
			f.sums = make([]uint32, n)
		}
	}
	first, end := 0, n
	if f.asks++; f.asks < patience {
		first = sort.Search(n, func(i int) bool { return bytes.Compare(firstKey(index, i), from) >= 0 })
		end = sort.Search(n, func(i int) bool { return bytes.Compare(firstKey(index, i), to) > 0 })
		first, end = max(first-1, 0), min(end+ahead, n)
	}
	if err := f.checkBlocks(file, index, first, end); err != nil {
		return err
	}
	if first == 0 && end == n {
		f.done.Store(true)
	}
	return nil
}

// checkBlocks reads those of the blocks from first to before end that were not
// read before.
func (f *tableFile) checkBlocks(file *os.File, index *fb.TableIndex, first, end int) error {
	var in *bufio.Reader // from the end of the last block read, nil if some was left out
	var block []byte
	for i := first; i < end; i++ {
		if f.read[i] {
			in = nil
			continue
		}
		var o fb.BlockOffset
		index.Offsets(&o, i)
		if in == nil {
			at := int64(o.Offset())
			in = bufio.NewReaderSize(io.NewSectionReader(file, at, f.index[0]-at), min(256<<10, (end-i)*8<<10))
		}
		if n := int(o.Len()); cap(block) < n {
			block = make([]byte, n)
		}
		block = block[:o.Len()]
		if _, err := io.ReadFull(in, block); err != nil {
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

// tail reads the last n bytes of a file.
func tail(f *os.File, size, n int64) ([]byte, error) {
	b := make([]byte, n)
	_, err := f.ReadAt(b, size-n)
	return b, err
}

// checkBlock holds a block to its checksum, and returns another one, CRC-32 (IEEE). Each
// record ends with its own CRC-32C, and the CRC-32C of what ends with its own is always
// the same: Badger's checksum does not tell two blocks of good records apart.
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

// lengthBefore reads the length at the end of b, of what lies before it in room
// bytes.
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

// cutChecksum splits off a checksum and the length behind it.
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
