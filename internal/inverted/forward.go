package inverted

import (
	"encoding/binary"
	"math"
)

// chunkSize is the size of the allocations for forward lists.
const chunkSize = 1 << 18

// entry is one term of a document. Counts: whether it is a word or in addition to one,
// and whether it is in the title, which comes first. Weights: its weight.
type entry struct {
	term          uint32
	beside, title bool
	weight        float32
}

// titled is the number of entries of the title.
func titled(entries []entry) int {
	n := 0
	for n < len(entries) && entries[n].title {
		n++
	}
	return n
}

// form is how a forward list is written. All begin with the number of entries.
type form uint8

const (
	listed   form = iota // the number of title entries, then each entry as varint term<<1 | beside
	weighted             // each entry as varint term and four bytes of weight
	repeated             // of impacts: each term as varint term<<1 | (n > 1), then n-2 as varint if it stands n > 1 times in a row
)

// appendForward appends a forward list.
func appendForward(b []byte, entries []entry, f form) []byte {
	b = binary.AppendUvarint(b, uint64(len(entries)))
	if f == listed {
		b = binary.AppendUvarint(b, uint64(titled(entries)))
	}
	for i := 0; f == repeated && i < len(entries); {
		n := 1
		for i+n < len(entries) && n < mostSteps && entries[i+n].term == entries[i].term {
			n++
		}
		if v := uint64(entries[i].term) << 1; n == 1 {
			b = binary.AppendUvarint(b, v)
		} else {
			b = binary.AppendUvarint(binary.AppendUvarint(b, v|1), uint64(n-2))
		}
		i += n
	}
	if f == repeated {
		return b
	}
	for _, e := range entries {
		if f == weighted {
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

// walk goes through a forward list. The bytes that it reads may be damaged.
type walk struct {
	b     []byte
	left  int // entries; 0 as well once something is wrong
	body  int // those that come after the title
	form  form
	again int    // repetitions of the last term that are to come
	last  uint32 // repeated: the last term
	bad   bool
}

func newWalk(b []byte, f form) (walk, error) {
	n, size := binary.Uvarint(b)
	most := uint64(1) // entries in a byte
	if f == repeated {
		most = mostSteps
	}
	if size <= 0 || n > most*uint64(len(b)-size) {
		return walk{}, corrupt("forward list of %d entries in %d bytes", n, len(b))
	}
	w := walk{b: b[size:], left: int(n), body: int(n), form: f}
	if f != listed {
		return w, nil
	}
	title, size := binary.Uvarint(w.b)
	if size <= 0 || title > n || n > uint64(len(w.b)-size) {
		return walk{}, corrupt("forward list of %d entries, %d of them in the title, in %d bytes", n, title, len(b))
	}
	w.b, w.body = w.b[size:], int(n-title)
	return w, nil
}

// next returns the next entry; left reports whether there is one.
func (w *walk) next() entry {
	w.left--
	if w.again > 0 {
		w.again--
		return entry{term: w.last}
	}
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
	switch w.form {
	case repeated:
		if w.last = uint32(v >> 1); v&1 != 0 {
			n, size := binary.Uvarint(w.b)
			if size <= 0 || n >= uint64(min(w.left, mostSteps-1)) {
				return w.fail()
			}
			w.again, w.b = int(n)+1, w.b[size:]
		}
		return entry{term: w.last}
	case listed:
		return entry{term: uint32(v >> 1), beside: v&1 != 0, title: w.left >= w.body}
	}
	if len(w.b) < 4 {
		return w.fail()
	}
	e := entry{term: uint32(v), weight: math.Float32frombits(binary.LittleEndian.Uint32(w.b))}
	w.b = w.b[4:]
	return e
}

// fail ends the walk; it returns an entry with a term that does not exist.
func (w *walk) fail() entry {
	w.left, w.bad = 0, true
	return entry{term: math.MaxUint32}
}

// end reports whether all entries were sound.
func (w *walk) end() error {
	if w.bad {
		return corrupt("forward list ends within an entry")
	}
	return nil
}
