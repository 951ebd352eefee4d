package snapshot

import (
	"encoding/binary"
	"unsafe"
)

type number interface {
	int8 | uint32 | uint64 | float32 | float64
}

// little reports whether the CPU stores the low byte first, as files do.
var little = binary.NativeEndian.Uint16([]byte{1, 0}) == 1

// Uint32s, Uint64s, Float32s, Float64s and Int8s return the numbers in b; bytes after the last whole
// number are ignored. If b is aligned and the CPU is little-endian, the result is the memory itself,
// otherwise a copy.
func Uint32s(b []byte) []uint32   { return numbers[uint32](b) }
func Uint64s(b []byte) []uint64   { return numbers[uint64](b) }
func Float32s(b []byte) []float32 { return numbers[float32](b) }
func Float64s(b []byte) []float64 { return numbers[float64](b) }
func Int8s(b []byte) []int8       { return numbers[int8](b) }

func numbers[T number](b []byte) []T {
	var zero T
	size := int(unsafe.Sizeof(zero))
	n := len(b) / size
	if n == 0 {
		return nil
	}
	p := unsafe.Pointer(&b[0])
	if size == 1 || little && uintptr(p)%uintptr(size) == 0 {
		return unsafe.Slice((*T)(p), n)
	}
	out := make([]T, n)
	copy(unsafe.Slice((*byte)(unsafe.Pointer(&out[0])), n*size), b)
	swap(out)
	return out
}

// memory is v as bytes in the order of files.
func memory[T number](v []T) []byte {
	if len(v) == 0 {
		return nil
	}
	if !little {
		v = append([]T(nil), v...)
		swap(v)
	}
	return unsafe.Slice((*byte)(unsafe.Pointer(&v[0])), len(v)*int(unsafe.Sizeof(v[0])))
}

// swap converts numbers between the byte orders of files and CPU, in place.
func swap[T number](v []T) {
	if little {
		return
	}
	for i := range v {
		b := unsafe.Slice((*byte)(unsafe.Pointer(&v[i])), unsafe.Sizeof(v[i]))
		for l, r := 0, len(b)-1; l < r; l, r = l+1, r-1 {
			b[l], b[r] = b[r], b[l]
		}
	}
}
