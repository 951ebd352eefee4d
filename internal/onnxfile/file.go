package onnxfile

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"os"

	"github.com/lexsem/lexsem/internal/regular"
)

// Fields of onnx.proto on the way to weights and nodes.
const (
	fieldGraph       = 7 // ModelProto.graph
	fieldNode        = 1 // GraphProto.node
	fieldInitializer = 5 // GraphProto.initializer

	fieldInput     = 1 // NodeProto.input
	fieldOutput    = 2 // NodeProto.output
	fieldOp        = 4 // NodeProto.op_type
	fieldAttribute = 5 // NodeProto.attribute

	fieldAttributeName   = 1 // AttributeProto.name
	fieldAttributeFloat  = 2 // AttributeProto.f
	fieldAttributeTensor = 5 // AttributeProto.t

	fieldDims     = 1  // TensorProto.dims
	fieldType     = 2  // TensorProto.data_type
	fieldName     = 8  // TensorProto.name
	fieldRaw      = 9  // TensorProto.raw_data
	fieldLocation = 14 // TensorProto.data_location
)

// Float is the type float32 in TensorProto.DataType.
const Float = 1

// Bounds of data read into memory, far above the needs of encoders.
const (
	maxText    = 1 << 12 // bytes of a name
	maxDims    = 8
	maxNodes   = 1 << 17
	maxTensors = 1 << 17
	maxParts   = 1 << 8 // inputs, outputs or attributes of a node
)

// Tensor is a weight or a constant.
type Tensor struct {
	Type       int64 // Float or another
	Shape      []int64
	begin, end int64 // of its numbers in the file, if they lie there raw
}

// Node is one operation.
type Node struct {
	Op      string
	Inputs  []string
	Outputs []string
	Floats  map[string]float32 // attributes that are one number
}

// File is an open file. Reading is safe for concurrent use.
type File struct {
	// Tensors are the weights, and by the name of their output the constants.
	// Nodes are all other operations, in the file's order. Neither must be
	// changed.
	Tensors map[string]Tensor
	Nodes   []Node

	f *os.File
}

// Open reads the wiring of the file at path. Cost and memory are proportional to the
// number of its tensors and nodes. Errors wrap ErrFormat, or are those of the file
// system.
func Open(path string) (*File, error) {
	f, err := regular.Open(path)
	if err != nil {
		return nil, err
	}
	x := &File{f: f, Tensors: map[string]Tensor{}}
	info, err := f.Stat()
	if err == nil {
		err = x.model(info.Size())
	}
	if err == nil && len(x.Tensors) == 0 {
		err = errors.New("no weights in it")
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("%w: %s: %w", ErrFormat, path, err), f.Close())
	}
	return x, nil
}

// Close closes the file.
func (x *File) Close() error { return x.f.Close() }

func (x *File) model(size int64) error {
	return Walk(x.f, 0, size, func(field int, begin, end int64, _ uint64) error {
		if field != fieldGraph {
			return nil
		}
		return Walk(x.f, begin, end, func(field int, begin, end int64, _ uint64) error {
			switch field {
			case fieldNode:
				return x.node(begin, end)
			case fieldInitializer:
				name, t, err := x.tensor(begin, end)
				if err != nil {
					return err
				}
				return x.add(name, t)
			}
			return nil
		})
	})
}

func (x *File) add(name string, t Tensor) error {
	if len(x.Tensors) >= maxTensors {
		return fmt.Errorf("more than %d tensors", maxTensors)
	}
	x.Tensors[name] = t
	return nil
}

func (x *File) node(begin, end int64) error {
	var n Node
	var constant *Tensor
	parts := 0
	err := Walk(x.f, begin, end, func(field int, begin, end int64, _ uint64) (err error) {
		if parts++; parts > maxParts {
			return fmt.Errorf("an operation of more than %d parts", maxParts)
		}
		var s string
		switch field {
		case fieldInput:
			s, err = x.text(begin, end)
			n.Inputs = append(n.Inputs, s)
		case fieldOutput:
			s, err = x.text(begin, end)
			n.Outputs = append(n.Outputs, s)
		case fieldOp:
			n.Op, err = x.text(begin, end)
		case fieldAttribute:
			err = x.attribute(&n, &constant, begin, end)
		}
		return err
	})
	if err != nil {
		return err
	}
	if n.Op == "Constant" && constant != nil && len(n.Outputs) == 1 {
		return x.add(n.Outputs[0], *constant)
	}
	if len(x.Nodes) >= maxNodes {
		return fmt.Errorf("more than %d operations", maxNodes)
	}
	x.Nodes = append(x.Nodes, n)
	return nil
}

func (x *File) attribute(n *Node, constant **Tensor, begin, end int64) error {
	var name string
	var float *float32
	err := Walk(x.f, begin, end, func(field int, begin, end int64, _ uint64) (err error) {
		switch field {
		case fieldAttributeName:
			name, err = x.text(begin, end)
		case fieldAttributeFloat:
			var b [4]byte
			if end-begin != 4 {
				return errProto
			}
			if _, err = x.f.ReadAt(b[:], begin); err == nil {
				v := math.Float32frombits(binary.LittleEndian.Uint32(b[:]))
				float = &v
			}
		case fieldAttributeTensor:
			var t Tensor
			if _, t, err = x.tensor(begin, end); err == nil {
				*constant = &t
			}
		}
		return err
	})
	if float != nil {
		if n.Floats == nil {
			n.Floats = map[string]float32{}
		}
		n.Floats[name] = *float
	}
	return err
}

// tensor reads all of a TensorProto except its numbers.
func (x *File) tensor(begin, end int64) (name string, t Tensor, err error) {
	elsewhere := false
	dim := func(v uint64) error {
		if len(t.Shape) >= maxDims || v > math.MaxInt64 {
			return fmt.Errorf("a tensor of more than %d dimensions, or a negative one", maxDims)
		}
		t.Shape = append(t.Shape, int64(v))
		return nil
	}
	err = Walk(x.f, begin, end, func(field int, begin, end int64, number uint64) (err error) {
		switch field {
		case fieldDims:
			if begin == end { // one number
				return dim(number)
			}
			if end-begin > maxDims*binary.MaxVarintLen64 {
				return errProto
			}
			b := make([]byte, end-begin) // several, packed
			if _, err := x.f.ReadAt(b, begin); err != nil {
				return err
			}
			for len(b) > 0 {
				v, n := binary.Uvarint(b)
				if n <= 0 {
					return errProto
				}
				if err := dim(v); err != nil {
					return err
				}
				b = b[n:]
			}
		case fieldType:
			t.Type = int64(number)
		case fieldName:
			name, err = x.text(begin, end)
		case fieldRaw:
			t.begin, t.end = begin, end
		case fieldLocation:
			elsewhere = elsewhere || number != 0
		}
		return err
	})
	if elsewhere {
		t.begin, t.end = 0, 0
	}
	return name, t, err
}

func (x *File) text(begin, end int64) (string, error) {
	if end-begin > maxText {
		return "", fmt.Errorf("a name of %d bytes", end-begin)
	}
	b := make([]byte, end-begin)
	if _, err := x.f.ReadAt(b, begin); err != nil && len(b) > 0 {
		return "", err
	}
	return string(b), nil
}

// Floats returns the numbers of a tensor of type Float, as little-endian bytes.
func (x *File) Floats(name string) (*io.SectionReader, error) {
	t, ok := x.Tensors[name]
	if !ok {
		return nil, fmt.Errorf("%w: it has no tensor %q", ErrFormat, name)
	}
	if t.Type != Float {
		return nil, fmt.Errorf("%w: tensor %q is of type %d, want %d", ErrFormat, name, t.Type, Float)
	}
	n := int64(4)
	for _, d := range t.Shape {
		if d > 0 && n > math.MaxInt64/d {
			return nil, fmt.Errorf("%w: tensor %q has the shape %v", ErrFormat, name, t.Shape)
		}
		n *= d
	}
	if t.end-t.begin != n {
		return nil, fmt.Errorf("%w: tensor %q of the shape %v has %d raw bytes", ErrFormat, name, t.Shape, t.end-t.begin)
	}
	return io.NewSectionReader(x.f, t.begin, n), nil
}
