package index

// maybe is a row that may be among the nearest.
type maybe struct {
	slot uint32
	low  float32 // the distance is at least this
}

// shortlist collects the rows that may be among the k nearest, ties included, by bounds
// of their distances. Its memory is reused.
type shortlist struct {
	near  []maybe
	high  topK    // the k smallest upper bounds of distances; empty where k is all
	worst float32 // the largest of these, once they are k, or what reset was given: who is surely farther is out
	keep  int     // prune when near is longer
}

// reset empties the list for the k nearest of n rows within a radius, which may be
// infinite.
func (l *shortlist) reset(k, n int, radius float32) {
	l.near = l.near[:0]
	l.high = topK{heap: l.high.heap[:0]}
	if k < n {
		l.high.k = k
	}
	l.worst = radius
	l.keep = max(l.keep, 1024)
}

// add adds a row whose lower bound is not above worst.
func (l *shortlist) add(m maybe, high float32) {
	l.near = append(l.near, m)
	if l.high.k == 0 {
		return
	}
	l.high.push(Neighbor{uint64(m.slot), high})
	if l.high.full() {
		l.worst = min(l.worst, l.high.heap[0].Distance)
	}
}

// pruneIfLong keeps the list short during a scan.
func (l *shortlist) pruneIfLong() {
	if len(l.near) > l.keep {
		l.prune()
	}
}

// prune removes rows that can no longer be among the nearest.
func (l *shortlist) prune() {
	near := l.near[:0]
	for _, m := range l.near {
		if m.low <= l.worst {
			near = append(near, m)
		}
	}
	l.near = near
	l.keep = max(1024, 2*len(near))
}
