//go:build cgo

package onnx

import (
	"fmt"
	"io"

	"github.com/lexsem/lexsem/internal/onnxfile"
	"github.com/lexsem/lexsem/internal/regular"
)

// A model file, an onnx.proto ModelProto, lists the inputs and outputs of the model. They
// are read by walking over the fields and skipping the weights, because asking the
// runtime would load the model twice.

// Fields of onnx.proto on the way to a value's name, type and shape.
const (
	fieldGraph   = 7  // ModelProto.graph
	fieldInput   = 11 // GraphProto.input
	fieldOutput  = 12 // GraphProto.output
	fieldName    = 1  // ValueInfoProto.name
	fieldType    = 2  // ValueInfoProto.type
	fieldTensor  = 1  // TypeProto.tensor_type
	fieldElement = 1  // TypeProto.Tensor.elem_type
	fieldShape   = 2  // TypeProto.Tensor.shape
	fieldDim     = 1  // TensorShapeProto.dim
	fieldValue   = 1  // TensorShapeProto.Dimension.dim_value
)

// Element types of onnx.proto that encoders use.
const (
	elementFloat = 1
	elementInt64 = 7
)

// maxValueInfo bounds the description of one input or output.
const maxValueInfo = 1 << 16

// value is an input or output of a model. A dimension that is not fixed is 0.
type value struct {
	name    string
	element int64
	dims    []int64
}

// readSignature returns the inputs and outputs of the ONNX file at path.
func readSignature(path string) (inputs, outputs []value, err error) {
	f, err := regular.Open(path)
	if err != nil {
		return nil, nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, nil, err
	}
	return parseSignature(f, info.Size())
}

func parseSignature(r io.ReaderAt, size int64) (inputs, outputs []value, err error) {
	err = onnxfile.Walk(r, 0, size, func(field int, begin, end int64, _ uint64) error {
		if field != fieldGraph {
			return nil
		}
		return onnxfile.Walk(r, begin, end, func(field int, begin, end int64, _ uint64) error {
			if field != fieldInput && field != fieldOutput {
				return nil
			}
			if end-begin > maxValueInfo {
				return fmt.Errorf("an input or output of %d bytes", end-begin)
			}
			v, err := parseValue(r, begin, end)
			if field == fieldInput {
				inputs = append(inputs, v)
			} else {
				outputs = append(outputs, v)
			}
			return err
		})
	})
	return inputs, outputs, err
}

func parseValue(r io.ReaderAt, begin, end int64) (v value, err error) {
	err = onnxfile.Walk(r, begin, end, func(field int, begin, end int64, _ uint64) error {
		switch field {
		case fieldName:
			b := make([]byte, end-begin)
			if _, err := r.ReadAt(b, begin); err != nil {
				return err
			}
			v.name = string(b)
		case fieldType:
			return onnxfile.Walk(r, begin, end, func(field int, begin, end int64, _ uint64) error {
				if field != fieldTensor {
					return nil
				}
				return onnxfile.Walk(r, begin, end, func(field int, begin, end int64, n uint64) error {
					switch field {
					case fieldElement:
						v.element = int64(n)
					case fieldShape:
						return v.parseShape(r, begin, end)
					}
					return nil
				})
			})
		}
		return nil
	})
	return v, err
}

func (v *value) parseShape(r io.ReaderAt, begin, end int64) error {
	return onnxfile.Walk(r, begin, end, func(field int, begin, end int64, _ uint64) error {
		if field != fieldDim {
			return nil
		}
		v.dims = append(v.dims, 0)
		return onnxfile.Walk(r, begin, end, func(field int, _, _ int64, n uint64) error {
			if field == fieldValue {
				v.dims[len(v.dims)-1] = int64(n)
			}
			return nil
		})
	})
}
