package index

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"io"
	"math"
)

// Snapshotter is an index that can be written down. Every index of this
// package is one; Load reads it back.
type Snapshotter interface {
	Index
	// WriteTo writes the whole index and returns the number of bytes. Searches
	// go on meanwhile; Add and Delete wait.
	WriteTo(w io.Writer) (int64, error)
}

// A snapshot is a sequence of sections: a tag of four bytes, the length of the
// payload as uint64, the payload, and the CRC-32C of all three as uint32; all
// numbers little-endian. The first section, HEAD, names version, kind and
// options; the last is END, without payload. docs/FORMAT.md lists the others.
const snapshotVersion = 1

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Load makes an index of the given kind from a snapshot, which it copies. The
// options must be those the index was made with; Ef and Workers may differ.
// Errors: those of New, ErrMismatch if kind, format version or options are
// others, ErrCorrupt if the snapshot is damaged in any way. It allocates no
// more than a small multiple of len(snapshot), whatever that holds.
func Load(kind string, o Options, snapshot []byte) (Index, error) {
	if _, err := New(kind, o); err != nil {
		return nil, err
	}
	o = o.withDefaults()
	r := &reader{data: snapshot}
	head := r.section("HEAD")
	if version := head.u32(); head.err == nil && version != snapshotVersion {
		return nil, fmt.Errorf("format version %d, want %d: %w", version, snapshotVersion, ErrMismatch)
	}
	gotKind, gotMetric := head.text(), head.text()
	got := Options{Dim: int(head.u32()), Metric: gotMetric, M: int(head.u32()), EfConstruction: int(head.u32()), Seed: head.u64(), Ef: o.Ef, Workers: o.Workers}
	head.done()
	if head.err != nil {
		return nil, head.err
	}
	if gotKind != kind || got != o {
		return nil, fmt.Errorf("snapshot of %q %+v, want %q %+v: %w", gotKind, got, kind, o, ErrMismatch)
	}
	ix, err := kinds[kind].load(o, r)
	if err != nil {
		return nil, err
	}
	r.section("END ").done()
	if r.err == nil && len(r.data) > 0 {
		r.fail("%d bytes behind the end", len(r.data))
	}
	return ix, r.err
}

// writer writes sections; the first error sticks.
type writer struct {
	w    io.Writer
	buf  []byte
	crc  uint32
	left uint64 // payload bytes still owed to the section
	n    int64
	err  error
}

func (w *writer) header(kind string, o Options) {
	w.section("HEAD", 4+4+len(kind)+4+len(o.Metric)+3*4+8)
	w.u32(snapshotVersion)
	for _, s := range []string{kind, o.Metric} {
		w.u32(uint32(len(s)))
		w.raw([]byte(s))
	}
	w.u32(uint32(o.Dim))
	w.u32(uint32(o.M))
	w.u32(uint32(o.EfConstruction))
	w.u64(o.Seed)
	w.close()
}

func (w *writer) section(tag string, length int) {
	w.crc, w.left = 0, 12+uint64(length)
	w.raw([]byte(tag))
	w.u64(uint64(length))
}

func (w *writer) close() {
	if w.left != 0 && w.err == nil {
		w.err = fmt.Errorf("section ends %d bytes early", w.left)
	}
	w.flush()
	w.left = 4
	w.u32(w.crc)
	w.flush()
}

// finish ends the snapshot.
func (w *writer) finish() (int64, error) {
	w.section("END ", 0)
	w.close()
	return w.n, w.err
}

func (w *writer) flush() {
	w.crc = crc32.Update(w.crc, castagnoli, w.buf)
	if w.err == nil {
		var n int
		n, w.err = w.w.Write(w.buf)
		w.n += int64(n)
	}
	w.buf = w.buf[:0]
}

func (w *writer) grew(n int) {
	w.left -= uint64(n)
	if len(w.buf) >= 1<<16 {
		w.flush()
	}
}

func (w *writer) raw(b []byte) { w.buf = append(w.buf, b...); w.grew(len(b)) }
func (w *writer) u32(v uint32) { w.buf = binary.LittleEndian.AppendUint32(w.buf, v); w.grew(4) }
func (w *writer) u64(v uint64) { w.buf = binary.LittleEndian.AppendUint64(w.buf, v); w.grew(8) }
func (w *writer) floats(v []float32) {
	for _, x := range v {
		w.u32(math.Float32bits(x))
	}
}

// reader takes sections and numbers off the front of data; the first error
// sticks, and everything after it reads as zero.
type reader struct {
	data   []byte
	err    error
	parent *reader
}

func (r *reader) fail(format string, args ...any) {
	if r.err == nil {
		r.err = fmt.Errorf("%s: %w", fmt.Sprintf(format, args...), ErrCorrupt)
	}
	if r.parent != nil {
		r.parent.fail(format, args...)
	}
}

// section returns a reader of the payload of the next section. Its errors are
// r's as well.
func (r *reader) section(tag string) *reader {
	s := &reader{parent: r, err: r.err}
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
func (r *reader) done() {
	if r.err == nil && len(r.data) > 0 {
		r.fail("section has %d bytes too many", len(r.data))
	}
}

func (r *reader) raw(n uint64) []byte {
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

func (r *reader) u32() uint32 {
	if b := r.raw(4); b != nil {
		return binary.LittleEndian.Uint32(b)
	}
	return 0
}

func (r *reader) u64() uint64 {
	if b := r.raw(8); b != nil {
		return binary.LittleEndian.Uint64(b)
	}
	return 0
}

func (r *reader) text() string { return string(r.raw(uint64(r.u32()))) }

func (r *reader) floats(dst []float32) {
	b := r.raw(4 * uint64(len(dst)))
	if b == nil {
		return
	}
	for i := range dst {
		dst[i] = math.Float32frombits(binary.LittleEndian.Uint32(b[4*i:]))
	}
}
