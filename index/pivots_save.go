package index

import (
	"context"
	"encoding/binary"
	"math"
	"slices"

	"github.com/lexsem/lexsem/internal/vec"
)

// encode is the content of tagPivots: number n, number when their mean was made, arrivals since, u32 each; mean f32 ×
// d; factors f32 × n; offsets f32 × n; slots u32 × n; signs of each minus the mean, 2·⌈d/8⌉ bytes, a byte for four
// components, the first in the lowest bit.
func (p *pivots) encode() []byte {
	if len(p.slots) == 0 {
		return nil
	}
	var b []byte
	for _, v := range []int{len(p.slots), p.fitted, p.come} {
		b = binary.LittleEndian.AppendUint32(b, uint32(v))
	}
	n := len(p.slots)
	for _, list := range [][]float32{p.mean, p.signs.Factors[:n], p.signs.Offsets[:n]} {
		for _, x := range list {
			b = binary.LittleEndian.AppendUint32(b, math.Float32bits(x))
		}
	}
	for _, s := range p.slots {
		b = binary.LittleEndian.AppendUint32(b, s)
	}
	packed := make([]byte, vec.SignBytes(len(p.mean)))
	for lane := range p.slots {
		p.signs.Get(packed, lane)
		b = append(b, packed...)
	}
	return b
}

// openPivots reads the pivots of a graph that is open. Snapshots of older programs have no pivots.
func (p *opener) openPivots(h *hnsw) {
	if p.err != nil || !p.has(tagPivots) {
		return
	}
	r := p.reader(tagPivots)
	if r == nil || r.Len() == 0 {
		return
	}
	n, x := int(r.U32()), pivots{signs: vec.NewSigns(h.o.Dim), fitted: int(r.U32()), come: int(r.U32())}
	if n < leastPivots || n > mostPivots || x.fitted > mostPivots || x.come >= max(leastPivots, x.fitted) {
		p.fail("%d pivots, %d of them new after %d", n, x.come, x.fitted)
		return
	}
	x.mean = slices.Clone(r.Float32s(h.o.Dim))
	factors, offsets, slots := r.Float32s(n), r.Float32s(n), r.Uint32s(n)
	size := vec.SignBytes(h.o.Dim)
	packed := r.Raw(n * size)
	if err := r.Done(); err != nil {
		p.err = corrupt(err)
		return
	}
	if !vec.Finite(x.mean) || vec.Norm(x.mean) > maxNorm || !vec.Finite(factors) || !vec.Finite(offsets) {
		p.fail("a number of the pivots is not finite")
		return
	}
	seen := make(map[uint32]bool, n)
	for lane, slot := range slots {
		if int(slot) >= h.n || h.state(slot) != live || h.height(slot) == 0 || seen[slot] {
			p.fail("pivot %d is not above layer 0, or there twice", slot)
			return
		}
		seen[slot] = true
		c := pivotCode{packed[lane*size : (lane+1)*size], factors[lane], offsets[lane]}
		x.set(lane, slot, h.rank(h.id(slot)), c)
	}
	x.lower()
	h.pivots = x
}

// verifyPivots checks that the pivots are the highest nodes, with the codes of
// their vectors.
func (h *hnsw) verifyPivots(ctx context.Context, bad func(string, ...any)) error {
	p := &h.pivots
	if len(p.slots) == 0 {
		return nil
	}
	want, got := h.highest(mostPivots, nil), slices.Clone(p.slots)
	slices.Sort(want)
	slices.Sort(got)
	if !slices.Equal(got, want) {
		bad("%d pivots are not the highest nodes, %d", len(got), len(want))
	}
	packed := make([]byte, vec.SignBytes(h.o.Dim))
	for lane, slot := range p.slots {
		if err := ctx.Err(); err != nil {
			return err
		}
		var c pivotCode
		if err := h.readRow(slot, func(row []float32) { c = p.code(row, h.m) }); err != nil {
			return err
		}
		p.signs.Get(packed, lane)
		if !slices.Equal(packed, c.packed) || p.signs.Factors[lane] != c.factor || p.signs.Offsets[lane] != c.offset || p.ranks[lane] != h.rank(h.id(slot)) {
			bad("pivot %d has another code than its vector", slot)
		}
	}
	return nil
}
