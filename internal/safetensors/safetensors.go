// Package safetensors reads tensors of safetensors files from any source: whatever the bytes are, the answer
// is a tensor or an ErrFormat. Start with [Open] and [File.Floats]. Reading a File is safe for concurrent
// use.
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
)

// ErrFormat is wrapped by every error about what a file holds.
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
	// Tensors are the tensors by name, Metadata what the writer said of them.
	// Neither must be changed.
	Tensors  map[string]Tensor
	Metadata map[string]string

	f    *os.File
	data int64 // offset of the first tensor's bytes
}

// Open reads and checks the header: every range must lie in the file and be as
// long as shape and type say. Cost and memory O(header), 16 MiB at most.
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

// widths are the bytes of a number of the types that are read.
var widths = map[string]int64{"F64": 8, "F32": 4, "F16": 2, "BF16": 2}

// check verifies t's range within size bytes of data. Types of unknown width
// pass: whoever reads one checks the type first.
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

// Section returns the bytes of a tensor of type F32 and the given shape.
func (s *File) Section(name string, shape ...int64) (*io.SectionReader, error) {
	t, ok := s.Tensors[name]
	switch {
	case !ok:
		return nil, fmt.Errorf("%w: it has no tensor %q", ErrFormat, name)
	case t.DType != "F32":
		return nil, fmt.Errorf("%w: tensor %q is of type %s; only F32 is read", ErrFormat, name, t.DType)
	case !slices.Equal(t.Shape, shape):
		return nil, fmt.Errorf("%w: tensor %q has the shape %v, want %v", ErrFormat, name, t.Shape, shape)
	}
	return io.NewSectionReader(s.f, s.data+t.Offsets[0], t.Offsets[1]-t.Offsets[0]), nil
}

// Floats reads a tensor of type F64, F32, F16 or BF16 in row-major order,
// rounded to float32. Memory O(its bytes in the file).
func (s *File) Floats(name string) ([]float32, error) {
	t, ok := s.Tensors[name]
	if !ok {
		return nil, fmt.Errorf("%w: it has no tensor %q", ErrFormat, name)
	}
	w, ok := widths[t.DType]
	if !ok {
		return nil, fmt.Errorf("%w: tensor %q is of type %s; write it as F32, F16 or BF16", ErrFormat, name, t.DType)
	}
	raw := make([]byte, t.Offsets[1]-t.Offsets[0])
	if _, err := s.f.ReadAt(raw, s.data+t.Offsets[0]); err != nil && len(raw) > 0 {
		return nil, fmt.Errorf("%w: tensor %q: %w", ErrFormat, name, err)
	}
	x := make([]float32, int64(len(raw))/w)
	for i := range x {
		b := raw[int64(i)*w:]
		switch t.DType {
		case "F64":
			x[i] = float32(math.Float64frombits(binary.LittleEndian.Uint64(b)))
		case "F32":
			x[i] = math.Float32frombits(binary.LittleEndian.Uint32(b))
		case "F16":
			x[i] = half(binary.LittleEndian.Uint16(b))
		case "BF16":
			x[i] = math.Float32frombits(uint32(binary.LittleEndian.Uint16(b)) << 16)
		}
	}
	return x, nil
}

// half is the value of an IEEE 754 binary16.
func half(b uint16) float32 {
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
