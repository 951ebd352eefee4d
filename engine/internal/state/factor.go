package state

import (
	"context"
	"time"
)

// factorShare and loadShare limit the time for factors while commits go on: after a factor,
// this multiple of its duration passes before the next one. So ingestion, which would
// otherwise need one after each commit, spends at most a ninth of a core on them, and a
// bulk load without searches a thirty-third.
const (
	factorShare = 8
	loadShare   = 32
)

func (d *DB) factor(ctx context.Context, s *State) (bool, error) {
	if err := s.Sums.Await(); err != nil {
		return false, err
	}
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
