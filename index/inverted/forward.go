package inverted

import (
	"encoding/binary"
	"math"
)

// chunkSize is what forward lists are allocated in.
const chunkSize = 1 << 18

// entry is one term of a document. Counts: it stands there, among the words or
// beside them. Weights: with this weight.
type entry struct {
	term   uint32
	beside bool
	weight float32
}

// appendForward appends a forward list: the number of entries, then each as
// varint term<<1 | beside, or term and four bytes of weight.
func appendForward(b []byte, entries []entry, weights bool) []byte {
	b = binary.AppendUvarint(b, uint64(len(entries)))
	for _, e := range entries {
		if weights {
			b = binary.AppendUvarint(b, uint64(e.term))
			b = binary.LittleEndian.AppendUint32(b, math.Float32bits(e.weight))
			continue
		}
		v := uint64(e.term) << 1
		if e.beside {
			v |= 1
		}
		b = binary.AppendUvarint(b, v)
	}
	return b
}

// walk goes through a forward list. What it reads may be any bytes.
type walk struct {
	b       []byte
	left    int // entries; 0 as well once something is wrong
	weights bool
	bad     bool
}

func newWalk(b []byte, weights bool) (walk, error) {
	n, size := binary.Uvarint(b)
	if size <= 0 || n > uint64(len(b)-size) {
		return walk{}, corrupt("forward list of %d entries in %d bytes", n, len(b))
	}
	return walk{b[size:], int(n), weights, false}, nil
}

// next returns the next entry; left says whether there is one.
func (w *walk) next() entry {
	w.left--
	if len(w.b) == 0 {
		return w.fail()
	}
	var v uint64
	size := 1
	if v = uint64(w.b[0]); v >= 0x80 {
		if len(w.b) > 1 && w.b[1] < 0x80 {
			v, size = v&0x7f|uint64(w.b[1])<<7, 2
		} else if v, size = binary.Uvarint(w.b); size <= 0 || v > math.MaxUint32 {
			return w.fail()
		}
	}
	w.b = w.b[size:]
	if !w.weights {
		return entry{term: uint32(v >> 1), beside: v&1 != 0}
	}
	if len(w.b) < 4 {
		return w.fail()
	}
	e := entry{term: uint32(v), weight: math.Float32frombits(binary.LittleEndian.Uint32(w.b))}
	w.b = w.b[4:]
	return e
}

// fail ends the walk; the entry it returns is of no term that there is.
func (w *walk) fail() entry {
	w.left, w.bad = 0, true
	return entry{term: math.MaxUint32}
}

// end says whether all entries were sound.
func (w *walk) end() error {
	if w.bad {
		return corrupt("forward list ends within an entry")
	}
	return nil
}
