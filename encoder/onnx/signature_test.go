//go:build cgo

package onnx

import (
	"bytes"
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// field is a protobuf field that holds bytes.
func field(number int, body []byte) []byte {
	b := binary.AppendUvarint(nil, uint64(number)<<3|2)
	return append(binary.AppendUvarint(b, uint64(len(body))), body...)
}

func number(field int, n uint64) []byte {
	return binary.AppendUvarint(binary.AppendUvarint(nil, uint64(field)<<3), n)
}

// model is the head of a model: input "ids", int64 [?, ?], and output "out",
// float32 [?, ?, 384], with other fields in between.
func model() []byte {
	dim := func(n uint64) []byte { return field(fieldDim, number(fieldValue, n)) }
	free := field(fieldDim, field(2, []byte("batch")))
	info := func(name string, element uint64, dims ...[]byte) []byte {
		tensor := append(number(fieldElement, element), field(fieldShape, bytes.Join(dims, nil))...)
		return append(field(fieldName, []byte(name)), field(fieldType, field(fieldTensor, tensor))...)
	}
	graph := bytes.Join([][]byte{
		field(1, []byte("a node")), field(5, make([]byte, 1000)),
		field(fieldOutput, info("out", elementFloat, free, free, dim(384))),
		field(fieldInput, info("ids", elementInt64, free, free)),
		append(binary.AppendUvarint(nil, 99<<3|5), 1, 2, 3, 4),
		append(binary.AppendUvarint(nil, 98<<3|1), 1, 2, 3, 4, 5, 6, 7, 8),
	}, nil)
	return bytes.Join([][]byte{number(1, 9), field(2, []byte("maker")), field(fieldGraph, graph)}, nil)
}

func TestSignature(t *testing.T) {
	b := model()
	in, out, err := parseSignature(bytes.NewReader(b), int64(len(b)))
	if err != nil {
		t.Fatal(err)
	}
	if len(in) != 1 || in[0].name != "ids" || in[0].element != elementInt64 || len(in[0].dims) != 2 {
		t.Errorf("inputs %+v", in)
	}
	if len(out) != 1 || out[0].name != "out" || out[0].element != elementFloat || len(out[0].dims) != 3 || out[0].dims[2] != 384 {
		t.Errorf("outputs %+v", out)
	}
	for n := range b {
		cut := b[:n]
		in, out, err := parseSignature(bytes.NewReader(cut), int64(n))
		if err == nil && len(in)+len(out) > 0 {
			t.Fatalf("cut to %d of %d bytes it was read", n, len(b))
		}
	}
}

// A model that is no text encoder is refused for what it lacks.
func TestOpenSessionRefuses(t *testing.T) {
	free := bytes.ReplaceAll(model(), field(fieldDim, number(fieldValue, 384)), field(fieldDim, number(3, 384)))
	named := bytes.ReplaceAll(free, []byte("ids"), []byte("xyz"))
	for text, b := range map[string][]byte{
		"lacks the input": named,
		"fixed dimension": withInputs(free),
		"unusable model":  []byte("no protobuf"),
	} {
		path := filepath.Join(t.TempDir(), "model.onnx")
		if err := os.WriteFile(path, b, 0o644); err != nil {
			t.Fatal(err)
		}
		if _, err := findStates(path); !errors.Is(err, ErrModel) || !strings.Contains(err.Error(), text) {
			t.Errorf("%v does not say %q", err, text)
		}
	}
}

// withInputs appends the inputs of an encoder to a model; repeated fields of
// a message may stand in several pieces of it.
func withInputs(b []byte) []byte {
	for _, name := range []string{inputIDs, inputMask} {
		tensor := append(number(fieldElement, elementInt64), field(fieldShape, nil)...)
		info := append(field(fieldName, []byte(name)), field(fieldType, field(fieldTensor, tensor))...)
		b = append(b, field(fieldGraph, field(fieldInput, info))...)
	}
	return b
}

// Whatever the bytes, reading them ends and does not panic.
func FuzzSignature(f *testing.F) {
	f.Add(model())
	f.Add([]byte{0x3a, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01})
	f.Fuzz(func(t *testing.T, b []byte) {
		parseSignature(bytes.NewReader(b), int64(len(b)))
	})
}
