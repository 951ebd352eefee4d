package local

import (
	"math"
	"slices"
)

// maybe is a passage that may be among the best.
type maybe struct {
	probe, slot uint32
	high        float32 // its score is at most this
}

// shortlist collects the passages that may be among the k best, ties included, by bounds
// of their scores. Its memory is reused.
type shortlist struct {
	near []maybe
	k    int       // 0 where all are wanted
	low  []float32 // the k largest lower bounds, a heap with the least at its root
	out  float32   // who is surely below is out: the root, once they are k
	keep int       // prune when near is longer
}

// reset empties the list for the k best of n.
func (l *shortlist) reset(k, n int) {
	*l = shortlist{near: l.near[:0], low: l.low[:0], out: float32(math.Inf(-1)), keep: 1024}
	if k < n {
		l.k = k
	}
}

// add adds a passage whose upper bound is not below out.
func (l *shortlist) add(m maybe, low float32) {
	l.near = append(l.near, m)
	if l.k == 0 {
		return
	}
	if len(l.low) < l.k {
		l.low = append(l.low, low)
		if len(l.low) == l.k {
			slices.Sort(l.low) // ascending is a heap
			l.out = l.low[0]
		}
		return
	}
	if low <= l.low[0] {
		return
	}
	i := 0
	for {
		c := 2*i + 1
		if c+1 < l.k && l.low[c+1] < l.low[c] {
			c++
		}
		if c >= l.k || l.low[c] >= low {
			break
		}
		l.low[i] = l.low[c]
		i = c
	}
	l.low[i] = low
	l.out = l.low[0]
}

// prune removes passages that can no longer be among the best.
func (l *shortlist) prune() {
	near := l.near[:0]
	for _, m := range l.near {
		if m.high >= l.out {
			near = append(near, m)
		}
	}
	l.near = near
	l.keep = max(1024, 2*len(near))
}
