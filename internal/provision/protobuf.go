package provision

import (
	"encoding/binary"
	"math"
)

// message is an encoded protobuf message. Each method appends one field; a
// model file needs no more of the format than these four.
type message []byte

func (m *message) tag(field, wire int) {
	*m = binary.AppendUvarint(*m, uint64(field)<<3|uint64(wire))
}

func (m *message) varint(field int, v int64) {
	m.tag(field, 0)
	*m = binary.AppendUvarint(*m, uint64(v))
}

func (m *message) float32(field int, v float32) {
	m.tag(field, 5)
	*m = binary.LittleEndian.AppendUint32(*m, math.Float32bits(v))
}

func (m *message) bytes(field int, b []byte) {
	m.length(field, int64(len(b)))
	*m = append(*m, b...)
}

func (m *message) string(field int, s string) { m.bytes(field, []byte(s)) }

// length appends the header of a field of n bytes; the caller appends the bytes.
func (m *message) length(field int, n int64) {
	m.tag(field, 2)
	*m = binary.AppendUvarint(*m, uint64(n))
}
