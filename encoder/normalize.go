package encoder

import (
	"encoding/base64"
	"encoding/binary"
	"sync"
	"unicode/utf8"
)

// What BERT does to a code point before it looks words up. The order of the
// reference is: drop control characters and make every white space a blank,
// set ideographs apart, decompose (NFD), drop non-spacing marks, lower-case,
// then cut at blanks and around punctuation. All of that depends on the single
// code point, so a class (and a replacement for some) is enough, with one
// exception: canonical ordering may swap the few combining marks that survive
// (classTail) with their neighbours, see word.reorder.
const (
	classKeep    = iota // stands for itself
	classGone           // dropped before decomposition
	classSpace          // ends a word
	classIsolate        // a word of its own: punctuation, ideographs
	classSkip           // dropped after decomposition, of combining class 0
	classMark           // dropped after decomposition, of another combining class
	classTail           // kept, of another combining class than 0
	classHangul         // decomposes by arithmetic
	classReplace        // and above: index of a replacement
)

// normVersion is part of every digest. It changes when the table does in a way
// that changes tokens.
const normVersion = "bert-1"

// replacement is what stands in for a code point.
type replacement struct {
	text    string
	isolate bool // a word of its own
	tail    int  // bytes at the end of text that are of classTail
}

// normTable maps every code point to its class in two steps, 256 at a time.
type normTable struct {
	page    [utf8.MaxRune>>8 + 1]uint16
	classes [][256]uint16
	replace []replacement
}

// class returns the class of r, which must be a valid code point.
func (t *normTable) class(r rune) uint16 { return t.classes[t.page[r>>8]][r&0xff] }

var (
	uncasedTable = sync.OnceValue(func() *normTable { return unpackTable(uncasedRuns, replacementRuns) })
	casedTable   = sync.OnceValue(func() *normTable { return unpackTable(casedRuns, "") })
	// markRank is the order of combining marks among themselves, from 1.
	markRank = sync.OnceValue(func() map[rune]uint64 {
		m := map[rune]uint64{}
		unpackRuns(rankRuns, func(r rune, rank uint64) { m[r] = rank })
		return m
	})
)

func unpackTable(runs, replacements string) *normTable {
	flat := make([]uint16, utf8.MaxRune+1)
	unpackRuns(runs, func(r rune, class uint64) { flat[r] = uint16(class) })
	t := &normTable{}
	index := map[replacement]uint16{}
	unpackReplacements(replacements, func(r rune, text string) {
		rep := replacement{text: text}
		for _, q := range text {
			switch flat[q] {
			case classIsolate:
				rep.isolate = true
			case classTail:
				rep.tail += utf8.RuneLen(q)
			}
		}
		i, ok := index[rep]
		if !ok {
			i = uint16(classReplace + len(t.replace))
			index[rep] = i
			t.replace = append(t.replace, rep)
		}
		flat[r] = i
	})
	pages := map[[256]uint16]uint16{}
	for p := range t.page {
		page := [256]uint16(flat[p<<8:])
		i, ok := pages[page]
		if !ok {
			i = uint16(len(t.classes))
			pages[page] = i
			t.classes = append(t.classes, page)
		}
		t.page[p] = i
	}
	return t
}

// packed reads the numbers of the generated table.
type packed []byte

func unpack(s string) packed {
	b, err := base64.StdEncoding.DecodeString(s)
	if err != nil {
		panic("encoder: generated table: " + err.Error())
	}
	return b
}

func (p *packed) next() uint64 {
	v, n := binary.Uvarint(*p)
	*p = (*p)[n:]
	return v
}

// unpackRuns reads (gap, length - 1, value) triples.
func unpackRuns(s string, set func(rune, uint64)) {
	p := unpack(s)
	for r := rune(0); len(p) > 0; {
		r += rune(p.next())
		n, value := p.next(), p.next()
		for range n + 1 {
			set(r, value)
			r++
		}
	}
}

// unpackReplacements reads groups (gap, stride<<1, count - 1, shift) of code
// points that are replaced by the one shift above them, and (gap, 1, n, n code
// points).
func unpackReplacements(s string, set func(rune, string)) {
	p := unpack(s)
	for r := rune(0); len(p) > 0; {
		r += rune(p.next())
		kind := p.next()
		if kind == 1 {
			var text []byte
			for range p.next() {
				text = utf8.AppendRune(text, rune(p.next()))
			}
			set(r, string(text))
			continue
		}
		n, zigzag := p.next(), p.next()
		shift := rune(zigzag>>1) ^ -rune(zigzag&1)
		for i := range rune(n) + 1 {
			q := r + i*rune(kind>>1)
			set(q, string(q+shift))
		}
		r += rune(n) * rune(kind>>1)
	}
}
