package state

import (
	"context"
	"slices"
	"sync"
)

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

// undo schedules the removal of vectors that no state will see: removal from a graph
// takes as long as adding, and a cancelled commit should return at once. The caller holds
// turn.
func (d *DB) undo(df diff) {
	d.undone = append(d.undone, idsOf(df.added)...)
	d.wake()
}

// undoSome removes some of these vectors. The caller holds turn.
func (d *DB) undoSome() {
	n := min(len(d.undone), 32)
	if n == 0 {
		return
	}
	d.now.Vectors.Delete(d.undone[:n])
	if d.undone = d.undone[n:]; len(d.undone) == 0 {
		d.undone = nil
	}
}

// clear removes vectors from the index that no state sees any more.
func (d *DB) clear(ctx context.Context, _ *State) (bool, error) {
	ids := d.drops.take()
	for piece := range slices.Chunk(ids, step) {
		if ctx.Err() != nil {
			break // the next opening takes out those of no document
		}
		x := d.vectors.Load()
		x.SetWorkers(d.workers())
		x.Delete(piece)
	}
	worked := len(ids) > 0
	for more := true; more; { // a commit may come between
		if err := d.turn.lock(ctx); err != nil {
			return worked, err
		}
		worked = worked || len(d.undone) > 0
		d.undoSome()
		more = len(d.undone) > 0
		d.turn.unlock()
	}
	return worked, nil
}
