package inverted

import (
	"strings"
	"unsafe"

	"github.com/lexsem/lexsem/internal/text"
	"github.com/lexsem/lexsem/internal/vec"
)

// dictionary numbers the terms. Its values share the table and the names; new ones are
// appended beyond what older values see.
type dictionary struct {
	seed  uint64
	file  *dictionaryFile // the numbers below from
	from  uint32
	names []string // from..
	size  int      // bytes of names
	index *table   // of the numbers from..
}

// dictionaryFile is the part of a dictionary that is in a snapshot, checked completely
// when it is opened.
type dictionaryFile struct {
	text  []byte
	at    []uint32 // number -> offset in text; one more than there are terms
	index table
}

// name is the text of a term, empty if the offsets are invalid.
func (f *dictionaryFile) name(n uint32) []byte {
	from, end := f.at[n], f.at[n+1]
	if from > end || uint64(end) > uint64(len(f.text)) {
		return nil
	}
	return f.text[from:end]
}

func newDictionary(seed uint64) dictionary { return dictionary{seed: seed, index: newTable(0)} }

// len is the number of terms.
func (d *dictionary) len() int { return int(d.from) + len(d.names) }

// find returns the number of a term.
func (d *dictionary) find(name string) (uint32, bool) {
	return d.findHashed(name, hashText(d.seed, name))
}

func (d *dictionary) findHashed(name string, hash uint64) (uint32, bool) {
	if d.file != nil {
		for p := d.file.index.probe(hash); ; {
			n, ok := p.next()
			if !ok {
				break
			}
			if n < d.from && string(d.file.name(n)) == name {
				return n, true
			}
		}
	}
	for p := d.index.probe(hash); ; {
		n, ok := p.next()
		if !ok {
			return 0, false
		}
		if i := n - d.from; i < uint32(len(d.names)) && d.names[i] == name {
			return n, true
		}
	}
}

// name is the text of a term.
func (d *dictionary) name(n uint32) string {
	if n < d.from {
		return string(d.file.name(n))
	}
	return d.names[n-d.from]
}

// ahead appends the hashes of terms, and prefetches their table entries, so that the
// cache misses overlap.
func (d *dictionary) ahead(hashes []uint64, terms []text.Term) []uint64 {
	for _, t := range terms {
		h := hashText(d.seed, t.Text)
		hashes = append(hashes, h)
		d.index.ahead(h)
		if d.file != nil {
			d.file.index.ahead(h)
		}
	}
	for _, h := range hashes {
		if i := d.index.first(h) - d.from; i < uint32(len(d.names)) {
			vec.Prefetch(d.names[i:], 16)
		}
		if d.file != nil {
			if n := d.file.index.first(h); n < d.from {
				vec.Prefetch(d.file.at[n:], 8)
			}
		}
	}
	for _, h := range hashes {
		if i := d.index.first(h) - d.from; i < uint32(len(d.names)) {
			ask(d.names[i])
		}
	}
	return hashes
}

// ask loads the memory of a string into the CPU's cache.
func ask(s string) {
	if s != "" {
		vec.Prefetch(unsafe.Slice(unsafe.StringData(s), len(s)), len(s))
	}
}

// intern returns the number of the term with the given hash, a new one if it has none.
// Only the next value of d may use it.
func (d *dictionary) intern(name string, hash uint64) uint32 {
	if n, ok := d.findHashed(name, hash); ok {
		return n
	}
	n := uint32(d.len())
	name = strings.Clone(name)
	d.names = append(d.names, name)
	d.size += len(name)
	if d.index.full() {
		d.index = newTable(2 * len(d.names))
		for i, name := range d.names {
			d.index.add(hashText(d.seed, name), d.from+uint32(i))
		}
	} else {
		d.index.add(hash, n)
	}
	return n
}

func (d *dictionary) bytes() int {
	n := d.size + 16*cap(d.names) + 4*len(d.index.entries)
	if d.file != nil {
		n += len(d.file.text) + 4*len(d.file.at) + 4*len(d.file.index.entries)
	}
	return n
}
