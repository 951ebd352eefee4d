// Package onnxfile reads the weights, constants and wiring of an ONNX file without a protobuf library and
// without holding the file in memory. Start with [Open]. Reading a File is safe for concurrent use. A damaged
// file is ErrFormat.
package onnxfile

import (
	"encoding/binary"
	"errors"
	"io"
)

// ErrFormat is wrapped by every error about the content of a file.
var ErrFormat = errors.New("unusable ONNX file")

// errProto means that bytes are not valid protobuf.
var errProto = errors.New("not a protobuf message")

// Walk calls visit for each field of the message in [begin, end): with the range of its bytes if it has a
// length or a fixed width, else with its number. It reads only the headers of the fields.
func Walk(r io.ReaderAt, begin, end int64, visit func(field int, begin, end int64, n uint64) error) error {
	var head [2 * binary.MaxVarintLen64]byte
	for begin < end {
		b := head[:min(int64(len(head)), end-begin)]
		if _, err := r.ReadAt(b, begin); err != nil {
			return err
		}
		tag, n := binary.Uvarint(b)
		if n <= 0 || tag>>3 == 0 || tag>>3 > 1<<29 {
			return errProto
		}
		begin += int64(n)
		from, until, number := begin, begin, uint64(0)
		switch tag & 7 {
		case 0, 2:
			m := 0
			if number, m = binary.Uvarint(b[n:]); m <= 0 {
				return errProto
			}
			from, until = begin+int64(m), begin+int64(m)
			if tag&7 == 2 {
				if number > uint64(end-from) {
					return errProto
				}
				until += int64(number)
			}
		case 1:
			until += 8
		case 5:
			until += 4
		default:
			return errProto
		}
		if until > end {
			return errProto
		}
		if err := visit(int(tag>>3), from, until, number); err != nil {
			return err
		}
		begin = until
	}
	return nil
}
