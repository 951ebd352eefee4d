package section

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"io"
	"math"
)

// Writer writes sections. The first error sticks and is returned by Finish.
type Writer struct {
	w    io.Writer
	buf  []byte
	crc  uint32
	left uint64 // payload bytes still owed to the section
	n    int64  // bytes in w
	err  error
}

// NewWriter makes a writer whose first byte counts as aligned.
func NewWriter(w io.Writer) *Writer { return &Writer{w: w} }

// Begin begins a section with a payload of exactly length bytes, which the
// calls until Close write.
func (w *Writer) Begin(tag string, length int) {
	w.crc, w.left = 0, head+uint64(length)
	w.Raw([]byte(tag))
	w.U64(uint64(length))
}

// Align makes the payload of the next section begin at a multiple of n bytes.
func (w *Writer) Align(n int) {
	zeros := (n - (int(w.n)+head+foot+head)%n) % n
	w.Whole(pad, make([]byte, zeros))
}

// Close ends the section.
func (w *Writer) Close() {
	if w.left != 0 && w.err == nil {
		w.err = fmt.Errorf("section ends %d bytes early", int64(w.left))
	}
	w.flush()
	w.left = foot
	w.U32(w.crc)
	w.flush()
}

// Whole writes a section at once.
func (w *Writer) Whole(tag string, payload []byte) {
	w.Begin(tag, len(payload))
	w.Raw(payload)
	w.Close()
}

// Finish writes the section that ends all, and returns the number of bytes.
func (w *Writer) Finish() (int64, error) {
	w.Whole(end, nil)
	return w.n, w.err
}

func (w *Writer) flush() {
	w.crc = crc32.Update(w.crc, castagnoli, w.buf)
	if w.err == nil {
		var n int
		n, w.err = w.w.Write(w.buf)
		w.n += int64(n)
	}
	w.buf = w.buf[:0]
}

func (w *Writer) grew(n int) {
	w.left -= uint64(n)
	if len(w.buf) >= 1<<16 {
		w.flush()
	}
}

// Raw, U32, U64, Text and Floats write to the payload; Text writes the length
// as uint32 first.
func (w *Writer) Raw(b []byte) { w.buf = append(w.buf, b...); w.grew(len(b)) }
func (w *Writer) U32(v uint32) { w.buf = binary.LittleEndian.AppendUint32(w.buf, v); w.grew(4) }
func (w *Writer) U64(v uint64) { w.buf = binary.LittleEndian.AppendUint64(w.buf, v); w.grew(8) }

func (w *Writer) Text(s string) {
	w.U32(uint32(len(s)))
	w.Raw([]byte(s))
}

func (w *Writer) Floats(v []float32) {
	for _, x := range v {
		w.U32(math.Float32bits(x))
	}
}
