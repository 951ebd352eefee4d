package tokenizer

import (
	"slices"
	"strings"
)

// trie finds vocabulary entries byte by byte. Nodes are numbers; the first few are roots.
// The edges of all nodes share one open-addressing hash table, so a step costs one probe
// into flat memory, and a node costs 4 bytes in addition to its edge.
type trie struct {
	// id is, by node, the id of the entry that ends there, or -1.
	id []int32

	edges []uint64 // (node<<8|byte)+1 in the high half, the child in the low one; 0 is free
	mask  uint32
}

// maxTrieBytes is the maximum total length of the texts of all entries.
const maxTrieBytes = 1<<24 - 1<<8

// trieEntry is a non-empty text below a root.
type trieEntry struct {
	text string
	root uint32
	id   int32
}

// newTrie sorts entries and builds their trie with the given number of roots. Which of
// equal entries counts is undefined. The texts must have at most maxTrieBytes bytes
// together.
func newTrie(roots int, entries []trieEntry) *trie {
	slices.SortFunc(entries, func(a, b trieEntry) int {
		if a.root != b.root {
			return int(a.root) - int(b.root)
		}
		return strings.Compare(a.text, b.text)
	})
	// In sorted order each entry shares its longest prefix with the one
	// before, so the nodes of the last entry are all that need be remembered.
	t := &trie{}
	for range roots {
		t.id = append(t.id, -1)
	}
	var edges []uint64
	path, last := []uint32{}, trieEntry{}
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
		h := hashEdge(e>>32-1) & t.mask
		for t.edges[h] != 0 {
			h = (h + 1) & t.mask
		}
		t.edges[h] = e
	}
	return t
}

func hashEdge(key uint64) uint32 { return uint32(key * 0x9E3779B97F4A7C15 >> 32) }

// step follows the edge b out of node.
func (t *trie) step(node uint32, b byte) (child uint32, ok bool) {
	key := uint64(node)<<8 | uint64(b)
	for h := hashEdge(key) & t.mask; ; h = (h + 1) & t.mask {
		e := t.edges[h]
		if e>>32 == key+1 {
			return uint32(e), true
		}
		if e == 0 {
			return 0, false
		}
	}
}
