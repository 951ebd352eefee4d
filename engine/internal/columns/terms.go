package columns

import (
	"bytes"
	"hash/maphash"
	"slices"

	"github.com/lexsem/lexsem/engine/filter"
)

// dictionary numbers paths and terms. A path is a key below another path; both
// are numbered in the order they came, so that a path is after the one above.
type dictionary struct {
	paths []pathNode // [0] is the root
	below map[pathNode]uint32

	all   []term
	texts []byte   // of all terms, one behind the other
	table []uint32 // open addressing: number of a term and 1, 0 where free
	seed  maphash.Seed
}

// pathNode is a key, and the path it is below.
type pathNode struct {
	above uint32
	key   string
}

const rootPath = 0

// kinds is the number of kinds of values.
const kinds = uint64(filter.Empty) + 1

// term is a value at a path: its text ends at end, and starts where that of the
// term before ends.
type term struct {
	end  uint64
	path uint32
	kind filter.Kind
}

func (d *dictionary) init() {
	*d = dictionary{paths: make([]pathNode, 1), below: map[pathNode]uint32{}, table: make([]uint32, 64), seed: maphash.MakeSeed()}
}

// path returns the number of a key below a path, a new one if it has none.
func (d *dictionary) path(above uint32, key string) uint32 {
	node := pathNode{above, key}
	n, ok := d.below[node]
	if !ok {
		n = uint32(len(d.paths))
		d.paths = append(d.paths, node)
		d.below[node] = n
	}
	return n
}

// copyPath returns the number here of a path of from. known holds what it
// returned for other paths, or 0.
func (d *dictionary) copyPath(from *dictionary, path uint32, known []uint32) uint32 {
	var keys []uint32
	for path != rootPath && known[path] == 0 {
		keys = append(keys, path)
		path = from.paths[path].above
	}
	n := known[path]
	for _, p := range slices.Backward(keys) {
		n = d.path(n, from.paths[p].key)
		known[p] = n
	}
	return n
}

func (d *dictionary) text(t uint32) []byte {
	from := uint64(0)
	if t > 0 {
		from = d.all[t-1].end
	}
	return d.texts[from:d.all[t].end]
}

// intern returns the number of a term, a new one if it has none.
func (d *dictionary) intern(path uint32, kind filter.Kind, text []byte) uint32 {
	slot := d.find(path, kind, text)
	if n := d.table[slot]; n != 0 {
		return n - 1
	}
	d.texts = append(d.texts, text...)
	d.all = append(d.all, term{uint64(len(d.texts)), path, kind})
	d.table[slot] = uint32(len(d.all))
	if len(d.all) > len(d.table)/4*3 {
		d.grow()
	}
	return uint32(len(d.all) - 1)
}

// find returns the place of a term in the table, or the one for it.
func (d *dictionary) find(path uint32, kind filter.Kind, text []byte) uint64 {
	mask := uint64(len(d.table) - 1)
	slot := (maphash.Bytes(d.seed, text) + (uint64(path)*kinds+uint64(kind))*0x9e3779b97f4a7c15) & mask
	for ; d.table[slot] != 0; slot = (slot + 1) & mask {
		t := d.table[slot] - 1
		if x := d.all[t]; x.path == path && x.kind == kind && bytes.Equal(d.text(t), text) {
			return slot
		}
	}
	return slot
}

func (d *dictionary) grow() {
	d.table = make([]uint32, 2*len(d.table))
	for t, x := range d.all {
		d.table[d.find(x.path, x.kind, d.text(uint32(t)))] = uint32(t + 1)
	}
}

// at tells for every path how it stands to the dotted one.
type at uint8

const (
	elsewhere at = iota
	here
	beneath
)

// locate returns how every path stands to a dotted path. It takes one pass:
// what is left of the dotted path at a key is what was left above, less the key.
func (d *dictionary) locate(dotted string) []at {
	places := make([]at, len(d.paths))
	used := make([]int, len(d.paths)) // bytes of dotted, or -1 off its way
	for n := 1; n < len(d.paths); n++ {
		node := d.paths[n]
		used[n] = -1
		switch from := used[node.above]; {
		case places[node.above] != elsewhere:
			places[n] = beneath
		case from >= 0:
			rest := dotted[from:]
			if node.above != rootPath {
				rest = rest[1:] // the dot
			}
			if len(rest) < len(node.key) || rest[:len(node.key)] != node.key {
				break
			}
			switch rest = rest[len(node.key):]; {
			case rest == "":
				places[n] = here
			case rest[0] == '.':
				used[n] = len(dotted) - len(rest)
			}
		}
	}
	return places
}
