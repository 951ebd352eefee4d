package inverted

import (
	"context"
	"slices"
)

// best keeps the k best of the documents offered to it. Some sums only approximate the
// score. settle computes exact scores, each once, for documents that may still be among
// the best.
type best struct {
	k     int
	near  []near    // what may be among the best
	sums  []float64 // the k highest sums in a heap, the lowest on top
	worst Scored    // if known: k documents are known to be as good or better
	known bool
	score func(*near) error // computes a score that is not exact
}

// near is a document with an approximate score in Scored; exact says that the score is
// exact.
type near struct {
	Scored
	slot  uint32
	exact bool
	// Of SearchMatches.
	match   Match
	matched bool
}

// keep is the number of documents, for each of the k, that are kept before they are
// settled.
const keep = 4

func (b *best) start(k int, score func(*near) error) {
	*b = best{k: k, near: b.near[:0], sums: b.sums[:0], score: score}
}

// least is the lowest of the k highest sums. If there are fewer than k, it is 0, and full
// is false.
func (b *best) least() (sum float64, full bool) {
	if len(b.sums) < b.k {
		return 0, false
	}
	return b.sums[0], true
}

// mayTake reports whether a document with this sum may be among the best.
func (b *best) mayTake(sum float64) bool {
	least, full := b.least()
	return !full || sum*room >= least
}

// beaten reports whether a document is certainly not among the best.
func (b *best) beaten(x near) bool { return b.known && x.exact && !better(x.Scored, b.worst) }

// offer adds a document; full says that settle must be called.
func (b *best) offer(x near) (full bool) {
	b.near = append(b.near, x)
	b.push(x.Score)
	return len(b.near) >= keep*b.k+1024
}

func (b *best) push(sum float64) {
	h := b.sums
	if len(h) < b.k {
		h = append(h, sum)
		for i := len(h) - 1; i > 0; {
			up := (i - 1) / 2
			if h[up] <= h[i] {
				break
			}
			h[up], h[i] = h[i], h[up]
			i = up
		}
		b.sums = h
		return
	}
	if sum <= h[0] {
		return
	}
	h[0] = sum
	for i := 0; ; {
		low := i
		for child := 2*i + 1; child <= 2*i+2 && child < len(h); child++ {
			if h[child] < h[low] {
				low = child
			}
		}
		if low == i {
			return
		}
		h[i], h[low] = h[low], h[i]
		i = low
	}
}

// settle keeps only the k best in near, best first and with their scores.
func (b *best) settle(ctx context.Context) error {
	kept := b.near[:0]
	for i := range b.near {
		x := &b.near[i]
		if i%every == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		if !b.mayTake(x.Score) {
			continue
		}
		if !x.exact {
			if err := b.score(x); err != nil {
				return err
			}
			x.exact = true
		}
		kept = append(kept, *x)
	}
	slices.SortFunc(kept, func(x, y near) int {
		if better(x.Scored, y.Scored) {
			return -1
		}
		return 1
	})
	b.near = kept[:min(b.k, len(kept))]
	b.sums = b.sums[:0]
	for _, x := range slices.Backward(b.near) { // ascending, which is a heap
		b.sums = append(b.sums, x.Score)
	}
	if n := len(b.near); n == b.k && n > 0 {
		b.worst, b.known = b.near[n-1].Scored, true
	}
	return nil
}
