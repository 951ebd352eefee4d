package native

import (
	"encoding/binary"
	"math"
	"strings"

	"github.com/lexsem/lexsem/internal/testkit/encoders"
)

// pb is a protobuf message.
type pb []byte

func (p pb) bytes(field int, b []byte) pb {
	p = binary.AppendUvarint(p, uint64(field)<<3|2)
	return append(binary.AppendUvarint(p, uint64(len(b))), b...)
}

func (p pb) number(field int, n uint64) pb {
	return binary.AppendUvarint(binary.AppendUvarint(p, uint64(field)<<3), n)
}

// tensor is a float32 weight.
func tensor(name string, w []float32, shape ...int) pb {
	var p pb
	for _, n := range shape {
		p = p.number(1, uint64(n))
	}
	var raw []byte
	for _, v := range w {
		raw = binary.LittleEndian.AppendUint32(raw, math.Float32bits(v))
	}
	return p.number(2, 1).bytes(8, []byte(name)).bytes(9, raw)
}

func node(op, out string, in ...string) pb {
	var p pb
	for _, name := range in {
		p = p.bytes(1, []byte(name))
	}
	return p.bytes(2, []byte(out)).bytes(4, []byte(op))
}

// basicGraph is m as PyTorch exports it, as far as it says what the weights are:
// matrices transposed and without names, a mask added to scores, GELU in parts.
// It computes nothing.
func basicGraph(m *encoders.Tiny) []byte {
	var g pb
	constant := func(name string, v float64) {
		g = g.bytes(1, node("Constant", name).bytes(5, pb{}.bytes(1, []byte("value")).bytes(5, tensor("", []float32{float32(v)}))))
	}
	constant("root", math.Sqrt(float64(m.Hidden/m.Heads)))
	constant("eps", 1e-12)
	m.Each(func(name string, w []float32, shape []int) {
		layer, matrix := strings.CutSuffix(name, ".weight")
		if !matrix || len(shape) != 2 || strings.Contains(name, "_embeddings") {
			g = g.bytes(5, tensor(name, w, shape...))
			return
		}
		turned := make([]float32, len(w))
		for o := range shape[0] {
			for i := range shape[1] {
				turned[i*shape[0]+o] = w[o*shape[1]+i]
			}
		}
		hidden := "onnx::MatMul_" + strings.ReplaceAll(layer, ".", "")
		g = g.bytes(5, tensor(hidden, turned, shape[1], shape[0]))
		g = g.bytes(1, node("MatMul", layer+"/product", "x", hidden))
		g = g.bytes(1, node("Add", layer+"/sum", layer+".bias", layer+"/product"))
	})
	for _, n := range []pb{
		node("Div", "scaled", "scores", "root"), node("Add", "masked", "scaled", "mask"), node("Softmax", "weights", "masked"),
		node("Erf", "erf", "x"), node("Add", "variance", "mean", "eps"), node("Sqrt", "deviation", "variance"),
	} {
		g = g.bytes(1, n)
	}
	return pb{}.number(1, 9).bytes(7, g)
}
