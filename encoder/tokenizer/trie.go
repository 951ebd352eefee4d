package tokenizer

import (
	"encoding/binary"
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

// trieOrder is the place of an entry in the order of texts. It has no pointers, which would make sorting slower.
type trieOrder struct {
	first       uint64 // bytes of the text; later the number of bytes that it shares with the one before
	root, entry uint32
}

// newTrie builds the trie of entries with the given number of roots. Which of
// equal entries counts is undefined. The texts must have at most maxTrieBytes bytes
// together.
func newTrie(roots int, entries []trieEntry) *trie {
	order := make([]trieOrder, len(entries))
	for i, e := range entries {
		var first [8]byte
		copy(first[:], e.text)
		order[i] = trieOrder{binary.BigEndian.Uint64(first[:]), e.root, uint32(i)}
	}
	slices.SortFunc(order, func(a, b trieOrder) int {
		if a.root == b.root && a.first == b.first {
			return strings.Compare(entries[a.entry].text, entries[b.entry].text)
		}
		if a.root < b.root || a.root == b.root && a.first < b.first {
			return -1
		}
		return 1
	})
	// In sorted order each entry shares its longest prefix with the one
	// before, so the nodes of the last entry are all that need be remembered.
	nodes, last := roots, trieEntry{}
	for i, o := range order {
		e, shared := entries[o.entry], 0
		if e.root == last.root {
			for shared < len(e.text) && shared < len(last.text) && e.text[shared] == last.text[shared] {
				shared++
			}
		}
		order[i].first, last = uint64(shared), e
		nodes += len(e.text) - shared
	}
	t := &trie{id: make([]int32, roots, nodes)}
	for i := range t.id {
		t.id[i] = -1
	}
	edges := make([]uint64, 0, nodes-roots)
	path := []uint32{}
	for _, o := range order {
		e, shared := entries[o.entry], int(o.first)
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
