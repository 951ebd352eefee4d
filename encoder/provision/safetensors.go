package provision

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"os"
)

// A safetensors file is the length of a JSON header (8 bytes, little endian),
// the header, and the data of the tensors. The header gives each tensor's
// type, shape and range of bytes after the header.

const maxSafetensorsHeader = 16 << 20

// tensor is one entry of a safetensors header.
type tensor struct {
	DType   string   `json:"dtype"`
	Shape   []int64  `json:"shape"`
	Offsets [2]int64 `json:"data_offsets"`
}

// safetensors is an open checkpoint.
type safetensors struct {
	f       *os.File
	data    int64 // offset of the first tensor's bytes in f
	tensors map[string]tensor
}

// openSafetensors reads and checks the header: every range must lie in the
// file and be as long as shape and type say.
func openSafetensors(path string) (*safetensors, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	s := &safetensors{f: f}
	if err := s.readHeader(); err != nil {
		f.Close()
		return nil, fmt.Errorf("%w: %s: %w", ErrCheckpoint, path, err)
	}
	return s, nil
}

func (s *safetensors) readHeader() error {
	info, err := s.f.Stat()
	if err != nil {
		return err
	}
	var length [8]byte
	if _, err := io.ReadFull(s.f, length[:]); err != nil {
		return fmt.Errorf("header length: %w", err)
	}
	n := binary.LittleEndian.Uint64(length[:])
	if n > maxSafetensorsHeader || int64(n) > info.Size()-8 {
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
	s.tensors = make(map[string]tensor, len(raw))
	for name, b := range raw {
		if name == "__metadata__" {
			continue
		}
		var t tensor
		if err := json.Unmarshal(b, &t); err != nil {
			return fmt.Errorf("tensor %q: %w", name, err)
		}
		if err := t.check(info.Size() - s.data); err != nil {
			return fmt.Errorf("tensor %q: %w", name, err)
		}
		s.tensors[name] = t
	}
	return nil
}

// check verifies t's range within size bytes of data. Types of unknown width
// pass: whoever reads one checks the type first.
func (t tensor) check(size int64) error {
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
	if t.DType == "F32" && end-begin != 4*n {
		return fmt.Errorf("%d bytes for the shape %v", end-begin, t.Shape)
	}
	return nil
}

// float32s returns the section of a tensor that must have the given type and
// shape.
func (s *safetensors) float32s(name string, shape ...int64) (*io.SectionReader, error) {
	t, ok := s.tensors[name]
	if !ok {
		return nil, fmt.Errorf("%w: it has no tensor %q", ErrCheckpoint, name)
	}
	if t.DType != "F32" {
		return nil, fmt.Errorf("%w: tensor %q is of type %s; only F32 is read", ErrCheckpoint, name, t.DType)
	}
	same := len(t.Shape) == len(shape)
	for i := 0; same && i < len(shape); i++ {
		same = t.Shape[i] == shape[i]
	}
	if !same {
		return nil, fmt.Errorf("%w: tensor %q has the shape %v, want %v", ErrCheckpoint, name, t.Shape, shape)
	}
	return io.NewSectionReader(s.f, s.data+t.Offsets[0], t.Offsets[1]-t.Offsets[0]), nil
}

func (s *safetensors) close() error { return s.f.Close() }
