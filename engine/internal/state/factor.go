package state

import (
	"context"
	"time"
)

// factorShare says how much of the time factors may take while commits go on: after
// one, as many times as long passes before the next begins. So ingestion, which would
// have one after each commit, spends a ninth of a core on them at most.
const factorShare = 8

func (d *DB) factor(ctx context.Context, s *State) (bool, error) {
	changes, _ := s.Sums.Staleness()
	if changes == 0 || s.Sums.Len() == 0 {
		return false, nil
	}
	m := &d.maintainer
	if !m.hurried() && d.committed.since() < rest && time.Since(m.factorEnd) < factorShare*m.factorTook {
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
