// Package cow has sequences that never change: [Array] and [Set]. Edit begins the next version, which shares
// everything unchanged, so a version costs only its changes. Versions are read without a lock; an Editor is
// for one goroutine.
package cow

// Elements are in pages of 64, and pages in nodes of 64: an edit copies a page, its node, and the list of
// nodes, 8 bytes for 4,096 elements.
const (
	bits = 6
	size = 1 << bits
	mask = size - 1
)

type page[T any] [size]T

// node is 64 pages. An Editor changes only nodes that it has made itself.
type node[T any] struct {
	pages [size]*page[T] // nil for one of zeros
	by    *Editor[T]     // who has made the node
	own   uint64         // a bit for each page that by has made
}

// Array is a sequence of values. The zero Array is empty. It is a small value,
// to be copied freely, and safe for concurrent use.
type Array[T any] struct {
	nodes []*node[T] // nil for one of zeros
	n     int
}

// Len is the number of elements.
func (a Array[T]) Len() int { return a.n }

// At is element i, or the zero value if i is not within 0 to Len()-1. Cost: three reads of memory.
func (a Array[T]) At(i int) (v T) {
	if uint(i) >= uint(a.n) {
		return v
	}
	nd := a.nodes[i>>(2*bits)]
	if nd == nil {
		return v
	}
	p := nd.pages[i>>bits&mask]
	if p == nil {
		return v
	}
	return p[i&mask]
}

// All calls yield for each element that was ever set, and for its neighbours within its page, in order;
// pages of zeros are left out.
func (a Array[T]) All(yield func(i int, v T) bool) {
	for k, nd := range a.nodes {
		if nd == nil {
			continue
		}
		for j, p := range &nd.pages {
			if p == nil {
				continue
			}
			base := (k<<bits | j) << bits
			for i := range min(size, a.n-base) {
				if !yield(base+i, p[i]) {
					return
				}
			}
		}
	}
}

// Editor makes the next version of an Array. It is for one goroutine.
type Editor[T any] struct {
	a    Array[T]
	list bool // the list of nodes is not shared

	at   int // number of the page that was edited last, if last is not nil
	last *page[T]
}

// Edit begins the next version of a, which does not change.
func (a Array[T]) Edit() *Editor[T] {
	return &Editor[T]{a: a}
}

// Len is the number of elements so far.
func (e *Editor[T]) Len() int { return e.a.n }

// At is element i as edited so far.
func (e *Editor[T]) At(i int) T { return e.a.At(i) }

// Resize sets the number of elements; new ones are zero. Elements that were cut off and are added again are
// also zero.
func (e *Editor[T]) Resize(n int) {
	var zero T
	for i := n; i < e.a.n && i < (n+mask)&^mask; i++ { // the rest of the last page
		*e.Ptr(i) = zero
	}
	e.last = nil
	e.own()
	need := (n + 1<<(2*bits) - 1) >> (2 * bits)
	if need < len(e.a.nodes) {
		clear(e.a.nodes[need:])
		e.a.nodes = e.a.nodes[:need]
	}
	for len(e.a.nodes) < need {
		e.a.nodes = append(e.a.nodes, nil)
	}
	if last := (n + mask) >> bits; n < e.a.n && last&mask != 0 {
		if nd := e.node(last >> bits); nd != nil {
			clear(nd.pages[last&mask:])
		}
	}
	e.a.n = n
}

func (e *Editor[T]) own() {
	if !e.list {
		e.a.nodes, e.list = append(make([]*node[T], 0, len(e.a.nodes)+1), e.a.nodes...), true
	}
}

// node returns node k as the editor's own, nil if it holds zeros.
func (e *Editor[T]) node(k int) *node[T] {
	e.own()
	nd := e.a.nodes[k]
	if nd != nil && nd.by != e {
		nd = &node[T]{pages: nd.pages, by: e}
		e.a.nodes[k] = nd
	}
	return nd
}

// Ptr returns a pointer to element i, which must be below Len, for changes until Done.
func (e *Editor[T]) Ptr(i int) *T {
	if uint(i) >= uint(e.a.n) {
		panic("cow: index out of range")
	}
	at := i >> bits
	if e.last != nil && e.at == at {
		return &e.last[i&mask]
	}
	k := i >> (2 * bits)
	nd := e.node(k)
	if nd == nil {
		nd = &node[T]{by: e}
		e.a.nodes[k] = nd
	}
	p := nd.pages[at&mask]
	if bit := uint64(1) << (at & mask); p == nil || nd.own&bit == 0 {
		c := new(page[T])
		if p != nil {
			*c = *p
		}
		p, nd.pages[at&mask] = c, c
		nd.own |= bit
	}
	e.at, e.last = at, p
	return &p[i&mask]
}

// Set makes v element i, which must be below Len.
func (e *Editor[T]) Set(i int, v T) { *e.Ptr(i) = v }

// Done returns the edited Array. The Editor must not be used afterwards.
func (e *Editor[T]) Done() Array[T] {
	a := e.a
	*e = Editor[T]{}
	return a
}
