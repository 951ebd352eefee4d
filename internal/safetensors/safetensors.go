// Package safetensors reads tensors of safetensors files from any source: for any bytes, the result is a
// tensor or an ErrFormat. Start with [Open] and [File.Floats]. Reading a File is safe for concurrent use.
package safetensors

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"slices"

	"github.com/lexsem/lexsem/internal/regular"
	"github.com/lexsem/lexsem/internal/snapshot"
)

// ErrFormat is wrapped by every error about the content of a file.
var ErrFormat = errors.New("unusable safetensors file")

const maxHeader = 16 << 20 // bytes

// Tensor is one entry of the header.
type Tensor struct {
	DType   string   `json:"dtype"`
	Shape   []int64  `json:"shape"`
	Offsets [2]int64 `json:"data_offsets"` // after the header
}

// File is an open file. Reading is safe for concurrent use.
type File struct {
	// Tensors are the tensors by name; Metadata is the writer's description. Neither must be changed.
	Tensors  map[string]Tensor
	Metadata map[string]string

	f    *os.File
	data int64 // offset of the first tensor's bytes
}

// Open reads and checks the header: every range must be inside the file and have the length that shape and
// type require. Cost and memory O(header), at most 16 MiB.
func Open(path string) (*File, error) {
	f, err := regular.Open(path)
	if err != nil {
		return nil, err
	}
	s := &File{f: f}
	if err := s.readHeader(); err != nil {
		return nil, errors.Join(fmt.Errorf("%w: %s: %w", ErrFormat, path, err), f.Close())
	}
	return s, nil
}

// Close closes the file.
func (s *File) Close() error { return s.f.Close() }

func (s *File) readHeader() error {
	info, err := s.f.Stat()
	if err != nil {
		return err
	}
	var length [8]byte
	if _, err := io.ReadFull(s.f, length[:]); err != nil {
		return fmt.Errorf("header length: %w", err)
	}
	n := binary.LittleEndian.Uint64(length[:])
	if n > maxHeader || int64(n) > info.Size()-8 {
		return fmt.Errorf("header of %d bytes in a file of %d", n, info.Size())
	}
	header := make([]byte, n)
	if _, err := io.ReadFull(s.f, header); err != nil {
		return fmt.Errorf("header: %w", err)
	}
	s.data = 8 + int64(n)
	var raw map[string]json.RawMessage
	if err := json.Unmarshal(header, &raw); err != nil {
		return fmt.Errorf("header: %w", err)
	}
	s.Tensors = make(map[string]Tensor, len(raw))
	for name, b := range raw {
		if name == "__metadata__" {
			if err := json.Unmarshal(b, &s.Metadata); err != nil {
				return fmt.Errorf("metadata: %w", err)
			}
			continue
		}
		var t Tensor
		if err := json.Unmarshal(b, &t); err != nil {
			return fmt.Errorf("tensor %q: %w", name, err)
		}
		if err := t.check(info.Size() - s.data); err != nil {
			return fmt.Errorf("tensor %q: %w", name, err)
		}
		s.Tensors[name] = t
	}
	return nil
}

// widths are the bytes per number of the supported types.
var widths = map[string]int64{"F64": 8, "F32": 4, "F16": 2, "BF16": 2}

// check verifies t's range within size bytes of data. Types of unknown width pass, since a reader checks the
// type first.
func (t Tensor) check(size int64) error {
	begin, end := t.Offsets[0], t.Offsets[1]
	if begin < 0 || end < begin || end > size {
		return fmt.Errorf("bytes %d to %d of %d", begin, end, size)
	}
	n := int64(1)
	for _, d := range t.Shape {
		if d < 0 || d > 0 && n > math.MaxInt64/8/d {
			return fmt.Errorf("shape %v", t.Shape)
		}
		n *= d
	}
	if w, ok := widths[t.DType]; ok && end-begin != w*n {
		return fmt.Errorf("%d bytes for the shape %v", end-begin, t.Shape)
	}
	return nil
}

// Section returns a tensor of type F64, F32, F16 or BF16 and the given shape: its numbers in row-major order, rounded
// to float32, little endian. They are converted while they are read.
func (s *File) Section(name string, shape ...int64) (*io.SectionReader, error) {
	t, ok := s.Tensors[name]
	width, float := widths[t.DType]
	switch {
	case !ok:
		return nil, fmt.Errorf("%w: it has no tensor %q", ErrFormat, name)
	case !float:
		return nil, fmt.Errorf("%w: tensor %q is of type %s; write it as F32, F16 or BF16", ErrFormat, name, t.DType)
	case !slices.Equal(t.Shape, shape):
		return nil, fmt.Errorf("%w: tensor %q has the shape %v, want %v", ErrFormat, name, t.Shape, shape)
	}
	r := io.NewSectionReader(s.f, s.data+t.Offsets[0], t.Offsets[1]-t.Offsets[0])
	if t.DType == "F32" {
		return r, nil
	}
	return io.NewSectionReader(converted{r, t.DType, width}, 0, r.Size()/width*4), nil
}

// Integers reads a tensor of type I32 or I64, of any shape.
func (s *File) Integers(name string) ([]int64, error) {
	t := s.Tensors[name]
	width, ok := map[string]int64{"I32": 4, "I64": 8}[t.DType]
	if !ok || (t.Offsets[1]-t.Offsets[0])%width != 0 {
		return nil, fmt.Errorf("%w: it has no tensor %q of type I32 or I64", ErrFormat, name)
	}
	b := make([]byte, t.Offsets[1]-t.Offsets[0])
	if _, err := s.f.ReadAt(b, s.data+t.Offsets[0]); err != nil && len(b) > 0 {
		return nil, fmt.Errorf("%w: tensor %q: %w", ErrFormat, name, err)
	}
	x := make([]int64, int64(len(b))/width)
	for i := range x {
		if width == 4 {
			x[i] = int64(int32(binary.LittleEndian.Uint32(b[4*i:])))
		} else {
			x[i] = int64(binary.LittleEndian.Uint64(b[8*i:]))
		}
	}
	return x, nil
}

// Floats reads a tensor of any shape in the form of Section. Memory O(the result).
func (s *File) Floats(name string) ([]float32, error) {
	r, err := s.Section(name, s.Tensors[name].Shape...)
	if err != nil {
		return nil, err
	}
	x := make([]float32, r.Size()/4)
	var b [1 << 14]byte
	for rest := x; len(rest) > 0; {
		n := min(len(rest), len(b)/4)
		if _, err := io.ReadFull(r, b[:4*n]); err != nil {
			return nil, fmt.Errorf("%w: tensor %q: %w", ErrFormat, name, err)
		}
		for i := range rest[:n] {
			rest[i] = math.Float32frombits(binary.LittleEndian.Uint32(b[4*i:]))
		}
		rest = rest[n:]
	}
	return x, nil
}

// Map returns the bytes of a tensor as they lie in the file, valid until free is called, which may be after Close. They
// are mapped: read them under snapshot.Guard.
func (s *File) Map(name string) (b []byte, free func() error, err error) {
	info, err := s.f.Stat()
	if err != nil {
		return nil, nil, err
	}
	all, free, err := snapshot.Map(s.f.Name(), s.f, info.Size())
	if err != nil {
		return nil, nil, err
	}
	t := s.Tensors[name]
	if end := s.data + t.Offsets[1]; end > int64(len(all)) {
		return nil, nil, errors.Join(fmt.Errorf("%w: tensor %q ends at %d of %d bytes", ErrFormat, name, end, len(all)), free())
	}
	return all[s.data+t.Offsets[0] : s.data+t.Offsets[1]], free, nil
}

// converted reads numbers of a type as float32.
type converted struct {
	r     io.ReaderAt
	dtype string
	width int64 // bytes of a number there
}

func (c converted) ReadAt(p []byte, off int64) (n int, err error) {
	var raw [1 << 13]byte
	var out [1 << 12]byte
	for n < len(p) && err == nil {
		at := off + int64(n)
		skip := int(at % 4)
		b := raw[:c.width*int64(min((skip+len(p)-n+3)/4, len(out)/4))]
		var read int
		if read, err = c.r.ReadAt(b, at/4*c.width); read == len(b) {
			err = nil
		}
		whole := read / int(c.width)
		for i := range whole {
			b := raw[int64(i)*c.width:]
			var v float32
			switch c.dtype {
			case "F64":
				v = float32(math.Float64frombits(binary.LittleEndian.Uint64(b)))
			case "F16":
				v = Half(binary.LittleEndian.Uint16(b))
			case "BF16":
				v = math.Float32frombits(uint32(binary.LittleEndian.Uint16(b)) << 16)
			}
			binary.LittleEndian.PutUint32(out[4*i:], math.Float32bits(v))
		}
		n += copy(p[n:], out[min(skip, 4*whole):4*whole])
	}
	return n, err
}

// Half is the value of an IEEE 754 binary16.
func Half(b uint16) float32 {
	sign, exp, frac := uint32(b>>15)<<31, uint32(b>>10&0x1f), uint32(b&0x3ff)
	switch exp {
	case 0: // zero and subnormals, multiples of 2⁻²⁴
		f := float32(frac) * (1.0 / (1 << 24))
		return math.Float32frombits(sign | math.Float32bits(f))
	case 0x1f: // infinities and NaN
		return math.Float32frombits(sign | 0xff<<23 | frac<<13)
	}
	return math.Float32frombits(sign | (exp+112)<<23 | frac<<13)
}
