package snapshot

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"math/bits"
	"os"
	"sync/atomic"

	"github.com/lexsem/lexsem/internal/regular"
)

// File is an open snapshot. Its memory is read-only: a write to it faults if the file is mapped. It is
// valid until Close. Safe for concurrent use, except Close.
type File struct {
	header   Header
	path     string // for errors; empty for memory
	data     []byte // from the beginning of the file to the end of the payloads
	block    int    // bytes of data that have a checksum
	sums     []byte
	checked  []atomic.Uint64 // a bit for each block that was found good
	sections []*Section
	unpacked bool // data is not of the file
	free     func() error
	info     os.FileInfo             // of the mapped file
	aside    atomic.Pointer[os.File] // the file once more while Aside is on
}

// Open maps a file and checks its header and tables, but not the payloads. The cost depends on the
// payloads only through 4 bytes a block. If the file is replaced later, the open one stays readable.
// Errors: fs.ErrNotExist, ErrDamaged, ErrForeign (another format), or those of the operating system.
func Open(path string) (*File, error) {
	f, err := open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return openMapped(path, f)
}

// openMapped is Open for an open file that is at path, or will be soon.
func openMapped(path string, f *os.File) (*File, error) {
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	data, free, err := Map(path, f, info.Size())
	if err != nil {
		return nil, err
	}
	s, err := guarded(path, data)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w", path, err), free())
	}
	if s.unpacked {
		return s, free()
	}
	s.free, s.info = free, info
	return s, nil
}

// open opens a file, and does not wait if it is a pipe.
func open(path string) (*os.File, error) {
	f, err := regular.Open(path)
	if errors.Is(err, regular.ErrIrregular) {
		err = fmt.Errorf("%w: %w", err, ErrDamaged)
	}
	return f, err
}

// DatabaseOf returns the UUID of the database that a snapshot file belongs to. It also reads files of
// earlier formats and files with damage after the header. Errors: those of Open.
func DatabaseOf(path string) ([16]byte, error) {
	f, err := open(path)
	if err != nil {
		return [16]byte{}, err
	}
	defer f.Close()
	b := make([]byte, page)
	if n, err := io.ReadFull(f, b); errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return [16]byte{}, fmt.Errorf("%s: %w", path, damage("file of %d bytes is cut off", n))
	} else if err != nil {
		return [16]byte{}, err
	}
	if err := checkHeader(b); err != nil {
		return [16]byte{}, fmt.Errorf("%s: %w", path, err)
	}
	return [16]byte(b[20:]), nil // there in every format
}

func guarded(path string, data []byte) (f *File, err error) {
	defer Guard(&err)()
	return parse(path, data)
}

// Parse is Open for a file in memory. The File uses data itself.
func Parse(data []byte) (*File, error) { return parse("", data) }

func parse(path string, file []byte) (*File, error) {
	if len(file) > page && isPacked(file) {
		plain, err := unpack(file)
		if err != nil {
			return nil, err
		}
		f, err := parse(path, plain)
		if err == nil {
			f.unpacked = true
		}
		return f, err
	}
	if len(file) < page+endSize {
		return nil, damage("file of %d bytes is cut off", len(file))
	}
	f := &File{path: path}
	digit, err := f.header.decode(file[:page])
	if err != nil {
		return nil, err
	}
	f.block = blockOf[digit]
	end := file[len(file)-endSize:]
	length := binary.LittleEndian.Uint64(end)
	count := uint64(binary.LittleEndian.Uint32(end[8:]))
	room := uint64(len(file) - page - endSize)
	if string(end[12:20]) != endMagic+string(digit) || length > room {
		return nil, damage("trailer")
	}
	blocks := (length + uint64(f.block) - 1) / uint64(f.block)
	if room-length != count*entrySize+blocks*4 {
		return nil, damage("trailer")
	}
	tables := file[page+length:]
	if sum(tables[:len(tables)-4]) != binary.LittleEndian.Uint32(tables[len(tables)-4:]) {
		return nil, damage("checksum of the tables")
	}
	f.data = file[: page+length : page+length]
	f.sums = tables[count*entrySize:][:blocks*4]
	f.checked = make([]atomic.Uint64, (blocks+63)/64)
	return f, f.decodeSections(tables[:count*entrySize])
}

// checkHeader checks the checksum of a page, and that it is a header of a snapshot in some format.
func checkHeader(b []byte) error {
	if sum(b[:page-4]) != binary.LittleEndian.Uint32(b[page-4:]) {
		return damage("header")
	}
	if !bytes.HasPrefix(b, []byte(magic)) {
		return foreign(b)
	}
	return nil
}

func foreign(b []byte) error { return fmt.Errorf("format %q: %w", b[:8], ErrForeign) }

// decode reads a header and the digit of its format, which must be supported.
func (h *Header) decode(b []byte) (digit byte, err error) {
	if err := checkHeader(b); err != nil {
		return 0, err
	}
	if digit = b[len(magic)]; blockOf[digit] == 0 {
		return 0, foreign(b)
	}
	return digit, h.fields(b)
}

// fields reads the fields, which are the same in every format.
func (h *Header) fields(b []byte) error {
	h.Version = binary.LittleEndian.Uint32(b[8:])
	h.Seq = binary.LittleEndian.Uint64(b[12:])
	h.Database, h.History = [16]byte(b[20:]), [16]byte(b[36:])
	n := int(binary.LittleEndian.Uint16(b[52:]))
	if n == 0 || n > maxKind {
		return damage("header")
	}
	h.Kind = string(b[54:][:n])
	return nil
}

// decodeSections reads the table of sections, which must be in order and must not overlap.
func (f *File) decodeSections(table []byte) error {
	seen := make(map[string]bool, len(table)/entrySize)
	free := uint64(page)
	for ; len(table) > 0; table = table[entrySize:] {
		tag := string(bytes.TrimRight(table[:maxTag], "\x00"))
		from := binary.LittleEndian.Uint64(table[maxTag:])
		n := binary.LittleEndian.Uint64(table[maxTag+8:])
		if checkTag(tag) != nil || seen[tag] || from%align != 0 || from < free ||
			from > uint64(len(f.data)) || n > uint64(len(f.data))-from {
			return damage("table of sections")
		}
		seen[tag], free = true, from+n
		f.sections = append(f.sections, &Section{f: f, tag: tag, from: int(from), data: f.data[from:free:free]})
	}
	return nil
}

func sum(b []byte) uint32 { return crc32.Checksum(b, castagnoli) }

func damage(format string, args ...any) error {
	return fmt.Errorf("%s: %w", fmt.Sprintf(format, args...), ErrDamaged)
}

// Header returns what the file holds.
func (f *File) Header() Header { return f.header }

// Expect returns ErrForeign if the file is of another kind or version.
func (f *File) Expect(kind string, version uint32) error {
	if f.header.Kind != kind || f.header.Version != version {
		return fmt.Errorf("%s: %q version %d, want %q version %d: %w",
			f.path, f.header.Kind, f.header.Version, kind, version, ErrForeign)
	}
	return nil
}

// Section returns the section with a tag, or ErrDamaged if there is none.
func (f *File) Section(tag string) (*Section, error) {
	for _, s := range f.sections {
		if s.tag == tag {
			return s, nil
		}
	}
	return nil, f.damage("section %q is missing", tag)
}

func (f *File) damage(format string, args ...any) error {
	if f.path == "" {
		return damage(format, args...)
	}
	return fmt.Errorf("%s: %w", f.path, damage(format, args...))
}

// Verify checks every block that was not checked yet. Cost: one read of those blocks.
func (f *File) Verify(ctx context.Context) error {
	for b := 0; b < len(f.sums)/4; b++ {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := f.check(b, b); err != nil {
			return err
		}
	}
	return nil
}

// check checks that the blocks from first to last are unchanged.
func (f *File) check(first, last int) error {
	for w := first / 64; w <= last/64; w++ {
		want := ^uint64(0)
		if w == first/64 {
			want <<= first % 64
		}
		if w == last/64 {
			want &= ^uint64(0) >> (63 - last%64)
		}
		if want &^= f.checked[w].Load(); want != 0 {
			if err := f.read(w, want); err != nil {
				return err
			}
		}
	}
	return nil
}

// read checks the blocks of word w whose bits are set.
func (f *File) read(w int, set uint64) (err error) {
	defer Guard(&err)()
	for ; set != 0; set &= set - 1 {
		i := bits.TrailingZeros64(set)
		b := 64*w + i
		from := page + b*f.block
		block := f.data[from:min(len(f.data), from+f.block)]
		if f.aside.Load() != nil {
			if b := make([]byte, len(block)); f.readAside(b, from) {
				block = b
			}
		}
		if sum(block) != binary.LittleEndian.Uint32(f.sums[4*b:]) {
			return f.damage("block %d of %d", b, len(f.sums)/4)
		}
		f.checked[w].Or(1 << i)
	}
	return nil
}

// Close frees the memory. No memory of the file may be used afterwards. A second Close does nothing.
func (f *File) Close() error {
	if f.free == nil {
		return nil
	}
	f.Aside(false)
	free := f.free
	f.free, f.data, f.sections, f.sums = nil, nil, nil, nil
	return free()
}
