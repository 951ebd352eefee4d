package state

import (
	"context"
	"sync"
)

// turn is a mutex that a context can stop waiting for.
type turn chan struct{}

func newTurn() turn { return make(turn, 1) }

func (t turn) lock(ctx context.Context) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	select {
	case t <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (t turn) unlock() { <-t }

// queue collects ids for the maintainer.
type queue struct {
	mu  sync.Mutex
	ids []uint64
}

func (q *queue) add(ids []uint64) {
	q.mu.Lock()
	q.ids = append(q.ids, ids...)
	q.mu.Unlock()
}

// take empties the queue.
func (q *queue) take() []uint64 {
	q.mu.Lock()
	defer q.mu.Unlock()
	ids := q.ids
	q.ids = nil
	return ids
}

// backlog is what commits changed while a long work went on, for it to catch up.
// It is guarded by turn.
type backlog struct{ diff }

func (b *backlog) add(df diff) {
	for _, v := range df.added {
		v.Text, v.Metadata = "", nil
		b.added = append(b.added, v)
	}
	b.gone = append(b.gone, df.gone...)
}

// take empties the backlog.
func (b *backlog) take() diff {
	df := b.diff
	b.diff = diff{}
	return df
}

func (b *backlog) len() int { return len(b.added) + len(b.gone) }
