package inverted

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"io"
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// sections writes sections; the first error sticks.
type sections struct {
	w   io.Writer
	buf []byte // payload of the section in progress
	n   int64
	err error
}

// cut ends the section in progress if it is long enough, or last.
func (s *sections) cut(tag string, last bool) {
	if !last && len(s.buf) < sectionSize {
		return
	}
	head := binary.LittleEndian.AppendUint64([]byte(tag), uint64(len(s.buf)))
	sum := crc32.Update(crc32.Checksum(head, castagnoli), castagnoli, s.buf)
	for _, b := range [][]byte{head, s.buf, binary.LittleEndian.AppendUint32(nil, sum)} {
		if s.err == nil {
			var n int
			n, s.err = s.w.Write(b)
			s.n += int64(n)
		}
	}
	s.buf = s.buf[:0]
}

func (s *sections) finish() (int64, error) {
	s.cut("END ", true)
	return s.n, s.err
}

// parser takes sections and numbers off the front of data; the first error
// sticks, and everything after it reads as zero.
type parser struct {
	data   []byte
	err    error
	parent *parser
}

func (r *parser) set(err error) {
	for ; r != nil; r = r.parent {
		if r.err == nil {
			r.err = err
		}
	}
}

func (r *parser) fail(format string, args ...any) {
	r.set(fmt.Errorf("%s: %w", fmt.Sprintf(format, args...), ErrCorrupt))
}

// section returns a parser of the payload of the next section. Its errors are
// r's as well.
func (r *parser) section(tag string) *parser {
	s := &parser{parent: r, err: r.err}
	switch {
	case r.err != nil:
	case len(r.data) < 16 || string(r.data[:4]) != tag:
		s.fail("section %q is missing", tag)
	default:
		n := binary.LittleEndian.Uint64(r.data[4:])
		if n > uint64(len(r.data)-16) {
			s.fail("section %q is cut off", tag)
			break
		}
		end := 12 + int(n)
		if crc32.Checksum(r.data[:end], castagnoli) != binary.LittleEndian.Uint32(r.data[end:]) {
			s.fail("section %q has a wrong checksum", tag)
			break
		}
		s.data, r.data = r.data[12:end], r.data[end+4:]
	}
	return s
}

// done says that the section should be used up.
func (r *parser) done() {
	if r.err == nil && len(r.data) > 0 {
		r.fail("section has %d bytes too many", len(r.data))
	}
}

func (r *parser) raw(n uint64) []byte {
	if r.err == nil && uint64(len(r.data)) < n {
		r.fail("section is too short")
	}
	if r.err != nil {
		return nil
	}
	b := r.data[:n]
	r.data = r.data[n:]
	return b
}

func (r *parser) varint() uint64 {
	if r.err != nil {
		return 0
	}
	v, n := binary.Uvarint(r.data)
	if n <= 0 || n > 1 && r.data[n-1] == 0 {
		r.fail("a number is malformed")
		return 0
	}
	r.data = r.data[n:]
	return v
}

func (r *parser) u8() byte {
	if b := r.raw(1); b != nil {
		return b[0]
	}
	return 0
}

func (r *parser) u32() uint32 {
	if b := r.raw(4); b != nil {
		return binary.LittleEndian.Uint32(b)
	}
	return 0
}

func (r *parser) u64() uint64 {
	if b := r.raw(8); b != nil {
		return binary.LittleEndian.Uint64(b)
	}
	return 0
}
