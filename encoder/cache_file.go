package encoder

import (
	"bufio"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"slices"
	"time"

	"github.com/lexsem/lexsem/internal/private"
)

// A file of a cache: magic, the length of the fingerprint in 4 bytes, the fingerprint as
// JSON, CRC-32C of the JSON in 4 bytes; then records, oldest first. The header tells
// encoders apart whose digests agree but whose vectors do not.

// errCacheHeader says that a file is not a cache of this encoder.
var errCacheHeader = errors.New("not a cache of this encoder")

// cacheFile is a file of a cache and the positions of its records. A goroutine that changes its fields holds
// both the turn to write and the lock of the Cache, so either suffices to read them. The index needs only the
// lock.
type cacheFile struct {
	layout
	path   string
	max    int64              // bytes
	f      *os.File           // nil where there is none
	print  Fingerprint        // in the header
	header int64              // bytes before the first record; 0 where there is no header of this encoder
	end    int64              // of the last record
	index  map[cacheKey]int64 // where the newest record of a key begins
	broken error              // why nothing is written any more
}

// open reads the file, whose header must match print; other content is ignored. For writing, it creates the
// file if needed and cuts off a torn record.
func (v *cacheFile) open(print Fingerprint, write bool) error {
	v.index = map[cacheKey]int64{}
	mode := os.O_RDONLY
	if write {
		mode = os.O_RDWR | os.O_CREATE
	}
	f, err := os.OpenFile(v.path, mode, private.File)
	if errors.Is(err, os.ErrNotExist) && !write {
		return nil
	}
	if err != nil {
		return err
	}
	v.f = f
	err = v.scan(print)
	known := err == nil
	if errors.Is(err, errCacheHeader) {
		err = nil
	}
	if !write {
		return err
	}
	if known {
		err = f.Truncate(v.end)
	}
	if now := time.Now(); err == nil {
		err = os.Chtimes(v.path, now, now) // by which package cachefile sees that it is in use
	}
	return err
}

func (v *cacheFile) close() error {
	v.index = nil
	if v.f == nil {
		return nil
	}
	return v.f.Close()
}

// scan reads the header and the heads of the records. It stops at a torn head or, if heads have checksums, a
// damaged one.
func (v *cacheFile) scan(print Fingerprint) error {
	info, err := v.f.Stat()
	if err != nil {
		return err
	}
	r := bufio.NewReaderSize(v.f, int(min(int64(v.buffer), info.Size())))
	fixed := make([]byte, len(v.magic)+4)
	if _, err := io.ReadFull(r, fixed); err != nil || string(fixed[:len(v.magic)]) != v.magic {
		return errCacheHeader
	}
	n := int64(binary.LittleEndian.Uint32(fixed[len(v.magic):]))
	if n+4 > info.Size() {
		return errCacheHeader
	}
	b := make([]byte, n+4)
	if _, err := io.ReadFull(r, b); err != nil {
		return errCacheHeader
	}
	var stored Fingerprint
	if crc32.Checksum(b[:n], castagnoli) != binary.LittleEndian.Uint32(b[n:]) || json.Unmarshal(b[:n], &stored) != nil {
		return errCacheHeader
	}
	if err := Check("cache", stored, print); err != nil {
		return fmt.Errorf("%w: %w", errCacheHeader, err)
	}
	v.print, v.header = stored, int64(len(fixed))+n+4
	v.end = v.header
	head := make([]byte, v.head)
	for v.end+int64(len(head)) <= info.Size() {
		if _, err := io.ReadFull(r, head); err != nil {
			return noneBehindEnd(err) // its writer has cut it meanwhile
		}
		size := v.size(head)
		if size == 0 || size > info.Size()-v.end {
			break
		}
		v.index[cacheKey(head)] = v.end
		v.end += size
		if rest := size - int64(len(head)); rest <= int64(r.Buffered()) {
			_, err = r.Discard(int(rest))
		} else {
			_, err = v.f.Seek(v.end, io.SeekStart)
			r.Reset(v.f)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// begin creates or empties the file and writes the header.
func (v *cacheFile) begin(print Fingerprint) error {
	j, err := json.Marshal(print)
	if err != nil {
		return err
	}
	b := binary.LittleEndian.AppendUint32([]byte(v.magic), uint32(len(j)))
	b = binary.LittleEndian.AppendUint32(append(b, j...), crc32.Checksum(j, castagnoli))
	v.index, v.header, v.end = map[cacheKey]int64{}, 0, 0
	if v.f == nil {
		if v.f, err = os.OpenFile(v.path, os.O_RDWR|os.O_CREATE, private.File); err != nil {
			v.f = nil
			return err
		}
	}
	if err := v.f.Truncate(0); err != nil {
		return err
	}
	if _, err := v.f.WriteAt(b, 0); err != nil {
		return err
	}
	v.print, v.header, v.end = print, int64(len(b)), int64(len(b))
	return nil
}

// recordAt reads the record that begins at a position of f and ends at or before end; nil if there is none.
func (l layout) recordAt(f io.ReaderAt, at, end int64) ([]byte, error) {
	head := make([]byte, l.head)
	if _, err := f.ReadAt(head, at); err != nil {
		return nil, noneBehindEnd(err)
	}
	size := l.size(head)
	if size == 0 || size > end-at {
		return nil, nil
	}
	b := append(make([]byte, 0, size), head...)[:size]
	if _, err := f.ReadAt(b[l.head:], at+int64(l.head)); err != nil {
		return nil, noneBehindEnd(err)
	}
	return b, nil
}

func noneBehindEnd(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return nil
	}
	return err
}

// write appends records, and returns where each begins.
func (v *cacheFile) write(records [][]byte) (at []int64, end int64, err error) {
	end = v.end
	w := bufio.NewWriterSize(io.NewOffsetWriter(v.f, end), 1<<20)
	for _, r := range records {
		at = append(at, end)
		end += int64(len(r))
		if _, err := w.Write(r); err != nil {
			return nil, 0, err
		}
	}
	return at, end, w.Flush()
}

// half writes the newer half of the file to temp and closes it. The records begin at places.
func (v *cacheFile) half(temp string, places []int64) (_ *cacheFile, err error) {
	half := &cacheFile{layout: v.layout, path: temp}
	if err := half.begin(v.print); err != nil {
		return half, err
	}
	defer func() { err = errors.Join(err, half.f.Close()) }()
	slices.Sort(places)
	middle := v.header + (v.end-v.header)/2
	w := bufio.NewWriterSize(io.NewOffsetWriter(half.f, half.end), 1<<20)
	for _, at := range places {
		if at < middle {
			continue
		}
		b, err := v.recordAt(v.f, at, v.end)
		if err != nil {
			return half, err
		}
		if b == nil { // damaged
			continue
		}
		if _, err := w.Write(b); err != nil {
			return half, err
		}
		half.index[cacheKey(b)] = half.end
		half.end += int64(len(b))
	}
	return half, w.Flush()
}
