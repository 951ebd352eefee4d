package index

import (
	"cmp"
	"slices"
)

// before is the order of answers: by distance, ties by id.
func before(a, b Neighbor) bool {
	return a.Distance < b.Distance || a.Distance == b.Distance && a.ID < b.ID
}

// topK keeps the k best of the neighbours offered to it, in a heap whose root is the worst of them.
type topK struct {
	heap []Neighbor
	k    int
}

// full reports whether neighbours farther than the root cannot enter any more.
func (t *topK) full() bool { return len(t.heap) == t.k }

// push offers one neighbour.
func (t *topK) push(n Neighbor) {
	h := t.heap
	if len(h) < t.k {
		h = append(h, n)
		t.heap = h
		for i := len(h) - 1; i > 0; {
			p := (i - 1) / 2
			if !before(h[p], h[i]) {
				break
			}
			h[p], h[i] = h[i], h[p]
			i = p
		}
		return
	}
	if !before(n, h[0]) {
		return
	}
	i := 0
	for {
		c := 2*i + 1
		if c >= len(h) {
			break
		}
		if c+1 < len(h) && before(h[c], h[c+1]) {
			c++
		}
		if !before(n, h[c]) {
			break
		}
		h[i] = h[c]
		i = c
	}
	h[i] = n
}

// pushAll offers many candidates; distances[i] is the distance of ids[i].
func (t *topK) pushAll(ids []uint64, distances []float32) {
	ids = ids[:len(distances)]
	i := 0
	for ; i < len(distances) && !t.full(); i++ {
		t.push(Neighbor{ids[i], distances[i]})
	}
	for ; i < len(distances); i++ {
		if d := distances[i]; d <= t.heap[0].Distance {
			t.push(Neighbor{ids[i], d})
		}
	}
}

// order sorts neighbours by distance, ties by id.
func order(n []Neighbor) {
	slices.SortFunc(n, func(a, b Neighbor) int {
		if c := cmp.Compare(a.Distance, b.Distance); c != 0 {
			return c
		}
		return cmp.Compare(a.ID, b.ID)
	})
}
