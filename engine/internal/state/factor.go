package state

import (
	"context"
	"time"
)

// factorShare and loadShare say how much of the time factors may take while commits go on:
// after one, as many times as long passes before the next begins. So ingestion, which would
// have one after each commit, spends a ninth of a core on them at most, and a bulk load
// beside which no one searches a thirty-third.
const (
	factorShare = 8
	loadShare   = 32
)

func (d *DB) factor(ctx context.Context, s *State) (bool, error) {
	changes, _ := s.Sums.Staleness()
	if changes == 0 || s.Sums.Len() == 0 {
		return false, nil
	}
	m := &d.maintainer
	share := time.Duration(factorShare)
	if d.workers() > 1 && d.loading(s) {
		share = loadShare
	}
	if !m.hurried() && d.committed.since() < rest && time.Since(m.factorEnd) < share*m.factorTook {
		m.later = true
		return false, nil
	}
	begin := time.Now()
	defer func() { m.factorEnd = time.Now(); m.factorTook = m.factorEnd.Sub(begin) }()
	m.report("factor", 0, 0)
	f, err := s.Sums.Factor(ctx)
	if err != nil {
		return false, err
	}
	return true, d.change(ctx, func(next *State) (err error) {
		next.Sums, err = next.Sums.WithFactor(f)
		d.pending = max(d.pending, littleChanges+1) // or it would be made after each opening
		return err
	})
}
