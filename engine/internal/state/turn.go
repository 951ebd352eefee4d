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

// append adds the chunks that came and went after those of d.
func (d *diff) append(df diff) {
	d.added, d.gone = append(d.added, df.added...), append(d.gone, df.gone...)
}

// cut takes n chunks out: those that came before those that went, whose coming may
// be among them.
func (d *diff) cut(n int) (df diff) {
	a := min(n, len(d.added))
	g := min(n-a, len(d.gone))
	df.added, d.added = d.added[:a], d.added[a:]
	df.gone, d.gone = d.gone[:g], d.gone[g:]
	return df
}

func (d *diff) len() int { return len(d.added) + len(d.gone) }

// take empties the backlog.
func (b *backlog) take() diff {
	df := b.diff
	b.diff = diff{}
	return df
}
