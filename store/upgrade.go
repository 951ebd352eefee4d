package store

import (
	"context"
	"errors"
)

// upgrade converts a database of format 1, in one transaction: state and manifest get
// their present form, and the last commit a digest, from which the history is known.
// Records do not change; a pass over the texts counts those that were truncated.
func (s *Store) upgrade(st state) (state, error) {
	p := &pin{s: s, st: st, txn: s.db.NewTransaction(false)}
	defer p.discard()
	err := p.scanDocuments(context.Background(), 0, func(_ uint64, d *Document) error {
		if d.Truncated > 0 {
			st.truncated++
		}
		return nil
	})
	if err != nil {
		return st, err
	}
	m := s.Manifest()
	m.Major, m.Minor, m.From = m.format(), formatMinor, m.Major
	st.gen++
	st.manifestGen = st.gen
	st.history = firstHistory(m.UUID)
	var ops []op
	if st.seq == st.base {
		st.baseHistory = st.history
	} else {
		c, err := p.commit(st.seq)
		if err != nil {
			return st, err
		}
		c.nonce, c.history = newNonce(), st.history
		ops = append(ops, op{numberKey(prefixCommit, st.seq), c.encode()})
	}
	s.seed = m.UUID.seed()
	if err := s.writeManifest(st, m, ops...); err != nil {
		return st, err
	}
	hit("upgrade")
	s.manifest = m
	return st, nil
}

// wasTruncated reports whether tokens of a version were cut off. The ids of format 1 do
// not record this; the documents do.
func (b *Batch) wasTruncated(ctx context.Context, v version) (bool, error) {
	if v.truncated || v.ord == 0 || !b.s.broughtOver {
		return v.truncated, nil
	}
	var d Document
	err := b.s.record(ctx, b.w.txn, prefixDocument, v.ord, func(p []byte) error { return decodeDocument(p, &d) })
	if errors.Is(err, ErrNotFound) {
		err = b.s.missing(partKey(prefixDocument, v.ord, 0))
	}
	return d.Truncated > 0, err
}
