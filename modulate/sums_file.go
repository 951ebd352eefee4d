package modulate

import (
	"encoding/binary"
	"fmt"
	"hash"
	"hash/crc32"
	"io"
	"math"
)

// A sums file, all numbers little-endian:
//
//	"LEXSEMSM"  magic, 8 bytes
//	uint32      format version, 1
//	uint32      d
//	uint32      |V|
//	uint64      N
//	uint32      n, the number of tokens that follow
//	float64 × d            Σx
//	float64 × d(d+1)/2     Σxxᵀ, upper triangle by rows
//	n × (uint32 id, uint32 df, float64 × d s_t), ids ascending
//	uint32      CRC-32C of all bytes before it
const (
	sumsMagic   = "LEXSEMSM"
	sumsVersion = 1
)

// WriteTo writes a snapshot of the sums to w and returns its length in bytes.
// Changes wait meanwhile.
func (s *Sums) WriteTo(w io.Writer) (int64, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	out := newSnapshotWriter(w)
	tokens := 0
	for _, r := range s.slot {
		if r >= 0 {
			tokens++
		}
	}
	out.write([]byte(sumsMagic))
	out.u32(sumsVersion)
	out.u32(uint32(s.dim))
	out.u32(uint32(len(s.slot)))
	out.u64(uint64(s.n))
	out.u32(uint32(tokens))
	out.float64s(s.total)
	for i := range s.dim {
		out.float64s(s.gram[i*s.dim+i : (i+1)*s.dim])
	}
	for t, r := range s.slot {
		if r >= 0 {
			out.u32(uint32(t))
			out.u32(uint32(s.df[t]))
			out.float64s(s.rows[r])
		}
	}
	return out.finish("sums")
}

// ReadFrom replaces the sums by the snapshot read from r and returns the
// number of bytes it took, the snapshot's own and no more. A snapshot of
// another dimension or vocabulary, or a damaged one, is an ErrCorrupt and
// leaves the sums as they were.
func (s *Sums) ReadFrom(r io.Reader) (int64, error) {
	in := &sumsReader{r: r, crc: crc32.New(castagnoli)}
	next, err := in.sums(s.dim, len(s.slot))
	if err != nil {
		return in.n, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.n, s.total, s.gram = next.n, next.total, next.gram
	s.slot, s.df, s.rows, s.free = next.slot, next.df, next.rows, nil
	s.skip()
	return in.n, nil
}

type sumsReader struct {
	r   io.Reader
	crc hash.Hash32
	n   int64
	err error
	buf []byte
}

func (in *sumsReader) sums(dim, vocab int) (*Sums, error) {
	corrupt := func(why string) (*Sums, error) {
		if in.err != nil {
			why = in.err.Error()
		}
		return nil, fmt.Errorf("%w: sums: %s; rebuild them from the passages", ErrCorrupt, why)
	}
	head := in.read(8)
	if in.err != nil || string(head) != sumsMagic {
		return corrupt("not a snapshot of sums")
	}
	if v := in.u32(); in.err != nil || v != sumsVersion {
		return corrupt(fmt.Sprintf("format version %d, this program reads %d", v, sumsVersion))
	}
	if d, v := in.u32(), in.u32(); in.err != nil || int(d) != dim || int(v) != vocab {
		return corrupt(fmt.Sprintf("dimension %d and vocabulary %d where %d and %d are in use", d, v, dim, vocab))
	}
	var n uint64
	if b := in.read(8); in.err == nil {
		n = binary.LittleEndian.Uint64(b)
	}
	tokens := in.u32()
	if in.err != nil || n > math.MaxInt32 || int(tokens) > vocab {
		return corrupt(fmt.Sprintf("%d passages and %d tokens", n, tokens))
	}
	s := NewSums(dim, vocab)
	s.n = int(n)
	in.floats(s.total)
	for i := range dim {
		in.floats(s.gram[i*dim+i : (i+1)*dim])
	}
	last := -1
	for range tokens {
		t, df := int(in.u32()), in.u32()
		if in.err != nil || t <= last || t >= vocab || df == 0 || uint64(df) > n {
			return corrupt(fmt.Sprintf("token %d with document frequency %d", t, df))
		}
		last = t
		s.df[t] = int32(df)
		in.floats(s.row(int32(t)))
		if in.err != nil {
			return corrupt("")
		}
	}
	sum := in.crc.Sum32()
	if got := in.u32(); in.err != nil || got != sum {
		return corrupt("checksum differs")
	}
	return s, nil
}

// read returns the next n bytes, valid until the next call; after an error
// they are zeros.
func (in *sumsReader) read(n int) []byte {
	if cap(in.buf) < n {
		in.buf = make([]byte, n)
	}
	b := in.buf[:n]
	if in.err != nil {
		clear(b)
		return b
	}
	var k int
	if k, in.err = io.ReadFull(in.r, b); in.err == nil {
		in.crc.Write(b)
	}
	in.n += int64(k)
	return b
}

func (in *sumsReader) u32() uint32 { return binary.LittleEndian.Uint32(in.read(4)) }

func (in *sumsReader) floats(x []float64) {
	b := in.read(8 * len(x))
	for i := range x {
		x[i] = math.Float64frombits(binary.LittleEndian.Uint64(b[8*i:]))
		if in.err == nil && x[i]-x[i] != 0 {
			in.err = fmt.Errorf("a number that is not finite")
		}
	}
}
