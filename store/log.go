package store

import (
	"context"
	"errors"
	"fmt"
)

// log walks the change log after a sequence number and compares every batch with the
// number of entries and the digest in its commit record.
func (p *pin) log(ctx context.Context, after uint64, fn func(uint64, Change) error) error {
	switch {
	case after < p.st.base:
		return fmt.Errorf("changes after %d: %w", after, ErrTrimmed)
	case after > p.st.seq:
		return fmt.Errorf("changes after %d, the last is %d: %w", after, p.st.seq, errAhead)
	}
	before, err := p.historyAt(after)
	if err != nil {
		return err
	}
	it, err := p.iterate(ctx, logKey(after+1, 0), logKey(p.st.seq, 1<<32-1))
	if err != nil {
		return err
	}
	defer it.Close()
	for seq := after + 1; seq <= p.st.seq; seq++ {
		c, err := p.commit(seq)
		if err != nil {
			return err
		}
		link := newChain(before, seq, c.nonce)
		for n := range c.entries {
			if n%checkEvery == 0 {
				if err := p.interrupted(ctx); err != nil {
					return err
				}
			}
			key := logKey(seq, uint32(n))
			if !it.Valid() || string(it.Item().Key()) != string(key) {
				return p.s.missing(key)
			}
			var change Change
			err := p.s.value(it.Item(), key, func(b []byte) (err error) {
				link.add(b)
				change, err = decodeChange(b)
				return p.s.decoded(key, err)
			})
			if err != nil {
				return err
			}
			if err := fn(seq, change); err != nil {
				return err
			}
			it.Next()
		}
		if before != (History{}) && link.history() != c.history {
			return p.s.corrupt("record "+keyName(numberKey(prefixCommit, seq)), errHistory)
		}
		before = c.history
	}
	if before != p.st.history {
		return p.s.corrupt("state record", errHistory)
	}
	return nil
}

// commit reads the commit record of a batch, which must exist.
func (p *pin) commit(seq uint64) (c commit, err error) {
	key := numberKey(prefixCommit, seq)
	err = p.s.with(p.txn, key, func(b []byte) (err error) {
		c, err = decodeCommit(b)
		return p.s.decoded(key, err)
	})
	if errors.Is(err, ErrNotFound) {
		err = p.s.missing(key)
	}
	return c, err
}
