// Package vectors reads, writes and makes sets of vectors for the rooms of package bench.
package vectors

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
)

// ErrFile: the header of a vector file disagrees with its length, or its values are not usable.
var ErrFile = errors.New("bad vector file")

// Set are n vectors of length Dim, row-major in Data. The .fbin format holds the same: uint32 n,
// uint32 d, then n·d float32, all little-endian.
type Set struct {
	Dim  int
	Data []float32
}

// Len returns the number of vectors.
func (v *Set) Len() int {
	if v.Dim == 0 {
		return 0
	}
	return len(v.Data) / v.Dim
}

// Row returns vector i, which aliases Data.
func (v *Set) Row(i int) []float32 { return v.Data[i*v.Dim : (i+1)*v.Dim : (i+1)*v.Dim] }

// Read reads an .fbin file. It returns ErrFile if the header disagrees with the file's
// length or a value is NaN or infinite. Memory 4·n·d bytes.
func Read(path string) (*Set, error) {
	v := &Set{}
	err := readBin(path, func(i int, bits uint32) error {
		x := math.Float32frombits(bits)
		if x-x != 0 {
			return fmt.Errorf("value %d is not finite; write the file anew", i)
		}
		v.Data[i] = x
		return nil
	}, func(n, d int) {
		v.Dim, v.Data = d, make([]float32, n*d)
	})
	if err != nil {
		return nil, err
	}
	return v, nil
}

// Truth holds the nearest neighbours of each query, nearest first: row-major [queries × K] positions
// in the base file. The .ibin format is like .fbin, with int32 values.
type Truth struct {
	K   int
	IDs []int32
}

// ReadTruth reads an .ibin file whose values are positions below base. It returns the errors of
// Read.
func ReadTruth(path string, base int) (*Truth, error) {
	t := &Truth{}
	err := readBin(path, func(i int, bits uint32) error {
		id := int32(bits)
		if id < 0 || int(id) >= base {
			return fmt.Errorf("value %d names vector %d of a base of %d; use the truth of this base", i, id, base)
		}
		t.IDs[i] = id
		return nil
	}, func(n, d int) {
		t.K, t.IDs = d, make([]int32, n*d)
	})
	if err != nil {
		return nil, err
	}
	return t, nil
}

// readBin reads the layout that both kinds share. It allocates by the header
// only after the file's length has confirmed it.
func readBin(path string, put func(i int, bits uint32) error, size func(n, d int)) error {
	f, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("opening a vector file: %w", err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return fmt.Errorf("opening a vector file: %w", err)
	}
	if err := decodeBin(f, info.Size(), put, size); err != nil {
		return fmt.Errorf("%w: %s: %w", ErrFile, path, err)
	}
	return nil
}

func decodeBin(r io.Reader, length int64, put func(i int, bits uint32) error, size func(n, d int)) error {
	br := bufio.NewReaderSize(r, 1<<20)
	var head [8]byte
	if _, err := io.ReadFull(br, head[:]); err != nil {
		return fmt.Errorf("shorter than its header of 8 bytes; write the file anew")
	}
	n, d := uint64(binary.LittleEndian.Uint32(head[:4])), uint64(binary.LittleEndian.Uint32(head[4:]))
	// n·d stays below 2^64, 4·n·d + 8 may not: compare by division.
	if values := uint64(length-8) / 4; length%4 != 0 || n*d != values || n == 0 || d == 0 {
		return fmt.Errorf("the header says %d vectors of dimension %d, the length of %d bytes holds %d values; write the file anew", n, d, length, values)
	}
	size(int(n), int(d))
	buf := make([]byte, 64<<10)
	for i, total := 0, int(n*d); i < total; {
		part := buf[:min(len(buf), 4*(total-i))]
		if _, err := io.ReadFull(br, part); err != nil {
			return fmt.Errorf("cut short: %w", err)
		}
		for ; len(part) > 0; part = part[4:] {
			if err := put(i, binary.LittleEndian.Uint32(part)); err != nil {
				return err
			}
			i++
		}
	}
	return nil
}

// Write writes v in the .fbin format.
func Write(w io.Writer, v *Set) error {
	return encodeBin(w, v.Len(), v.Dim, func(i int) uint32 { return math.Float32bits(v.Data[i]) })
}

func encodeBin(w io.Writer, n, d int, at func(i int) uint32) error {
	if n < 1 || d < 1 || n > math.MaxUint32 || d > math.MaxUint32 {
		return fmt.Errorf("%w: %d vectors of dimension %d; the layout holds 1 to 2^32-1 of either", ErrFile, n, d)
	}
	bw := bufio.NewWriterSize(w, 1<<20)
	var b [4]byte
	put := func(x uint32) {
		binary.LittleEndian.PutUint32(b[:], x)
		bw.Write(b[:])
	}
	put(uint32(n))
	put(uint32(d))
	for i := range n * d {
		put(at(i))
	}
	if err := bw.Flush(); err != nil {
		return fmt.Errorf("writing a vector file: %w", err)
	}
	return nil
}
