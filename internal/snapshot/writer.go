package snapshot

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"

	"github.com/lexsem/lexsem/internal/atomicfile"
	"github.com/lexsem/lexsem/internal/yield"
)

// Write writes a file atomically: at any moment path has the old file or the new one. The folder must
// exist. If write returns an error, the old file stays. Only the owner can read the file.
func Write(path string, h Header, write func(*Writer) error) error {
	return atomicfile.Write(path, func(f *os.File) error { return writeAll(f, h, write) })
}

// WriteOpen is Write followed by Open of the written file itself, even if path is replaced meanwhile.
func WriteOpen(path string, h Header, write func(*Writer) error) (file *File, err error) {
	err = atomicfile.Write(path, func(f *os.File) error {
		if err := writeAll(f, h, write); err != nil {
			return err
		}
		file, err = openMapped(path, f)
		return err
	})
	if err != nil && file != nil {
		err, file = errors.Join(err, file.Close()), nil
	}
	return file, err
}

func writeAll(f *os.File, h Header, write func(*Writer) error) error {
	w := NewWriter(f, h)
	if err := write(w); err != nil {
		return err
	}
	return w.Close()
}

// Writer writes the sections of one file, one after the other. The first error is kept, and Close
// returns it. Not safe for concurrent use.
type Writer struct {
	w        io.Writer
	buf      []byte // what is not written yet, the header included
	n        uint64 // bytes before it
	sections []byte // their table
	tags     map[string]bool
	begun    uint64 // offset in data of the present section
	sums     []byte
	sum      uint32 // of the block that is not complete, as far as it is written
	part     int    // bytes of that
	turns    yield.Turns
	err      error
}

// bufferSize is the size of one write. Linux keeps a write of this size at a multiple of it in large
// pages if it can, and maps a whole large page when one of its bytes is first read.
const bufferSize = 2 << 20

// NewWriter starts a file in w. Close must be called to complete it.
func NewWriter(w io.Writer, h Header) *Writer {
	s := &Writer{w: w, buf: h.encode(written), tags: map[string]bool{}}
	if n := len(h.Kind); n == 0 || n > maxKind {
		s.err = fmt.Errorf("kind of a snapshot has %d bytes; use 1 to %d", n, maxKind)
	}
	return s
}

func (h Header) encode(digit byte) []byte {
	b := append(append(make([]byte, 0, page), magic...), digit)
	b = binary.LittleEndian.AppendUint32(b, h.Version)
	b = binary.LittleEndian.AppendUint64(b, h.Seq)
	b = append(append(b, h.Database[:]...), h.History[:]...)
	b = binary.LittleEndian.AppendUint16(b, uint16(len(h.Kind)))
	b = append(b, h.Kind...)
	b = b[:page-4]
	return binary.LittleEndian.AppendUint32(b, crc32.Checksum(b, castagnoli))
}

// Begin ends the current section and starts the next one. Its payload is everything written until the
// next Begin or Close. The tag has 1 to 8 bytes, none of them zero, and is used once in a file.
func (w *Writer) Begin(tag string) {
	if err := checkTag(tag); w.err == nil && err != nil {
		w.err = err
	}
	if w.err == nil && w.tags[tag] {
		w.err = fmt.Errorf("section %q begins twice", tag)
	}
	w.end()
	w.data(make([]byte, -w.at()&(align-1)))
	w.tags[tag], w.begun = true, w.at()
	var name [maxTag]byte
	copy(name[:], tag)
	w.sections = append(w.sections, name[:]...)
	w.sections = binary.LittleEndian.AppendUint64(w.sections, page+w.begun)
}

func checkTag(tag string) error {
	ok := len(tag) > 0 && len(tag) <= maxTag
	for i := range len(tag) {
		ok = ok && tag[i] != 0
	}
	if !ok {
		return fmt.Errorf("tag %q of a section; use 1 to %d bytes other than zero", tag, maxTag)
	}
	return nil
}

// at returns how many bytes of data there are.
func (w *Writer) at() uint64 { return w.n + uint64(len(w.buf)) - page }

// end completes the entry of the present section.
func (w *Writer) end() {
	if len(w.sections) > 0 {
		w.sections = binary.LittleEndian.AppendUint64(w.sections, w.at()-w.begun)
	}
}

func (w *Writer) data(p []byte) {
	for len(p) > 0 && w.err == nil {
		k := min(len(p), bufferSize-len(w.buf))
		w.buf = append(w.buf, p[:k]...)
		p = p[k:]
		if len(w.buf) == bufferSize {
			w.flush()
		}
	}
}

func (w *Writer) flush() {
	if w.err != nil || len(w.buf) == 0 {
		return
	}
	data := w.buf
	if w.n == 0 {
		data = data[page:]
	}
	for len(data) > 0 {
		k := min(len(data), blockSize-w.part)
		w.sum, w.part = crc32.Update(w.sum, castagnoli, data[:k]), w.part+k
		data = data[k:]
		if w.part == blockSize {
			w.endBlock()
		}
	}
	w.n += uint64(len(w.buf))
	_, w.err = w.w.Write(w.buf)
	w.turns.Let()
	w.buf = w.buf[:0]
}

func (w *Writer) endBlock() {
	w.sums, w.sum, w.part = binary.LittleEndian.AppendUint32(w.sums, w.sum), 0, 0
}

// Write writes payload. It writes all of p, or returns the first error.
func (w *Writer) Write(p []byte) (int, error) {
	if len(w.sections) == 0 && w.err == nil {
		w.err = fmt.Errorf("payload before the first section")
	}
	if w.data(p); w.err != nil {
		return 0, w.err
	}
	return len(p), nil
}

// U32 and U64 write an integer of fixed length. Uvarint writes an integer with 7 bits per byte.
func (w *Writer) U32(v uint32) { w.Write(binary.LittleEndian.AppendUint32(nil, v)) }
func (w *Writer) U64(v uint64) { w.Write(binary.LittleEndian.AppendUint64(nil, v)) }

func (w *Writer) Uvarint(v uint64) { w.Write(binary.AppendUvarint(nil, v)) }

// Text writes the length of s as a Uvarint, then its bytes.
func (w *Writer) Text(s string) {
	w.Uvarint(uint64(len(s)))
	w.Write([]byte(s))
}

// Int8s, Uint32s, Uint64s, Float32s and Float64s write numbers one after another, without their count.
func (w *Writer) Int8s(v []int8)       { w.Write(memory(v)) }
func (w *Writer) Uint32s(v []uint32)   { w.Write(memory(v)) }
func (w *Writer) Uint64s(v []uint64)   { w.Write(memory(v)) }
func (w *Writer) Float32s(v []float32) { w.Write(memory(v)) }
func (w *Writer) Float64s(v []float64) { w.Write(memory(v)) }

// Close writes the tables that end the file. It does not close the underlying writer. The Writer must
// not be used afterwards.
func (w *Writer) Close() error {
	w.end()
	n := w.at()
	w.flush()
	if w.part > 0 {
		w.endBlock()
	}
	b := append(w.sections, w.sums...)
	b = binary.LittleEndian.AppendUint64(b, n)
	b = binary.LittleEndian.AppendUint32(b, uint32(len(w.sections)/entrySize))
	b = append(append(b, endMagic...), written)
	b = binary.LittleEndian.AppendUint32(b, crc32.Checksum(b, castagnoli))
	if w.err == nil {
		_, w.err = w.w.Write(b)
	}
	return w.err
}
