package onnxfile

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// field is a protobuf field that holds bytes.
func field(number int, body ...[]byte) []byte {
	all := bytes.Join(body, nil)
	b := binary.AppendUvarint(nil, uint64(number)<<3|2)
	return append(binary.AppendUvarint(b, uint64(len(all))), all...)
}

func number(field int, n uint64) []byte {
	return binary.AppendUvarint(binary.AppendUvarint(nil, uint64(field)<<3), n)
}

func float(field int, v float32) []byte {
	return binary.LittleEndian.AppendUint32(binary.AppendUvarint(nil, uint64(field)<<3|5), math.Float32bits(v))
}

func raw(v ...any) []byte {
	var b bytes.Buffer
	for _, x := range v {
		if err := binary.Write(&b, binary.LittleEndian, x); err != nil {
			panic(err)
		}
	}
	return b.Bytes()
}

func text(field_ int, s string) []byte { return field(field_, []byte(s)) }

// sample holds a weight [2×1], its shape given number by number, a constant [2]
// of another type, its shape packed, an operation with attributes, and fields that are
// not read.
func sample() []byte {
	weight := field(fieldInitializer, number(fieldDims, 2), number(fieldDims, 1), number(fieldType, Float), text(fieldName, "w"), field(fieldRaw, raw(float32(1.5), float32(-2))))
	value := field(fieldAttributeTensor, field(fieldDims, []byte{2}), number(fieldType, 7), field(fieldRaw, raw(int64(7), int64(-8))))
	constant := field(fieldNode, text(fieldOutput, "c"), text(fieldOp, "Constant"), field(fieldAttribute, text(fieldAttributeName, "value"), value))
	op := field(fieldNode, text(fieldInput, "x"), text(fieldInput, "w"), text(fieldOutput, "y"), text(3, "a name"), text(fieldOp, "Norm"),
		field(fieldAttribute, text(fieldAttributeName, "epsilon"), float(fieldAttributeFloat, 0.25)),
		field(fieldAttribute, text(fieldAttributeName, "axis"), number(3, 1)))
	return append(number(1, 9), field(fieldGraph, text(2, "graph"), op, weight, constant)...)
}

func write(t testing.TB, b []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "model.onnx")
	if err := os.WriteFile(path, b, 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestOpen(t *testing.T) {
	x, err := Open(write(t, sample()))
	if err != nil {
		t.Fatal(err)
	}
	defer x.Close()
	if len(x.Nodes) != 1 || len(x.Tensors) != 2 {
		t.Fatalf("%d operations and %d tensors, want 1 and 2", len(x.Nodes), len(x.Tensors))
	}
	n := x.Nodes[0]
	if n.Op != "Norm" || !slices.Equal(n.Inputs, []string{"x", "w"}) || !slices.Equal(n.Outputs, []string{"y"}) ||
		len(n.Floats) != 1 || n.Floats["epsilon"] != 0.25 {
		t.Errorf("operation %+v", n)
	}
	if w := x.Tensors["w"]; w.Type != Float || !slices.Equal(w.Shape, []int64{2, 1}) {
		t.Errorf("weight %+v", w)
	}
	r, err := x.Floats("w")
	if err != nil {
		t.Fatal(err)
	}
	if b, err := io.ReadAll(r); err != nil || !bytes.Equal(b, raw(float32(1.5), float32(-2))) {
		t.Errorf("numbers % x, %v", b, err)
	}
	if c := x.Tensors["c"]; c.Type != 7 || !slices.Equal(c.Shape, []int64{2}) {
		t.Errorf("constant %+v", c)
	}
	for _, name := range []string{"none", "c"} {
		if _, err := x.Floats(name); !errors.Is(err, ErrFormat) {
			t.Errorf("tensor %q as float32: %v, want ErrFormat", name, err)
		}
	}
}

func TestOpenRefuses(t *testing.T) {
	in := func(parts ...[]byte) []byte { return field(fieldGraph, parts...) }
	weight := func(parts ...[]byte) []byte {
		return in(field(fieldInitializer, append(parts, number(fieldType, Float), text(fieldName, "w"))...))
	}
	for name, b := range map[string][]byte{
		"empty":            nil,
		"text":             []byte("not a model at all"),
		"no weights":       in(text(2, "graph")),
		"cut":              sample()[:len(sample())-3],
		"a long name":      in(field(fieldInitializer, text(fieldName, string(make([]byte, maxText+1))))),
		"many dimensions":  weight(bytes.Repeat(number(fieldDims, 1), maxDims+1)),
		"a negative size":  weight(number(fieldDims, math.MaxUint64)),
		"many inputs":      in(field(fieldNode, bytes.Repeat(text(fieldInput, "x"), maxParts+1))),
		"a torn dimension": weight(field(fieldDims, []byte{0x80})),
	} {
		if x, err := Open(write(t, b)); !errors.Is(err, ErrFormat) {
			t.Errorf("%s: %+v, %v; want ErrFormat", name, x, err)
		}
	}
	for name, b := range map[string][]byte{
		"numbers elsewhere":   weight(number(fieldDims, 1), number(fieldLocation, 1), field(fieldRaw, raw(float32(1)))),
		"too few numbers":     weight(number(fieldDims, 2), field(fieldRaw, raw(float32(1)))),
		"sizes that run over": weight(number(fieldDims, 1<<40), number(fieldDims, 1<<40), field(fieldRaw, raw(float32(1)))),
	} {
		x, err := Open(write(t, b))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if _, err := x.Floats("w"); !errors.Is(err, ErrFormat) {
			t.Errorf("%s: %v, want ErrFormat", name, err)
		}
		x.Close()
	}
	if _, err := Open(filepath.Join(t.TempDir(), "none")); !errors.Is(err, os.ErrNotExist) || errors.Is(err, ErrFormat) {
		t.Errorf("missing file: %v", err)
	}
}

// Whatever the bytes, a tensor that is accepted can be read to its end.
func FuzzOpen(f *testing.F) {
	f.Add(sample())
	f.Fuzz(func(t *testing.T, b []byte) {
		x, err := Open(write(t, b))
		if err != nil {
			return
		}
		defer x.Close()
		for name := range x.Tensors {
			if r, err := x.Floats(name); err == nil {
				if n, err := io.Copy(io.Discard, r); err != nil || n != r.Size() {
					t.Fatalf("tensor %q: read %d of %d: %v", name, n, r.Size(), err)
				}
			}
		}
	})
}
