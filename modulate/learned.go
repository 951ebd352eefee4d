package modulate

import "slices"

// Origin says how an entry of a lexical vector was made: by part Part of the bridge, with weight
// log(1 + ReLU(h_State·U_Row + b_Row)) and its derivative Slope. Part is −1 for parts without
// parameters.
type Origin struct {
	Part, Row, State int32
	Slope            float32
}

// learned is a Weigher with a Head that a fit trains.
type learned struct {
	head *Head
	// weigh is Weigh that with trace also appends the origin of each entry (Part 0).
	weigh func(dst Lexical, from []Origin, in Input, trace bool) (Lexical, []Origin)
}

func (l learned) Weigh(dst Lexical, in Input) Lexical {
	dst, _ = l.weigh(dst, nil, in, false)
	return dst
}

// Heads returns the parameters that a fit learns in addition to W, by part of the bridge. It is
// nil for parts without parameters and for fixed heads.
func (b *Bridge) Heads() []*Head {
	heads := make([]*Head, len(b.parts))
	for k, p := range b.parts {
		if l, ok := p.(learned); ok {
			heads[k] = l.head
		}
	}
	return heads
}

// Trace is Weigh that also appends the origin of each entry to from.
func (b *Bridge) Trace(dst Lexical, from []Origin, in Input) (Lexical, []Origin) {
	for k, p := range b.parts {
		at, first := len(dst.IDs), len(from)
		if l, ok := p.(learned); ok {
			dst, from = l.weigh(dst, from, in, true)
			for i := range from[first:] {
				from[first+i].Part = int32(k)
			}
		} else {
			dst = p.Weigh(dst, in)
			for range dst.IDs[at:] {
				from = append(from, Origin{Part: -1})
			}
		}
		b.shift(dst.IDs[at:], k)
	}
	return dst, from
}

// keep adds weight w of token id to the entries of dst from at on; for a repeated token the
// larger weight is kept (the pooling of Eq. 6). from may be nil.
func keep(dst Lexical, from []Origin, at int, id int32, w float32, o Origin, trace bool) (Lexical, []Origin) {
	if i := slices.Index(dst.IDs[at:], id); i >= 0 {
		if w > dst.Weights[at+i] {
			dst.Weights[at+i] = w
			if trace {
				from[len(from)-(len(dst.IDs)-at)+i] = o
			}
		}
		return dst, from
	}
	dst.IDs, dst.Weights = append(dst.IDs, id), append(dst.Weights, w)
	if trace {
		from = append(from, o)
	}
	return dst, from
}
