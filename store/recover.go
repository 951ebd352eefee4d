package store

import (
	"context"
	"errors"
)

// chunk is the number of log entries undone or trimmed per pass.
const chunk = 4096

// recover removes the remains of a dead process: first the records of a batch without
// commit, then the rest of an interrupted Compact.
func (s *Store) recover(st state) (state, error) {
	if err := s.sweep(st); err != nil {
		return st, err
	}
	if s.manifest.Major < formatHistory {
		var err error
		if st, err = s.upgrade(st); err != nil {
			return st, err
		}
	}
	st, err := s.trim(context.Background(), st)
	if err != nil {
		return st, err
	}
	s.reclaim(st, nil) // nothing can be flushed before the store is open
	return st, nil
}

// sweep removes all records of batches after st: those of ids by the log entries, then
// documents, rows, terms and bases by their numbers. It may be interrupted anywhere and
// run again. It skips missing records, so it costs only a few seeks if there is nothing
// to do.
func (s *Store) sweep(st state) error {
	for {
		entries, err := s.entries(logKey(st.seq+1, 0), 1<<63, chunk)
		if err != nil {
			return err
		}
		if len(entries) == 0 {
			break
		}
		w := s.newStager()
		w.frees = true
		for _, e := range entries {
			if err := s.undo(w, st.seq, e); err != nil {
				w.txn.Discard()
				return err
			}
		}
		if err := w.finish(); err != nil {
			return err
		}
		hit("sweep")
	}
	for _, prefix := range []byte{prefixDocument, prefixRow} {
		if err := s.deleteKeys(numberKey(prefix, st.nextOrd), []byte{prefix + 1}); err != nil {
			return err
		}
		hit("sweep")
	}
	if err := s.deleteKeys(numberKey(prefixTerms, st.terms), []byte{prefixTerms + 1}); err != nil {
		return err
	}
	return s.deleteKeys(numberKey(prefixBasis, st.bases), []byte{prefixBasis + 1})
}

// undo adds the removal of one log entry of an uncommitted batch and of the records
// written with it.
func (s *Store) undo(w *stager, committed uint64, e entry) error {
	ops := []op{{key: e.key}}
	key := idKey(e.change.ID)
	p, err := s.get(w.txn, key)
	switch {
	case errors.Is(err, ErrNotFound): // undone with an earlier entry of this id
	case err != nil:
		return err
	default:
		cur, err := decodeCurrent(p)
		if err != nil {
			return s.decoded(key, err)
		}
		if cur.now.seq > committed {
			if cur.before.seq == 0 { // no batch before had the id
				ops = append(ops, op{key: key})
			} else { // a version, or that a batch before deleted the id
				ops = append(ops, op{key, current{now: cur.before}.encode()})
			}
		}
	}
	if e.change.Old != 0 {
		ops = append(ops, op{key: numberKey(prefixDeath, e.change.Old)})
	}
	return w.apply(ops...)
}

// entry is a log entry with its key.
type entry struct {
	key    []byte
	change Change
}

// entries reads up to limit log entries from a key to the end of batch last.
func (s *Store) entries(from []byte, last uint64, limit int) (out []entry, err error) {
	p := &pin{s: s, txn: s.db.NewTransaction(false)}
	defer p.discard()
	it, err := p.iterate(context.Background(), from, logKey(last, 1<<32-1))
	if err != nil {
		return nil, err
	}
	defer it.Close()
	for ; it.Valid() && len(out) < limit; it.Next() {
		key := it.Item().KeyCopy(nil)
		seq, _, ok := keyNumber(key)
		if !ok {
			return nil, s.corrupt("key "+keyName(key)+" is malformed", nil)
		}
		if seq > last {
			break
		}
		err := s.value(it.Item(), key, func(b []byte) error {
			c, err := decodeChange(b)
			out = append(out, entry{key, c})
			return s.decoded(key, err)
		})
		if err != nil {
			return nil, err
		}
	}
	return out, nil
}

// keys lists up to limit keys from from to below to.
func (s *Store) keys(from, to []byte, limit int) (out [][]byte, err error) {
	p := &pin{s: s, txn: s.db.NewTransaction(false)}
	defer p.discard()
	it, err := p.iterate(context.Background(), from, to)
	if err != nil {
		return nil, err
	}
	defer it.Close()
	for ; it.Valid() && len(out) < limit; it.Next() {
		key := it.Item().KeyCopy(nil)
		if string(key) >= string(to) {
			break
		}
		out = append(out, key)
	}
	return out, nil
}

// deleteKeys deletes all keys from from to below to.
func (s *Store) deleteKeys(from, to []byte) error {
	for {
		keys, err := s.keys(from, to, chunk)
		if err != nil || len(keys) == 0 {
			return err
		}
		w := s.newStager()
		w.frees = true
		for _, k := range keys {
			if err := w.apply(op{key: k}); err != nil {
				w.txn.Discard()
				return err
			}
		}
		if err := w.finish(); err != nil {
			return err
		}
		from = keys[len(keys)-1]
	}
}

// finish commits the rest.
func (w *stager) finish() error {
	defer w.txn.Discard()
	if w.count == 0 {
		return nil
	}
	return w.txn.Commit()
}
