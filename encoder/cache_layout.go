package encoder

import (
	"encoding/binary"
	"hash/crc32"
	"math"

	"github.com/lexsem/lexsem/internal/vec"
)

const (
	vectorsMagic = "lexsemV1"
	statesMagic  = "lexsemS1"

	cacheKeySize = 16
	stateHead    = cacheKeySize + 4 + 4
)

type cacheKey [cacheKeySize]byte

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// layout describes a record: a head, which begins with the key and holds the size, then
// numbers, then CRC-32C of all before. All numbers are little endian.
type layout struct {
	magic string
	// head is how many bytes of a record tell its size.
	head int
	// buffer is the number of bytes read at once while heads are read one after the other.
	buffer int
	// size is the size of the record with a head; 0 if the head is invalid.
	size func(head []byte) int64
	// add appends numbers to a record that begins with its key.
	add func(record []byte, x []float32) []byte
	// numbers decodes a record without its checksum.
	numbers func(record []byte) []float32
}

// record is the record of a key and its numbers.
func (l layout) record(key cacheKey, x []float32) []byte { return sealed(l.add(key[:], x)) }

// read returns the numbers of a record, nil if it is not the whole record of key.
func (l layout) read(key cacheKey, record []byte) []float32 {
	end := len(record) - 4
	if end < l.head || cacheKey(record) != key || crc32.Checksum(record[:end], castagnoli) != binary.LittleEndian.Uint32(record[end:]) {
		return nil
	}
	return l.numbers(record[:end])
}

// sealed appends the checksum of b.
func sealed(b []byte) []byte {
	return binary.LittleEndian.AppendUint32(b, crc32.Checksum(b, castagnoli))
}

// vectorLayout is the layout of vectors, records of equal size: key, dim float32, checksum.
func vectorLayout(dim int) layout {
	return layout{
		magic: vectorsMagic, head: cacheKeySize, buffer: 1 << 20,
		size: func([]byte) int64 { return int64(cacheKeySize + 4*dim + 4) },
		add: func(b []byte, x []float32) []byte {
			for _, v := range x {
				b = binary.LittleEndian.AppendUint32(b, math.Float32bits(v))
			}
			return b
		},
		numbers: func(b []byte) []float32 {
			x := make([]float32, dim)
			for i := range x {
				x[i] = float32At(b[cacheKeySize+4*i:])
			}
			return x
		},
	}
}

// stateLayout is the layout of token states: key, number of rows in 4 bytes, CRC-32C of both;
// then for each row its scale, a float32, and dim signed bytes, which are multiplied by the
// scale; the checksum. As the head has its own checksum, the next record is always found.
func stateLayout(dim int) layout {
	row := 4 + dim
	return layout{
		magic: statesMagic, head: stateHead, buffer: 512, // records are much larger
		size: func(head []byte) int64 {
			if crc32.Checksum(head[:stateHead-4], castagnoli) != binary.LittleEndian.Uint32(head[stateHead-4:]) {
				return 0
			}
			return stateHead + int64(binary.LittleEndian.Uint32(head[cacheKeySize:]))*int64(row) + 4
		},
		add: func(b []byte, x []float32) []byte {
			n := len(x) / dim
			b = append(make([]byte, 0, stateHead+n*row+4), b...)
			b = sealed(binary.LittleEndian.AppendUint32(b, uint32(n)))
			codes := make([]int8, dim)
			for i := range n {
				scale := vec.QuantizeInt8(codes, x[i*dim:(i+1)*dim])
				b = binary.LittleEndian.AppendUint32(b, math.Float32bits(scale))
				for _, c := range codes {
					b = append(b, byte(c))
				}
			}
			return b
		},
		numbers: func(b []byte) []float32 {
			x := make([]float32, 0, (len(b)-stateHead)/row*dim)
			for b = b[stateHead:]; len(b) > 0; b = b[row:] {
				scale := float32At(b)
				for _, c := range b[4:row] {
					x = append(x, scale*float32(int8(c)))
				}
			}
			return x
		},
	}
}

func float32At(b []byte) float32 { return math.Float32frombits(binary.LittleEndian.Uint32(b)) }
