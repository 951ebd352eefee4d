package modulate

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"hash"
	"hash/crc32"
	"io"
	"math"
)

// snapshotWriter writes little-endian numbers and the checksum over them. The
// first error sticks and is returned by finish.
type snapshotWriter struct {
	w   *bufio.Writer
	crc hash.Hash32
	n   int64
	err error
	buf []byte
}

func newSnapshotWriter(w io.Writer) *snapshotWriter {
	return &snapshotWriter{w: bufio.NewWriterSize(w, 1<<16), crc: crc32.New(castagnoli)}
}

// finish writes the CRC-32C of all bytes before it, and returns how many bytes
// there are with it.
func (o *snapshotWriter) finish(what string) (int64, error) {
	o.u32(o.crc.Sum32())
	if o.err == nil {
		o.err = o.w.Flush()
	}
	if o.err != nil {
		return o.n, fmt.Errorf("write %s: %w", what, o.err)
	}
	return o.n, nil
}

func (o *snapshotWriter) write(b []byte) {
	if o.err != nil {
		return
	}
	o.crc.Write(b)
	var k int
	k, o.err = o.w.Write(b)
	o.n += int64(k)
}

func (o *snapshotWriter) u32(v uint32) {
	o.buf = binary.LittleEndian.AppendUint32(o.buf[:0], v)
	o.write(o.buf)
}

func (o *snapshotWriter) u64(v uint64) {
	o.buf = binary.LittleEndian.AppendUint64(o.buf[:0], v)
	o.write(o.buf)
}

func (o *snapshotWriter) float64s(x []float64) {
	o.buf = o.buf[:0]
	for _, f := range x {
		o.buf = binary.LittleEndian.AppendUint64(o.buf, math.Float64bits(f))
	}
	o.write(o.buf)
}

func (o *snapshotWriter) float32s(x []float32) {
	o.buf = appendFloats(o.buf[:0], x)
	o.write(o.buf)
}

func (o *snapshotWriter) int8s(x []int8) {
	o.buf = o.buf[:0]
	for _, c := range x {
		o.buf = append(o.buf, byte(c))
	}
	o.write(o.buf)
}
