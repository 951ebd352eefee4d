package state

import (
	"context"
	"slices"
)

// backlog collects the changes of commits during long work, which then catches up. It is
// guarded by turn.
type backlog struct{ diff }

func (b *backlog) add(df diff) {
	for _, v := range withVectors(df.added) {
		v.Text, v.Metadata = "", nil
		b.added = append(b.added, v)
	}
	b.gone = append(b.gone, withVectors(df.gone)...)
}

// take empties the backlog.
func (b *backlog) take() diff {
	df := b.diff
	b.diff = diff{}
	return df
}

// begin starts to collect the changes of commits after the present state. It returns that
// state, which the caller releases.
func (d *DB) begin(ctx context.Context, b *backlog) (*Ref, error) {
	if err := d.turn.lock(ctx); err != nil {
		return nil, err
	}
	defer d.turn.unlock()
	d.finish(b) // what a fault has ended may have left it
	d.backlogs = append(d.backlogs, b)
	return d.cell.Acquire(), nil
}

// finish stops collecting and empties b. The caller holds turn, or commits are
// impossible.
func (d *DB) finish(b *backlog) {
	d.backlogs = slices.DeleteFunc(d.backlogs, func(x *backlog) bool { return x == b })
	*b = backlog{}
}

func (d *DB) abandon(b *backlog) {
	if d.turn.lock(context.Background()) == nil {
		d.finish(b)
		d.turn.unlock()
	}
}
