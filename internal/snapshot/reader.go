package snapshot

import (
	"encoding/binary"
	"fmt"
)

// Reader reads values from the front of a section. The first error, which wraps ErrDamaged, is
// kept, and every later read returns zero. Not safe for concurrent use.
type Reader struct {
	s    *Section
	data []byte
	err  error
}

// Err returns the first error.
func (r *Reader) Err() error { return r.err }

// Len returns the number of bytes not yet read.
func (r *Reader) Len() int { return len(r.data) }

// Fail sets the error, if none is set yet.
func (r *Reader) Fail(format string, args ...any) {
	if r.err == nil {
		r.err = r.s.f.damage("section %q: %s", r.s.tag, fmt.Sprintf(format, args...))
		r.data = nil
	}
}

// Done fails if bytes are left, and returns the error.
func (r *Reader) Done() error {
	if len(r.data) > 0 {
		r.Fail("%d bytes too many", len(r.data))
	}
	return r.err
}

// Raw returns the next n bytes, which are the memory of the file.
func (r *Reader) Raw(n int) []byte {
	if n < 0 || n > len(r.data) {
		r.Fail("too short")
		return nil
	}
	b := r.data[:n:n]
	r.data = r.data[n:]
	return b
}

// U32, U64, Uvarint and Text read values written by the Writer's methods of the same names. A
// Uvarint must have its shortest form.
func (r *Reader) U32() uint32 {
	if b := r.Raw(4); len(b) == 4 {
		return binary.LittleEndian.Uint32(b)
	}
	return 0
}

func (r *Reader) U64() uint64 {
	if b := r.Raw(8); len(b) == 8 {
		return binary.LittleEndian.Uint64(b)
	}
	return 0
}

func (r *Reader) Uvarint() uint64 {
	v, n := binary.Uvarint(r.data)
	if n <= 0 || n > 1 && r.data[n-1] == 0 {
		r.Fail("a number is malformed")
		return 0
	}
	r.data = r.data[n:]
	return v
}

func (r *Reader) Text() string {
	n := r.Uvarint()
	if n > uint64(len(r.data)) {
		r.Fail("too short")
		return ""
	}
	return string(r.Raw(int(n)))
}

// Uint32s, Uint64s, Float32s and Float64s read n numbers, like the functions of those names.
func (r *Reader) Uint32s(n int) []uint32   { return Uint32s(r.many(n, 4)) }
func (r *Reader) Uint64s(n int) []uint64   { return Uint64s(r.many(n, 8)) }
func (r *Reader) Float32s(n int) []float32 { return Float32s(r.many(n, 4)) }
func (r *Reader) Float64s(n int) []float64 { return Float64s(r.many(n, 8)) }

func (r *Reader) many(n, size int) []byte {
	if n < 0 || n > len(r.data)/size {
		r.Fail("too short for %d numbers", n)
		return nil
	}
	return r.Raw(n * size)
}
