// Package trie finds the entries of a vocabulary byte by byte.
package trie

import (
	"slices"
	"strings"
)

// Trie finds vocabulary entries byte by byte. Nodes are numbers; the first few
// are roots. The edges of all nodes share one open-addressing hash table, so a
// step costs one probe into flat memory and a node costs 4 bytes beside its edge.
type Trie struct {
	// ID is, by node, the id of the entry that ends there, or -1.
	ID []int32

	edges []uint64 // (node<<8|byte)+1 in the high half, the child in the low one; 0 is free
	mask  uint32
}

// MaxBytes is what the texts of all entries together may have.
const MaxBytes = 1<<24 - 1<<8

// Entry is a text below a root, which is not empty.
type Entry struct {
	Text string
	Root uint32
	ID   int32
}

// New builds the trie of entries, which it sorts, with so many roots. Of entries
// that are equal, which one counts is not defined. The texts must have at most
// MaxBytes bytes together.
func New(roots int, entries []Entry) *Trie {
	slices.SortFunc(entries, func(a, b Entry) int {
		if a.Root != b.Root {
			return int(a.Root) - int(b.Root)
		}
		return strings.Compare(a.Text, b.Text)
	})
	// In sorted order each entry shares its longest prefix with the one
	// before, so the nodes of the last entry are all that need be remembered.
	t := &Trie{}
	for range roots {
		t.ID = append(t.ID, -1)
	}
	var edges []uint64
	path, last := []uint32{}, Entry{}
	for _, e := range entries {
		shared := 0
		if e.Root == last.Root {
			for shared < len(e.Text) && shared < len(last.Text) && e.Text[shared] == last.Text[shared] {
				shared++
			}
		}
		path = path[:shared]
		for i := shared; i < len(e.Text); i++ {
			parent := e.Root
			if i > 0 {
				parent = path[i-1]
			}
			child := uint32(len(t.ID))
			t.ID = append(t.ID, -1)
			edges = append(edges, (uint64(parent)<<8|uint64(e.Text[i])+1)<<32|uint64(child))
			path = append(path, child)
		}
		t.ID[path[len(path)-1]] = e.ID
		last = e
	}
	size := 1
	for size < 2*len(edges)+2 {
		size <<= 1
	}
	t.edges, t.mask = make([]uint64, size), uint32(size-1)
	for _, e := range edges {
		h := hash(e>>32-1) & t.mask
		for t.edges[h] != 0 {
			h = (h + 1) & t.mask
		}
		t.edges[h] = e
	}
	return t
}

func hash(key uint64) uint32 { return uint32(key * 0x9E3779B97F4A7C15 >> 32) }

// Step follows the edge b out of node.
func (t *Trie) Step(node uint32, b byte) (child uint32, ok bool) {
	key := uint64(node)<<8 | uint64(b)
	for h := hash(key) & t.mask; ; h = (h + 1) & t.mask {
		e := t.edges[h]
		if e>>32 == key+1 {
			return uint32(e), true
		}
		if e == 0 {
			return 0, false
		}
	}
}
