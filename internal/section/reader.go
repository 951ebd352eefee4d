package section

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"math"
	"unsafe"
)

// Reader takes sections and numbers off the front of data. The first error
// sticks, and everything after it reads as zero.
type Reader struct {
	data    []byte
	corrupt error
	err     error
	parent  *Reader
}

// NewReader reads data; its errors wrap corrupt.
func NewReader(data []byte, corrupt error) *Reader { return &Reader{data: data, corrupt: corrupt} }

// Err is the first error.
func (r *Reader) Err() error { return r.err }

// Len is the number of bytes not yet read.
func (r *Reader) Len() int { return len(r.data) }

// Fail sets the error, if there is none yet, of r and of what it is a section
// of.
func (r *Reader) Fail(format string, args ...any) {
	r.Set(fmt.Errorf("%s: %w", fmt.Sprintf(format, args...), r.corrupt))
}

// Set is Fail with an error of another kind.
func (r *Reader) Set(err error) {
	for ; r != nil; r = r.parent {
		if r.err == nil {
			r.err = err
		}
	}
}

// Section returns a reader of the payload of the next section, which must have
// the tag, past padding. Its errors are r's as well.
func (r *Reader) Section(tag string) *Reader {
	for len(r.data) >= head && string(r.data[:4]) == pad && tag != pad && r.err == nil {
		r.Section(pad)
	}
	s := &Reader{corrupt: r.corrupt, parent: r, err: r.err}
	switch {
	case r.err != nil:
	case len(r.data) < head+foot || string(r.data[:4]) != tag:
		s.Fail("section %q is missing", tag)
	default:
		n := binary.LittleEndian.Uint64(r.data[4:])
		if n > uint64(len(r.data)-head-foot) {
			s.Fail("section %q is cut off", tag)
			break
		}
		stop := head + int(n)
		if crc32.Checksum(r.data[:stop], castagnoli) != binary.LittleEndian.Uint32(r.data[stop:]) {
			s.Fail("section %q has a wrong checksum", tag)
			break
		}
		s.data, r.data = r.data[head:stop:stop], r.data[stop+foot:]
	}
	return s
}

// End says that only the section that ends all is left.
func (r *Reader) End() {
	r.Section(end).Done()
	if r.err == nil && len(r.data) > 0 {
		r.Fail("%d bytes behind the end", len(r.data))
	}
}

// Done says that the section should be used up.
func (r *Reader) Done() {
	if r.err == nil && len(r.data) > 0 {
		r.Fail("section has %d bytes too many", len(r.data))
	}
}

// Raw returns the next n bytes, a part of the data.
func (r *Reader) Raw(n uint64) []byte {
	if r.err == nil && uint64(len(r.data)) < n {
		r.Fail("section is too short")
	}
	if r.err != nil {
		return nil
	}
	b := r.data[:n:n]
	r.data = r.data[n:]
	return b
}

// U8 reads a byte, U32 and U64 integers of fixed length.
func (r *Reader) U8() byte {
	if b := r.Raw(1); b != nil {
		return b[0]
	}
	return 0
}

func (r *Reader) U32() uint32 {
	if b := r.Raw(4); b != nil {
		return binary.LittleEndian.Uint32(b)
	}
	return 0
}

func (r *Reader) U64() uint64 {
	if b := r.Raw(8); b != nil {
		return binary.LittleEndian.Uint64(b)
	}
	return 0
}

// Varint reads an integer of 7 bits a byte, in its shortest form.
func (r *Reader) Varint() uint64 {
	if r.err != nil {
		return 0
	}
	v, n := binary.Uvarint(r.data)
	if n <= 0 || n > 1 && r.data[n-1] == 0 {
		r.Fail("a number is malformed")
		return 0
	}
	r.data = r.data[n:]
	return v
}

// Text reads what Writer.Text wrote.
func (r *Reader) Text() string { return string(r.Raw(uint64(r.U32()))) }

// Floats returns the next n numbers. If they lie in memory as the CPU has them
// they are a part of the data, and shared is true.
func (r *Reader) Floats(n int) (f []float32, shared bool) {
	b := r.Raw(4 * uint64(n))
	if len(b) == 0 {
		return nil, false
	}
	p := unsafe.Pointer(&b[0])
	if little && uintptr(p)%4 == 0 {
		return unsafe.Slice((*float32)(p), n), true
	}
	f = make([]float32, n)
	for i := range f {
		f[i] = math.Float32frombits(binary.LittleEndian.Uint32(b[4*i:]))
	}
	return f, false
}

// little says that the CPU keeps the low byte first.
var little = binary.NativeEndian.Uint16([]byte{1, 0}) == 1
