package store

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"sync"

	"github.com/klauspost/compress/zstd"

	"github.com/lexsem/lexsem/internal/limit"
)

// Short records take less space than the others, and hold the same: texts are compressed, and a vector whose
// components are whole multiples, below 2^15, of a power of two takes two bytes a component. ShortVector makes
// such vectors. A database has short records if its manifest says so; readers tell by the first byte.
const recordShort = 5

// recordImpacts is the first byte of short rows with impacts.
const recordImpacts = 6

const (
	mostShort = math.MaxInt16
	longRow   = math.MinInt8 // in place of the exponent: float32 follow
)

// ShortVector returns a copy of v whose components a short record can hold. Rounding moves a component by at most 2^-14
// of the largest one. In a vector of length 1, some components then move by one more step, so that the length is 1 again.
func ShortVector(v []float32) []float32 {
	e, ks, sum := exponentOf(v), make([]float64, len(v)), 0.0
	for i, x := range v {
		ks[i] = min(max(math.RoundToEven(math.Ldexp(float64(x), -e)), -mostShort), mostShort)
		sum += ks[i] * ks[i]
	}
	if one := math.Ldexp(1, -2*e); math.Abs(sum-one) < one/64 {
		ks = lengthen(ks, sum, one)
	}
	u := make([]float32, len(v))
	for i, k := range ks {
		u[i] = float32(math.Ldexp(k+0, e)) // + 0: there is no -0
	}
	return u
}

// lengthen returns ks with components moved by one step, each at most once, so that the sum of their squares comes
// near to one: a length of 1 within 2^-25 is one for float32. If it cannot, it returns ks.
func lengthen(ks []float64, sum, one float64) []float64 {
	moved, steps := slices.Clone(ks), make([]bool, len(ks))
	for math.Abs(sum-one) > math.Ldexp(one, -25) {
		at, by, best := -1, 0.0, math.Abs(sum-one)
		for i, k := range moved {
			for _, step := range []float64{-1, 1} {
				if d := math.Abs(sum + 2*k*step + 1 - one); d < best && !steps[i] && math.Abs(k+step) <= mostShort {
					at, by, best = i, step, d
				}
			}
		}
		if at < 0 {
			return ks
		}
		sum += 2*moved[at]*by + 1
		moved[at], steps[at] = moved[at]+by, true
	}
	return moved
}

// exponentOf is the e for which the largest component is less than 2^15 times 2^e.
func exponentOf(v []float32) int {
	var top float64
	for _, x := range v {
		top = max(top, math.Abs(float64(x)))
	}
	_, e := math.Frexp(top)
	return max(e-15, longRow+1)
}

// appendVector appends a vector in short form, if that is exact.
func appendVector(dst []byte, v []float32) []byte {
	e, at := exponentOf(v), len(dst)
	dst = append(dst, byte(int8(min(e, math.MaxInt8))))
	for _, x := range v {
		k := math.Ldexp(float64(x), -e)
		if k != math.Trunc(k) || math.Abs(k) > mostShort || k == 0 && math.Signbit(k) {
			dst = append(dst[:at], byte(longRow&0xff))
			for _, x := range v {
				dst = binary.LittleEndian.AppendUint32(dst, math.Float32bits(x))
			}
			return dst
		}
		dst = binary.LittleEndian.AppendUint16(dst, uint16(int16(k)))
	}
	return dst
}

// shortVector takes the bytes of a vector of dim components.
func (r *reader) shortVector(dim uint64) (e int, raw []byte) {
	if dim == 0 {
		return 0, nil
	}
	e = int(int8(r.byte()))
	size := uint64(2)
	if e == longRow {
		size = 4
	}
	if dim > uint64(len(r.p))/size {
		r.fail()
		return 0, nil
	}
	raw, r.p = r.p[:size*dim], r.p[size*dim:]
	return e, raw
}

// appendShort appends the components of a vector that shortVector took.
func appendShort(v []float32, e int, raw []byte) []float32 {
	if e == longRow {
		return appendFloats(v, raw)
	}
	unit := float32(math.Ldexp(1, e))
	v = slices.Grow(v, len(raw)/2)
	for ; len(raw) > 0; raw = raw[2:] {
		v = append(v, float32(int16(binary.LittleEndian.Uint16(raw)))*unit)
	}
	return v
}

func appendFloats(v []float32, raw []byte) []float32 {
	v = slices.Grow(v, len(raw)/4)
	for ; len(raw) > 0; raw = raw[4:] {
		v = append(v, math.Float32frombits(binary.LittleEndian.Uint32(raw)))
	}
	return v
}

// leastZstd is the length from which a text is compressed. Shorter ones gain little, and a search of words that shows
// ten of them took a sixth longer.
const leastZstd = 512

// shortDocument returns the record of a document in short form, or as it is if that is not shorter.
func shortDocument(record []byte) []byte {
	if len(record) < leastZstd {
		return record
	}
	head := binary.AppendUvarint([]byte{recordShort}, uint64(len(record)))
	if b := zstdWriter().EncodeAll(record, head); len(b) < len(record) {
		return b
	}
	return record
}

// longDocument is the inverse of shortDocument.
func longDocument(p []byte) ([]byte, error) {
	if len(p) == 0 || p[0] != recordShort {
		return p, nil
	}
	r := reader{p: p[1:]}
	n := r.uvarint()
	if r.err != nil || n == 0 || n > limit.DocumentBytes+1<<20 {
		return nil, fmt.Errorf("%w: compressed text of %d bytes", errRecord, n)
	}
	d, err := zstdReader()
	if err != nil {
		return nil, err
	}
	b, err := d.DecodeAll(r.p, make([]byte, 0, min(n, 64*uint64(len(r.p)))))
	if err != nil || uint64(len(b)) != n || b[0] == recordShort {
		return nil, fmt.Errorf("%w: compressed text: %d bytes, want %d: %v", errRecord, len(b), n, err)
	}
	return b, nil
}

var (
	zstdWriter = sync.OnceValue(func() *zstd.Encoder {
		w, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(2), zstd.WithEncoderCRC(false), zstd.WithLowerEncoderMem(true))
		if err != nil {
			panic(err) // of options alone
		}
		return w
	})
	zstdReader = sync.OnceValues(func() (*zstd.Decoder, error) {
		return zstd.NewReader(nil, zstd.WithDecoderConcurrency(2), zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxMemory(limit.DocumentBytes+1<<20))
	})
)
