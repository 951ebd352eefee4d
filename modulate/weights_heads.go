package modulate

import (
	"encoding/binary"
	"fmt"
	"maps"
	"slices"
)

// headShape describes a head in the header of a weights file. Its numbers are
//
//	int32 × rows         token ids, ascending, only if Shared is false
//	float32 × rows × d   U
//	float32 × rows       b
//	int32 × rows × near  neighbours
type headShape struct {
	Variant string `json:"variant"`
	Rows    int    `json:"rows"`
	Shared  bool   `json:"shared"` // one row for all tokens
	Near    int    `json:"near"`
}

// ids is the number of token ids in the file.
func (s headShape) ids() int {
	if s.Shared {
		return 0
	}
	return s.Rows
}

// headShapes returns the shapes of the heads by name, after checking each.
func (w *Weights) headShapes() ([]headShape, error) {
	var shapes []headShape
	for _, name := range slices.Sorted(maps.Keys(w.Heads)) {
		h := w.Heads[name]
		if err := h.check(w.Projection.dim, w.Projection.vocab); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		shapes = append(shapes, headShape{name, h.Rows(), h.Tokens == nil, len(h.Near) / h.Rows()})
	}
	return shapes, nil
}

// append adds the numbers of the head to b.
func (h *Head) append(b []byte) []byte {
	b = appendInts(b, h.Tokens)
	b = appendFloats(b, h.U)
	b = appendFloats(b, h.B)
	return appendInts(b, h.Near)
}

// maxNear limits the number of neighbours of a row in a file.
const maxNear = 1 << 10

// headNumbers is the number of 4-byte numbers in heads of these shapes.
func headNumbers(shapes []headShape, dim, vocab int) (int, error) {
	n := 0
	for i, s := range shapes {
		if s.Rows < 1 || s.Rows > vocab || s.Near < 0 || s.Near > maxNear || s.Shared && s.Rows != 1 {
			return 0, fmt.Errorf("impossible head %s: %d rows with %d neighbours", s.Variant, s.Rows, s.Near)
		}
		if i > 0 && s.Variant <= shapes[i-1].Variant {
			return 0, fmt.Errorf("head %s out of order", s.Variant)
		}
		n += s.ids() + s.Rows*(dim+1+s.Near)
	}
	return n, nil
}

// readHeads reads heads of these shapes from b, which must be long enough.
func (w *Weights) readHeads(b []byte, shapes []headShape) error {
	dim, vocab := w.Projection.dim, w.Projection.vocab
	take := func(n int) []byte {
		part := b[:4*n]
		b = b[4*n:]
		return part
	}
	for _, s := range shapes {
		h := &Head{}
		if !s.Shared {
			h.Tokens = readInts(take(s.Rows), s.Rows)
		}
		h.U = readFloats(take(s.Rows*dim), s.Rows*dim)
		h.B = readFloats(take(s.Rows), s.Rows)
		if s.Near > 0 {
			h.Near = readInts(take(s.Rows*s.Near), s.Rows*s.Near)
		}
		if err := h.check(dim, vocab); err != nil {
			return fmt.Errorf("%s: %w", s.Variant, err)
		}
		if w.Heads == nil {
			w.Heads = map[string]*Head{}
		}
		w.Heads[s.Variant] = h
	}
	return nil
}

func appendInts(b []byte, x []int32) []byte {
	for _, i := range x {
		b = binary.LittleEndian.AppendUint32(b, uint32(i))
	}
	return b
}

func readInts(b []byte, n int) []int32 {
	x := make([]int32, n)
	for i := range x {
		x[i] = int32(binary.LittleEndian.Uint32(b[4*i:]))
	}
	return x
}
