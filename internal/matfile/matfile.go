// Package matfile reads MATLAB files of version 5 (written as -v6 or -v7): numbers, texts, cells and structs.
// Start with [Read]. Memory is bounded for any input, and unreadable input is ErrFormat.
package matfile

import (
	"bytes"
	"compress/zlib"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"strings"
	"unicode/utf16"
)

// ErrFormat is wrapped by every error about bytes that are not such a file, or contain unsupported data.
var ErrFormat = errors.New("unreadable MATLAB file")

// Bounds of a file.
const (
	maxBytes = 256 << 20 // of all that is unpacked
	maxDepth = 8
)

// Value is an array. Dims are its dimensions; values are stored by column.
type Value struct {
	Dims    []int
	Numbers []float64 // of an array of numbers or truth values
	Text    string    // of an array of characters
	Cells   []Value   // of an array of cells
	Fields  []string  // of an array of structs, in their order
	Structs [][]Value // one for each struct: its values, as Fields
}

// Field is the value of a field of the struct i; ok is false if there is no such field.
func (v *Value) Field(i int, name string) (Value, bool) {
	for j, f := range v.Fields {
		if f == name && i < len(v.Structs) {
			return v.Structs[i][j], true
		}
	}
	return Value{}, false
}

// Number is the number of a value with a single number; ok is false for other values.
func (v Value) Number() (float64, bool) {
	if len(v.Numbers) != 1 {
		return 0, false
	}
	return v.Numbers[0], true
}

// Element types and array classes of the format.
const (
	typeInt8, typeUint8, typeInt16, typeUint16, typeInt32, typeUint32 = 1, 2, 3, 4, 5, 6
	typeSingle, typeDouble, typeInt64, typeUint64                     = 7, 9, 12, 13
	typeMatrix, typeCompressed, typeUTF8, typeUTF16                   = 14, 15, 16, 17

	classCell, classStruct, classChar, classDouble, classUint64 = 1, 2, 4, 6, 15
)

// Read returns the variables of a file by name. Sparse, object and complex values are ErrFormat, as are files
// of version 7.3, which are HDF5.
func Read(b []byte) (map[string]Value, error) {
	if len(b) < 128 || string(b[126:128]) != "IM" || binary.LittleEndian.Uint16(b[124:]) != 0x100 {
		return nil, fmt.Errorf("%w: it does not begin as one of version 5 does; save it with -v7 or -v6", ErrFormat)
	}
	r := &reader{left: maxBytes}
	out := map[string]Value{}
	for rest := b[128:]; len(rest) > 0; {
		kind, data, after, err := element(rest)
		if err != nil {
			return nil, err
		}
		rest = after
		if kind == typeCompressed {
			if data, err = r.unpack(data); err != nil {
				return nil, err
			}
			if kind, data, _, err = element(data); err != nil {
				return nil, err
			}
		}
		if kind != typeMatrix {
			continue
		}
		v, name, err := r.matrix(data, 0)
		if err != nil {
			return nil, fmt.Errorf("variable %.80q: %w", name, err)
		}
		out[name] = v
	}
	return out, nil
}

type reader struct {
	left int // bytes that may still be unpacked or made of what was read
}

func (r *reader) take(n int) error {
	if r.left -= n; n < 0 || r.left < 0 {
		return fmt.Errorf("%w: it takes more than %d bytes", ErrFormat, maxBytes)
	}
	return nil
}

func (r *reader) unpack(b []byte) ([]byte, error) {
	z, err := zlib.NewReader(bytes.NewReader(b))
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrFormat, err)
	}
	out, err := io.ReadAll(io.LimitReader(z, int64(r.left)+1))
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrFormat, err)
	}
	return out, r.take(len(out))
}

var errShort = fmt.Errorf("%w: it ends early", ErrFormat)

// element splits off the first element: its type, its data and the rest.
func element(b []byte) (kind uint32, data, rest []byte, err error) {
	if len(b) < 8 {
		return 0, nil, nil, errShort
	}
	kind = binary.LittleEndian.Uint32(b)
	if n := kind >> 16; n > 0 { // a small one, whose data stand in the tag
		if n > 4 {
			return 0, nil, nil, errShort
		}
		return kind & 0xffff, b[4 : 4+n], b[8:], nil
	}
	n := int64(binary.LittleEndian.Uint32(b[4:]))
	b = b[8:]
	if n > int64(len(b)) {
		return 0, nil, nil, errShort
	}
	padded := n
	if kind != typeCompressed {
		padded = min((n+7)/8*8, int64(len(b)))
	}
	return kind, b[:n], b[padded:], nil
}

// matrix reads the data of an array.
func (r *reader) matrix(b []byte, depth int) (v Value, name string, err error) {
	if len(b) == 0 {
		return v, "", nil
	}
	if depth > maxDepth {
		return v, "", fmt.Errorf("%w: arrays in arrays, more than %d deep", ErrFormat, maxDepth)
	}
	_, flags, b, err := element(b)
	if err != nil || len(flags) < 8 {
		return v, "", errors.Join(err, errShort)
	}
	_, dims, b, err := element(b)
	if err != nil {
		return v, "", err
	}
	_, called, b, err := element(b)
	if err != nil {
		return v, "", err
	}
	name = string(called)
	n := int64(1)
	for ; len(dims) >= 4; dims = dims[4:] {
		d := int64(int32(binary.LittleEndian.Uint32(dims)))
		if d < 0 || d > maxBytes || n*d > maxBytes {
			return v, name, fmt.Errorf("%w: an array of %d by %d", ErrFormat, n, d)
		}
		n *= d
		v.Dims = append(v.Dims, int(d))
	}
	if len(v.Dims) < 2 {
		return v, name, fmt.Errorf("%w: an array of %d dimensions", ErrFormat, len(v.Dims))
	}
	switch class := flags[0]; {
	case flags[1]&0x08 != 0:
		return v, name, fmt.Errorf("%w: complex numbers", ErrFormat)
	case class == classCell:
		v.Cells, _, err = r.matrices(b, n, depth)
	case class == classStruct:
		err = r.structs(&v, b, n, depth)
	case class == classChar:
		v.Text, err = r.text(b)
	case class >= classDouble && class <= classUint64:
		v.Numbers, err = r.numbers(b)
	default:
		err = fmt.Errorf("%w: an array of class %d; cells, structs, characters and numbers are read", ErrFormat, class)
	}
	if err == nil && v.Numbers != nil && int64(len(v.Numbers)) != n {
		err = fmt.Errorf("%w: %d numbers in an array of %d", ErrFormat, len(v.Numbers), n)
	}
	return v, name, err
}

// matrices reads n consecutive arrays, each of at least 8 bytes.
func (r *reader) matrices(b []byte, n int64, depth int) (out []Value, rest []byte, err error) {
	const bytesOfValue = 128 // in memory, about
	if n > int64(len(b)/8) {
		return nil, nil, errShort
	}
	if err := r.take(int(n) * bytesOfValue); err != nil {
		return nil, nil, err
	}
	out = make([]Value, n)
	for i := range out {
		kind, data, after, err := element(b)
		if err != nil {
			return nil, nil, err
		}
		if kind != typeMatrix {
			return nil, nil, fmt.Errorf("%w: an element of type %d in place of an array", ErrFormat, kind)
		}
		if out[i], _, err = r.matrix(data, depth+1); err != nil {
			return nil, nil, err
		}
		b = after
	}
	return out, b, nil
}

func (r *reader) structs(v *Value, b []byte, n int64, depth int) error {
	_, length, b, err := element(b)
	if err != nil || len(length) != 4 {
		return errors.Join(err, errShort)
	}
	_, names, b, err := element(b)
	if err != nil {
		return err
	}
	width := int(int32(binary.LittleEndian.Uint32(length)))
	if width < 1 || len(names)%width != 0 {
		return fmt.Errorf("%w: names of fields of %d bytes in %d", ErrFormat, width, len(names))
	}
	for ; len(names) > 0; names = names[width:] {
		v.Fields = append(v.Fields, string(bytes.TrimRight(names[:width], "\x00")))
	}
	fields := int64(len(v.Fields))
	if fields == 0 {
		return nil
	}
	all, _, err := r.matrices(b, n*fields, depth)
	if err != nil {
		return err
	}
	v.Structs = make([][]Value, n)
	for i := range v.Structs {
		v.Structs[i] = all[int64(i)*fields : int64(i+1)*fields]
	}
	return nil
}

func (r *reader) text(b []byte) (string, error) {
	kind, data, _, err := element(b)
	if err != nil {
		return "", err
	}
	if err := r.take(3 * len(data)); err != nil {
		return "", err
	}
	switch kind {
	case typeInt8, typeUint8, typeUTF8:
		return strings.ToValidUTF8(string(data), "\uFFFD"), nil
	case typeUint16, typeUTF16:
		u := make([]uint16, len(data)/2)
		for i := range u {
			u[i] = binary.LittleEndian.Uint16(data[2*i:])
		}
		return string(utf16.Decode(u)), nil
	}
	return "", fmt.Errorf("%w: characters of type %d", ErrFormat, kind)
}

func (r *reader) numbers(b []byte) ([]float64, error) {
	kind, data, _, err := element(b)
	if err != nil {
		return nil, err
	}
	size := map[uint32]int{typeInt8: 1, typeUint8: 1, typeInt16: 2, typeUint16: 2, typeInt32: 4, typeUint32: 4, typeSingle: 4, typeDouble: 8, typeInt64: 8, typeUint64: 8}[kind]
	if size == 0 {
		return nil, fmt.Errorf("%w: numbers of type %d", ErrFormat, kind)
	}
	if err := r.take(8 * (len(data) / size)); err != nil {
		return nil, err
	}
	out := make([]float64, len(data)/size)
	for i := range out {
		p := data[i*size:]
		switch kind {
		case typeInt8:
			out[i] = float64(int8(p[0]))
		case typeUint8:
			out[i] = float64(p[0])
		case typeInt16:
			out[i] = float64(int16(binary.LittleEndian.Uint16(p)))
		case typeUint16:
			out[i] = float64(binary.LittleEndian.Uint16(p))
		case typeInt32:
			out[i] = float64(int32(binary.LittleEndian.Uint32(p)))
		case typeUint32:
			out[i] = float64(binary.LittleEndian.Uint32(p))
		case typeSingle:
			out[i] = float64(math.Float32frombits(binary.LittleEndian.Uint32(p)))
		case typeDouble:
			out[i] = math.Float64frombits(binary.LittleEndian.Uint64(p))
		case typeInt64:
			out[i] = float64(int64(binary.LittleEndian.Uint64(p)))
		case typeUint64:
			out[i] = float64(binary.LittleEndian.Uint64(p))
		}
	}
	return out, nil
}
