package encoder

import (
	"slices"
	"strings"
)

// trie finds vocabulary entries byte by byte. It has two roots: entries that
// begin a word and, without their "##", entries that continue one. The edges
// of all nodes share one open-addressing hash table, so a step costs one probe
// into flat memory and a node costs 4 bytes beside its edge.
type trie struct {
	edges []uint64 // (node<<8|byte)+1 in the high half, the child in the low one; 0 is free
	mask  uint32
	id    []int32 // id of the entry that ends at a node, or -1
}

const (
	trieStart    = 0 // root of entries that begin a word
	trieContinue = 1 // root of entries that continue one
)

// newTrie builds the trie of vocab. The bytes of all entries together must
// number less than 1<<24.
func newTrie(vocab []string) *trie {
	type entry struct {
		text string
		root uint32
		id   int32
	}
	entries := make([]entry, 0, len(vocab))
	for id, w := range vocab {
		e := entry{w, trieStart, int32(id)}
		if rest, ok := strings.CutPrefix(w, "##"); ok {
			e.text, e.root = rest, trieContinue
		}
		// A lone "#" is punctuation and hence a whole word: no word begins
		// with "##", and no piece is empty.
		if e.text != "" {
			entries = append(entries, e)
		}
	}
	slices.SortFunc(entries, func(a, b entry) int {
		if a.root != b.root {
			return int(a.root) - int(b.root)
		}
		return strings.Compare(a.text, b.text)
	})
	// In sorted order each entry shares its longest prefix with the one
	// before, so the nodes of the last entry are all that need be remembered.
	t := &trie{id: []int32{-1, -1}}
	var edges []uint64
	path, last := []uint32{}, entry{}
	for _, e := range entries {
		shared := 0
		if e.root == last.root {
			for shared < len(e.text) && shared < len(last.text) && e.text[shared] == last.text[shared] {
				shared++
			}
		}
		path = path[:shared]
		for i := shared; i < len(e.text); i++ {
			parent := e.root
			if i > 0 {
				parent = path[i-1]
			}
			child := uint32(len(t.id))
			t.id = append(t.id, -1)
			edges = append(edges, (uint64(parent)<<8|uint64(e.text[i])+1)<<32|uint64(child))
			path = append(path, child)
		}
		t.id[path[len(path)-1]] = e.id
		last = e
	}
	size := 1
	for size < 2*len(edges)+2 {
		size <<= 1
	}
	t.edges, t.mask = make([]uint64, size), uint32(size-1)
	for _, e := range edges {
		h := trieHash(e>>32-1) & t.mask
		for t.edges[h] != 0 {
			h = (h + 1) & t.mask
		}
		t.edges[h] = e
	}
	return t
}

func trieHash(key uint64) uint32 { return uint32(key * 0x9E3779B97F4A7C15 >> 32) }

// step follows the edge b out of node.
func (t *trie) step(node uint32, b byte) (child uint32, ok bool) {
	key := uint64(node)<<8 | uint64(b)
	for h := trieHash(key) & t.mask; ; h = (h + 1) & t.mask {
		e := t.edges[h]
		if e>>32 == key+1 {
			return uint32(e), true
		}
		if e == 0 {
			return 0, false
		}
	}
}
