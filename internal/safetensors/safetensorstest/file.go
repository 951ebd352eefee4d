// Package safetensorstest makes safetensors files for tests. Start with [New], then [File.Add] for each
// tensor and [File.Bytes] for the file.
package safetensorstest

import (
	"encoding/binary"
	"encoding/json"
	"math"
)

// File is a file in the making.
type File struct {
	header map[string]any
	data   []byte
}

// New begins a file with metadata, which may be nil.
func New(metadata map[string]string) *File {
	f := &File{header: map[string]any{}}
	if metadata != nil {
		f.header["__metadata__"] = metadata
	}
	return f
}

// Add adds a tensor of type F32 in row-major order.
func (f *File) Add(name string, x []float32, shape ...int) {
	begin := len(f.data)
	for _, v := range x {
		f.data = binary.LittleEndian.AppendUint32(f.data, math.Float32bits(v))
	}
	f.header[name] = map[string]any{"dtype": "F32", "shape": shape, "data_offsets": [2]int{begin, len(f.data)}}
}

// AddBF16 is Add for a tensor of type BF16, which stores the upper half of each number.
func (f *File) AddBF16(name string, x []float32, shape ...int) {
	begin := len(f.data)
	for _, v := range x {
		f.data = binary.LittleEndian.AppendUint16(f.data, uint16(math.Float32bits(v)>>16))
	}
	f.header[name] = map[string]any{"dtype": "BF16", "shape": shape, "data_offsets": [2]int{begin, len(f.data)}}
}

// AddI64 adds a tensor of type I64 and one dimension.
func (f *File) AddI64(name string, x []int64) {
	begin := len(f.data)
	for _, v := range x {
		f.data = binary.LittleEndian.AppendUint64(f.data, uint64(v))
	}
	f.header[name] = map[string]any{"dtype": "I64", "shape": []int{len(x)}, "data_offsets": [2]int{begin, len(f.data)}}
}

// Bytes returns the file.
func (f *File) Bytes() []byte {
	header, err := json.Marshal(f.header)
	if err != nil {
		panic(err) // texts and integers can be written
	}
	b := binary.LittleEndian.AppendUint64(nil, uint64(len(header)))
	return append(append(b, header...), f.data...)
}
