package store

import (
	"context"
	"errors"
	"fmt"
)

// Compact removes replaced and deleted versions that ended up to sequence upTo, and the change log up
// to that sequence. Pass the lowest sequence that all derived snapshots have reached. Disk space is
// freed gradually, or by Reclaim. Compact blocks other writers while it runs. If ctx or the end of the
// process interrupts it, the next Open or Compact finishes the work. Data that open views see is kept
// until they are closed.
func (s *Store) Compact(ctx context.Context, upTo uint64) error {
	return s.writing(ctx, func() error { return s.compact(ctx, upTo) })
}

func (s *Store) compact(ctx context.Context, upTo uint64) error {
	st := s.current()
	if upTo > st.seq {
		return fmt.Errorf("compacting up to %d, the last sequence is %d: %w", upTo, st.seq, errAhead)
	}
	if err := s.checkSpaceToFree(); err != nil {
		return err
	}
	if upTo > st.base {
		dead, history, err := s.passed(st.base, upTo)
		if err != nil {
			return err
		}
		if !s.o.NoSync { // or what HEAD holds on the disk may fall behind base
			if err := s.head.writeAll(s.mark(st, false)); err != nil {
				return err
			}
		}
		st.gen++
		st.base, st.baseHistory = upTo, history
		st.deadBytes -= min(dead, st.deadBytes)
		w := s.newStager()
		w.frees = true
		err = w.apply(op{keyState, st.encode()})
		if err == nil {
			err = w.finish()
		}
		if err == nil {
			err = s.finish(st)
		}
		if err != nil {
			s.fail(err)
			return err
		}
		hit("compact-begun")
	}
	before := st.trimmed
	st, err := s.trim(ctx, st)
	if err == nil && st.trimmed > before {
		err = s.fill(0, 1, 0) // views from here on lie behind the removal, not at it
	}
	s.setPin(s.newPin(st)) // the last one sees, and so keeps, what was removed
	if err != nil {
		return err
	}
	if !s.pinned() { // else it would do nothing
		s.reclaim(st, func() error { return s.settle(ctx) })
	}
	return nil
}

// passed sums the sizes of the versions that ended after one sequence up to another, and returns the
// digest there.
func (s *Store) passed(after, upTo uint64) (sum uint64, history History, err error) {
	err = s.read(func(p *pin) (err error) {
		if history, err = p.historyAt(upTo); err != nil {
			return err
		}
		for seq := after + 1; seq <= upTo; seq++ {
			c, err := p.commit(seq)
			if err != nil {
				return err
			}
			sum += c.deadBytes
		}
		return nil
	})
	return sum, history, err
}

// reclaimSlack is how much the tables may hold in excess of twice their due.
const reclaimSlack = 8 << 20

// reclaim rewrites the tables if most of their content is already removed. Badger drops a removed
// record when its tombstone meets it on the way down the levels, which may take long. If all tables
// are new ones, which Badger would leave unchanged, and they exceed the need by a few memtables,
// settle, if not nil, is called before. It is also called if a rewrite frees too little: deletions were
// still in memory, or Badger compacted while an old view was open, so that removed records lie in one
// level with their tombstones. Without settle the next Open reclaims them. Failure costs only disk space
// and is logged.
func (s *Store) reclaim(st state, settle func() error) {
	tables, due := s.tableBytes(), 2*(st.liveBytes+st.deadBytes)+reclaimSlack
	if tables <= due {
		return
	}
	free, err := s.free()
	if err == nil && free < 2*tables {
		err = ErrNoSpace
	}
	if err == nil {
		err = s.tables.checkAll(s.stopped)
	}
	many := due + uint64(2*s.o.memtableBytes())
	for again := false; err == nil; again = true {
		if settle != nil && (again || s.unsettled()) && tables > many {
			err = settle()
		}
		if err == nil {
			err = s.db.Flatten(1)
		}
		if tables = s.tableBytes(); again || settle == nil || tables <= many || s.pinned() {
			break
		}
	}
	if err != nil {
		s.o.logger().Warn("the space of removed documents could not be reclaimed", "dir", s.dir, "error", err)
	}
}

// trim removes log entries up to st.base, each in one transaction with the
// version that it ended, and the commit records. It begins where the last one
// ended, which the state remembers, so that it does not walk over what is
// removed already. It returns the state as it left it, with an error as well.
func (s *Store) trim(ctx context.Context, st state) (state, error) {
	from := logKey(st.trimmed+1, 0)
	for st.trimmed < st.base {
		if err := errors.Join(ctx.Err(), s.stopped()); err != nil {
			return st, err
		}
		entries, err := s.entries(from, st.base, chunk)
		if err != nil {
			return st, err
		}
		upTo := st.base
		if len(entries) > 0 {
			from = append(entries[len(entries)-1].key, 0)
			seq, _, _ := keyNumber(entries[len(entries)-1].key)
			upTo = seq - 1 // the batch may go on
		}
		w := s.newStager()
		w.frees = true
		next, err := s.forgetAll(w, st, entries, upTo)
		if err == nil {
			if err = w.finish(); err != nil {
				s.fail(err) // the number of the state on the disk is not known, and Close must not tell one
			}
		}
		if err != nil {
			w.txn.Discard()
			return st, err
		}
		st = next
		hit("compact")
	}
	return st, nil
}

// forgetAll adds the removal of log entries and of the commit records up to a
// sequence, and the state that says so.
func (s *Store) forgetAll(w *stager, st state, entries []entry, upTo uint64) (state, error) {
	for _, e := range entries {
		if err := s.forget(w, st.base, e); err != nil {
			return st, err
		}
	}
	for from, more := numberKey(prefixCommit, st.trimmed+1), true; more; {
		keys, err := s.keys(from, numberKey(prefixCommit, upTo+1), chunk)
		if err != nil {
			return st, err
		}
		for _, k := range keys {
			if err := w.apply(op{key: k}); err != nil {
				return st, err
			}
		}
		if more = len(keys) == chunk; more {
			from = append(keys[len(keys)-1], 0)
		}
	}
	st.trimmed = max(st.trimmed, upTo)
	st.gen++
	return st, w.apply(op{keyState, st.encode()})
}

// forget adds the removal of one log entry, of the version that it ended, and
// of the id if that is deleted.
func (s *Store) forget(w *stager, base uint64, e entry) error {
	var ops []op
	if old := e.change.Old; old != 0 {
		// Many parts may take several transactions; the log entry goes with the last.
		if err := w.remove(old); err != nil {
			return err
		}
		ops = append(ops, op{key: numberKey(prefixDeath, old)})
	}
	if e.change.New == 0 {
		key := idKey(e.change.ID)
		p, err := s.get(w.txn, key)
		if err != nil && !errors.Is(err, ErrNotFound) {
			return err
		}
		if err == nil {
			cur, err := decodeCurrent(p)
			if err != nil {
				return s.decoded(key, err)
			}
			if cur.now.ord == 0 && cur.now.seq <= base {
				ops = append(ops, op{key: key})
			}
		}
	}
	return w.apply(append(ops, op{key: e.key})...)
}
