// Package frame is the common part of encoders that run a model: it turns texts into tokens, groups them
// into batches, and runs several batches at a time. Start with New, or with NewCross for a cross-encoder.
// All is safe for concurrent use.
package frame

import (
	"context"
	"iter"
	"slices"
	"sync"

	"github.com/lexsem/lexsem/encoder"
)

// Slots limits how many batches run at one time, over all calls.
type Slots chan struct{}

// NewSlots makes n slots.
func NewSlots(n int) Slots { return make(Slots, n) }

// Run runs each batch as soon as a slot is free, and waits for all. After an error or the end of ctx no
// more batches begin, and Run returns that error.
func (s Slots) Run(ctx context.Context, batches iter.Seq[[]int], do func(ctx context.Context, batch []int) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var wg sync.WaitGroup
	for batch := range batches {
		if !s.take(ctx) {
			break
		}
		wg.Go(func() {
			defer func() { <-s }()
			if err := do(ctx, batch); err != nil {
				cancel(err)
			}
		})
	}
	wg.Wait()
	return context.Cause(ctx)
}

func (s Slots) take(ctx context.Context) bool {
	if ctx.Err() != nil {
		return false
	}
	select {
	case s <- struct{}{}:
		return true
	case <-ctx.Done():
		return false
	}
}

// Packing says how texts are packed into batches. The zero value of Padded counts the tokens of a batch.
type Packing struct {
	Tokens int  // of a batch at most; a text that is longer is a batch of its own
	Padded bool // every text of a batch counts as many as its longest
	Spread int  // workers that are to have work, each at least Least tokens; 0 for none
	Least  int
}

// Pack returns batches of positions of texts. The longest texts come first, so that the last batches to
// run are short.
func (p Packing) Pack(texts []encoder.Output) iter.Seq[[]int] {
	order, total := make([]int, len(texts)), 0
	length := func(i int) int { return len(texts[i].Tokens.IDs) }
	for i := range order {
		order[i] = i
		total += length(i)
	}
	limit := p.Tokens
	if p.Spread > 0 {
		limit = min(limit, max(p.Least, (total+p.Spread-1)/p.Spread))
	}
	slices.SortStableFunc(order, func(a, b int) int { return length(b) - length(a) })
	return func(yield func([]int) bool) {
		for len(order) > 0 {
			n := p.first(order, length, limit)
			if !yield(order[:n:n]) {
				return
			}
			order = order[n:]
		}
	}
}

// first returns how many texts the next batch has.
func (p Packing) first(order []int, length func(i int) int, limit int) int {
	if p.Padded {
		return min(len(order), max(1, limit/max(1, length(order[0]))))
	}
	n, tokens := 1, length(order[0])
	for n < len(order) && tokens+length(order[n]) <= limit {
		tokens += length(order[n])
		n++
	}
	return n
}
