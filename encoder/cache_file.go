package encoder

import (
	"bufio"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"math"
	"os"
)

// The file of a cache: magic, the length of the fingerprint in 4 bytes, the
// fingerprint as JSON, CRC-32C of the JSON in 4 bytes; then records of equal
// size, oldest first: key, vector, CRC-32C of both. All numbers are little
// endian. The header tells encoders apart whose digests agree but whose
// vectors do not.
const (
	cacheMagic   = "lexsemV1"
	cacheKeySize = 16
)

type cacheKey [cacheKeySize]byte

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// errCacheHeader says that a file is not a cache of this encoder.
var errCacheHeader = errors.New("not a cache of this encoder")

// vectorFile is an open cache file and where its records are.
type vectorFile struct {
	f      *os.File
	print  Fingerprint // in the header
	dim    int
	header int64            // bytes before the first record
	index  map[cacheKey]int // number of the newest record of a key
	count  int              // records in the file
}

func (v *vectorFile) recordSize() int64     { return int64(cacheKeySize + 4*v.dim + 4) }
func (v *vectorFile) position(n int) int64  { return v.header + int64(n)*v.recordSize() }
func (v *vectorFile) size() int64           { return v.position(v.count) }
func (v *vectorFile) has(key cacheKey) bool { _, ok := v.index[key]; return ok }

// readVectorFile reads the header of f, which must match print, and the keys.
// A torn record at the end is not counted. On an error f stays open.
func readVectorFile(f *os.File, print Fingerprint) (*vectorFile, error) {
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return nil, err
	}
	r := bufio.NewReaderSize(f, 1<<20)
	var fixed [len(cacheMagic) + 4]byte
	if _, err := io.ReadFull(r, fixed[:]); err != nil || string(fixed[:len(cacheMagic)]) != cacheMagic {
		return nil, errCacheHeader
	}
	n := int64(binary.LittleEndian.Uint32(fixed[len(cacheMagic):]))
	if n+4 > info.Size() {
		return nil, errCacheHeader
	}
	b := make([]byte, n+4)
	if _, err := io.ReadFull(r, b); err != nil {
		return nil, errCacheHeader
	}
	var stored Fingerprint
	if crc32.Checksum(b[:n], castagnoli) != binary.LittleEndian.Uint32(b[n:]) || json.Unmarshal(b[:n], &stored) != nil {
		return nil, errCacheHeader
	}
	if err := Check("cache", stored, print); err != nil {
		return nil, fmt.Errorf("%w: %w", errCacheHeader, err)
	}
	v := &vectorFile{f: f, print: stored, dim: print.Dim, header: int64(len(fixed)) + n + 4, index: map[cacheKey]int{}}
	v.count = int((info.Size() - v.header) / v.recordSize())
	var key cacheKey
	for i := range v.count {
		if _, err := io.ReadFull(r, key[:]); err != nil {
			return nil, err
		}
		if _, err := r.Discard(int(v.recordSize()) - cacheKeySize); err != nil {
			return nil, err
		}
		v.index[key] = i
	}
	return v, nil
}

// newVectorFile empties f and writes the header.
func newVectorFile(f *os.File, print Fingerprint) (*vectorFile, error) {
	j, err := json.Marshal(print)
	if err != nil {
		return nil, err
	}
	b := binary.LittleEndian.AppendUint32([]byte(cacheMagic), uint32(len(j)))
	b = append(b, j...)
	b = binary.LittleEndian.AppendUint32(b, crc32.Checksum(j, castagnoli))
	if err := f.Truncate(0); err != nil {
		return nil, err
	}
	if _, err := f.WriteAt(b, 0); err != nil {
		return nil, err
	}
	return &vectorFile{f: f, print: print, dim: print.Dim, header: int64(len(b)), index: map[cacheKey]int{}}, nil
}

// get returns the vector of key, nil where there is none or a damaged one.
func (v *vectorFile) get(key cacheKey) (vector []float32, damaged bool, err error) {
	n, ok := v.index[key]
	if !ok {
		return nil, false, nil
	}
	b := make([]byte, v.recordSize())
	if _, err := v.f.ReadAt(b, v.position(n)); err != nil && err != io.EOF {
		return nil, false, err
	}
	end := len(b) - 4
	if cacheKey(b) != key || crc32.Checksum(b[:end], castagnoli) != binary.LittleEndian.Uint32(b[end:]) {
		return nil, true, nil
	}
	vector = make([]float32, v.dim)
	for i := range vector {
		vector[i] = math.Float32frombits(binary.LittleEndian.Uint32(b[cacheKeySize+4*i:]))
	}
	return vector, false, nil
}

// appendRecord appends the record of key to b.
func appendRecord(b []byte, key cacheKey, vector []float32) []byte {
	start := len(b)
	b = append(b, key[:]...)
	for _, x := range vector {
		b = binary.LittleEndian.AppendUint32(b, math.Float32bits(x))
	}
	return binary.LittleEndian.AppendUint32(b, crc32.Checksum(b[start:], castagnoli))
}

// put writes records, made by appendRecord for keys, behind the last one.
func (v *vectorFile) put(keys []cacheKey, records []byte) error {
	if _, err := v.f.WriteAt(records, v.size()); err != nil {
		return err
	}
	for _, key := range keys {
		v.index[key] = v.count
		v.count++
	}
	return nil
}

// keep copies the newest n records into to, an empty vectorFile, leaving out
// those that a newer record of the same key replaces.
func (v *vectorFile) keep(to *vectorFile, n int) error {
	b := make([]byte, v.recordSize())
	w := bufio.NewWriterSize(io.NewOffsetWriter(to.f, to.header), 1<<20)
	for i := max(0, v.count-n); i < v.count; i++ {
		if _, err := v.f.ReadAt(b, v.position(i)); err != nil {
			return err
		}
		if key := cacheKey(b); v.index[key] == i {
			if _, err := w.Write(b); err != nil {
				return err
			}
			to.index[key] = to.count
			to.count++
		}
	}
	return w.Flush()
}
