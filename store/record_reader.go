package store

import (
	"encoding/binary"
	"fmt"

	"github.com/lexsem/lexsem/internal/limit"
)

func appendNumbers(dst []byte, ns ...uint64) []byte {
	for _, n := range ns {
		dst = binary.LittleEndian.AppendUint64(dst, n)
	}
	return dst
}

func decodeNumbers(p []byte, ns ...*uint64) error {
	if len(p) != 8*len(ns) {
		return fmt.Errorf("%w: %d bytes, want %d", errRecord, len(p), 8*len(ns))
	}
	for i, n := range ns {
		*n = binary.LittleEndian.Uint64(p[8*i:])
	}
	return nil
}

// appendBytes appends bytes preceded by their number, in the format of reader.bytes.
func appendBytes[T string | []byte](dst []byte, b T) []byte {
	return append(binary.AppendUvarint(dst, uint64(len(b))), b...)
}

// reader decodes from the front of p and keeps the first error, after which it returns
// zeros.
type reader struct {
	p   []byte
	err error
}

func (r *reader) fail() {
	if r.err == nil {
		r.err = fmt.Errorf("%w: ends early", errRecord)
	}
	r.p = nil
}

func (r *reader) byte() byte {
	if len(r.p) == 0 {
		r.fail()
		return 0
	}
	b := r.p[0]
	r.p = r.p[1:]
	return b
}

func (r *reader) uvarint() uint64 {
	n, k := binary.Uvarint(r.p)
	if k <= 0 {
		r.fail()
		return 0
	}
	r.p = r.p[k:]
	return n
}

func (r *reader) varint() int64 {
	n, k := binary.Varint(r.p)
	if k <= 0 {
		r.fail()
		return 0
	}
	r.p = r.p[k:]
	return n
}

func (r *reader) bytes() []byte {
	n := r.uvarint()
	if n > uint64(len(r.p)) {
		r.fail()
		return nil
	}
	b := r.p[:n]
	r.p = r.p[n:]
	return b
}

// rows reads the number of rows of a record of a version. If there are several, each
// takes two bytes or more.
func (r *reader) rows(version byte) (uint64, error) {
	n := r.uvarint()
	if n < 1 || n == 1 && version == recordVersionN || n > limit.Rows || n > 1 && n > uint64(len(r.p))/2 {
		return 0, fmt.Errorf("%w: %d rows in %d bytes", errRecord, n, len(r.p))
	}
	return n, nil
}

// vector takes the bytes of a vector, in a record of a version, and its exponent if the record is short.
func (r *reader) vector(version byte) (e int, raw []byte) {
	dim := r.uvarint()
	if version >= recordShort {
		return r.shortVector(dim)
	}
	if dim > uint64(len(r.p))/4 {
		r.fail()
		return 0, nil
	}
	raw, r.p = r.p[:4*dim], r.p[4*dim:]
	return 0, raw
}

// codes skips what stands before and behind the codes of a row, and returns these.
func (r *reader) codes(version byte) []byte {
	r.skipRow(version)
	codes := r.bytes()
	if version == recordImpacts {
		r.bytes()
	}
	return codes
}

// skipRow skips vector and tokens of a row.
func (r *reader) skipRow(version byte) {
	r.vector(version)
	for n := r.uvarint(); n > 0 && r.err == nil; n-- {
		r.varint()
	}
}

func (r *reader) finish() error {
	if r.err == nil && len(r.p) > 0 {
		r.err = fmt.Errorf("%w: %d bytes too many", errRecord, len(r.p))
	}
	return r.err
}
