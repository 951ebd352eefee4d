package provision

import (
	"context"
	"fmt"
	"io"
	"math"
	"strconv"
)

// Field numbers and constants of onnx.proto, version 1.16 (IR 9).
const (
	onnxIRVersion = 9
	onnxOpset     = 17 // the first with LayerNormalization
	onnxFloat     = 1  // TensorProto.DataType
	onnxInt32     = 6
	onnxInt64     = 7
	contribDomain = "com.microsoft" // operators that ONNX Runtime brings itself
)

// graph collects the nodes and weights of a model and writes it. Weights are
// streamed: they are read when the model is written, one at a time.
type graph struct {
	nodes           message
	inputs, outputs message
	weights         []weight
	contrib         bool
	last            int
}

// weight is an initializer.
type weight struct {
	head  message // TensorProto up to the data
	size  int64   // bytes of data
	write func(w io.Writer) error
}

// attribute is a named constant of a node: int64 or float32.
type attribute struct {
	name  string
	value any
}

// add appends a node with one output and returns that output's name.
func (g *graph) add(domain, op string, inputs []string, attrs ...attribute) string {
	g.last++
	out := op + "_" + strconv.Itoa(g.last)
	g.addNamed(domain, op, inputs, out, attrs...)
	return out
}

func (g *graph) addNamed(domain, op string, inputs []string, out string, attrs ...attribute) {
	var n message
	for _, in := range inputs {
		n.string(1, in)
	}
	n.string(2, out)
	n.string(3, out)
	n.string(4, op)
	for _, a := range attrs {
		var m message
		m.string(1, a.name)
		switch v := a.value.(type) {
		case int64:
			m.varint(3, v)
			m.varint(20, 2)
		case float32:
			m.float32(2, v)
			m.varint(20, 1)
		default:
			panic(fmt.Sprintf("attribute %s of type %T", a.name, v)) // a mistake in this package
		}
		n.bytes(5, m)
	}
	if domain != "" {
		n.string(7, domain)
		g.contrib = true
	}
	g.nodes.bytes(1, n)
}

// addWeight appends an initializer whose size bytes of data write will give.
func (g *graph) addWeight(name string, dataType int64, dims []int64, size int64, write func(io.Writer) error) string {
	var head message
	for _, d := range dims {
		head.varint(1, d)
	}
	head.varint(2, dataType)
	head.string(8, name)
	head.length(9, size)
	g.weights = append(g.weights, weight{head, size, write})
	return name
}

// addInts appends a small initializer of int64 values, a vector.
func (g *graph) addInts(name string, values ...int64) string {
	b := make([]byte, 0, 8*len(values))
	for _, v := range values {
		for s := 0; s < 64; s += 8 {
			b = append(b, byte(v>>s))
		}
	}
	return g.addWeight(name, onnxInt64, []int64{int64(len(values))}, int64(len(b)), func(w io.Writer) error {
		_, err := w.Write(b)
		return err
	})
}

// valueInfo describes an input or output. A dimension is a number or a name.
func valueInfo(name string, dataType int64, dims ...string) message {
	var shape message
	for _, d := range dims {
		var dim message
		if n, err := strconv.ParseInt(d, 10, 64); err == nil {
			dim.varint(1, n)
		} else {
			dim.string(2, d)
		}
		shape.bytes(1, dim)
	}
	var t, typ, v message
	t.varint(1, dataType)
	t.bytes(2, shape)
	typ.bytes(1, t)
	v.string(1, name)
	v.bytes(2, typ)
	return v
}

func (g *graph) input(name string, dims ...string) string {
	g.inputs.bytes(11, valueInfo(name, onnxInt64, dims...))
	return name
}

func (g *graph) output(name string, dims ...string) {
	g.outputs.bytes(12, valueInfo(name, onnxFloat, dims...))
}

// writeTo writes the model.
func (g *graph) writeTo(ctx context.Context, w io.Writer, producer string) error {
	var body message
	body = append(body, g.nodes...)
	body.string(2, "encoder")
	size := int64(len(body) + len(g.inputs) + len(g.outputs))
	for _, i := range g.weights {
		n := int64(len(i.head)) + i.size
		var head message
		head.length(5, n)
		size += int64(len(head)) + n
	}
	if size > math.MaxInt32 {
		return fmt.Errorf("%w: the model would have %d bytes; an ONNX file holds at most 2 GiB", ErrCheckpoint, size)
	}
	var m message
	m.varint(1, onnxIRVersion)
	m.string(2, producer)
	opset := func(domain string, version int64) {
		var o message
		o.string(1, domain)
		o.varint(2, version)
		m.bytes(8, o)
	}
	opset("", onnxOpset)
	if g.contrib {
		opset(contribDomain, 1)
	}
	m.length(7, size)
	for _, part := range []message{m, body} {
		if _, err := w.Write(part); err != nil {
			return err
		}
	}
	for _, i := range g.weights {
		if err := ctx.Err(); err != nil {
			return err
		}
		var head message
		head.length(5, int64(len(i.head))+i.size)
		if _, err := w.Write(append(head, i.head...)); err != nil {
			return err
		}
		count := &countingWriter{w: w}
		if err := i.write(count); err != nil {
			return err
		}
		if count.n != i.size {
			return fmt.Errorf("%w: a weight gave %d bytes, want %d", ErrCheckpoint, count.n, i.size)
		}
	}
	for _, part := range []message{g.inputs, g.outputs} {
		if _, err := w.Write(part); err != nil {
			return err
		}
	}
	return nil
}

type countingWriter struct {
	w io.Writer
	n int64
}

func (c *countingWriter) Write(p []byte) (int, error) {
	n, err := c.w.Write(p)
	c.n += int64(n)
	return n, err
}
