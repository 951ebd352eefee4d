package store

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
)

// Evidence says which versions, by ordinal, were live at a commit. It comes from a source other than
// the records.
type Evidence struct {
	Seq  uint64
	Live map[uint64]struct{}
}

// census records which versions are live, as far as the raw reader can tell.
type census struct {
	seq   uint64            // of the last commit
	known bool              // live is all of them: from evidence
	live  map[uint64]string // versions, with the id where it is known
	total int               // how many documents there were; -1 if nothing tells
}

// count finds out which versions are live. The evidence may be nil.
func (r *rawReader) count(ctx context.Context, e *Evidence) (*census, error) {
	c := &census{live: map[uint64]string{}, total: -1}
	if r.stated {
		c.seq, c.total = r.st.seq, int(r.st.live)
	}
	if r.headed && r.head.seq > c.seq {
		c.seq, c.total = r.head.seq, -1
	}
	logged, err := r.log(ctx, c)
	if err != nil {
		return nil, err
	}
	ids, err := r.ids(ctx, c.seq)
	if err != nil {
		return nil, err
	}
	dead, err := r.dead(ctx, c.seq, logged)
	if err != nil {
		return nil, err
	}
	if e != nil && r.follow(ctx, c, e, logged, ids) {
		return c, nil
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	ceiling := uint64(0) // above all ordinals that were given
	if r.stated {
		ceiling = r.st.nextOrd
	}
	for id, ord := range ids {
		if ceiling = max(ceiling, ord+1); ord != 0 && !dead[ord] {
			c.live[ord] = id
		}
	}
	for _, l := range logged {
		ceiling = max(ceiling, l.New+1)
	}
	for _, l := range logged { // whose id's own record is lost
		if _, there := ids[l.ID]; l.New != 0 && !there && !dead[l.New] {
			c.live[l.New] = l.ID
		}
	}
	named := map[string]bool{}
	for _, id := range c.live {
		named[id] = true
	}
	newest := map[string]uint64{}
	for _, ord := range r.versions() { // nor any entry of the log
		if _, there := c.live[ord]; there || dead[ord] || ord >= ceiling {
			continue
		}
		p, err := r.record(ctx, prefixDocument, ord)
		if err != nil {
			if !lost(err) {
				return nil, err
			}
			c.live[ord] = ""
			continue
		}
		d := &Document{}
		if decodeDocument(p, d) != nil {
			continue
		}
		if _, there := ids[d.ID]; !there && !named[d.ID] {
			newest[d.ID] = max(newest[d.ID], ord)
		}
	}
	for id, ord := range newest {
		c.live[ord] = id
	}
	return c, nil
}

// lost reports whether an error means that a record cannot be read.
func lost(err error) bool { return errors.Is(err, ErrNotFound) || errors.Is(err, ErrCorrupt) }

// each calls fn with the readable records of a kind, in no order; want, if not nil, selects the keys
// to read.
func (r *rawReader) each(ctx context.Context, prefix byte, want func(key []byte) bool, fn func(key, payload []byte)) error {
	for name, at := range r.at {
		if name[0] != prefix || at.gone {
			continue
		}
		key := []byte(name)
		if want != nil && !want(key) {
			continue
		}
		p, err := r.get(ctx, key)
		if err == nil {
			fn(key, p)
		} else if !lost(err) {
			return err
		}
	}
	return nil
}

// change is a log entry and its place.
type change struct {
	seq uint64
	n   uint32
	Change
}

// log reads the entries of the committed batches, in order, and sets the last commit of the census
// from their records.
func (r *rawReader) log(ctx context.Context, c *census) ([]change, error) {
	newer := func(key []byte) bool {
		seq, _, ok := keyNumber(key)
		return ok && seq > c.seq
	}
	err := r.each(ctx, prefixCommit, newer, func(key, p []byte) {
		if rec, err := decodeCommit(p); err == nil {
			c.seq, _, _ = keyNumber(key)
			c.total = int(rec.live)
		}
	})
	if err != nil {
		return nil, err
	}
	var out []change
	committed := func(key []byte) bool {
		seq, _, ok := keyNumber(key)
		return ok && seq <= c.seq
	}
	err = r.each(ctx, prefixLog, committed, func(key, p []byte) {
		if ch, err := decodeChange(p); err == nil {
			seq, n, _ := keyNumber(key)
			out = append(out, change{seq, n, ch})
		}
	})
	if err != nil {
		return nil, err
	}
	slices.SortFunc(out, func(a, b change) int {
		return cmp.Or(cmp.Compare(a.seq, b.seq), cmp.Compare(a.n, b.n))
	})
	return out, nil
}

// ids returns the ordinals of ids at a commit, 0 for deleted ones.
func (r *rawReader) ids(ctx context.Context, seq uint64) (map[string]uint64, error) {
	out := map[string]uint64{}
	err := r.each(ctx, prefixID, nil, func(key, p []byte) {
		if cur, err := decodeCurrent(p); err == nil && cur.at(seq) < maxOrdinal {
			out[string(key[1:])] = cur.at(seq)
		}
	})
	return out, err
}

// dead returns the versions that had ended at a commit.
func (r *rawReader) dead(ctx context.Context, seq uint64, logged []change) (map[uint64]bool, error) {
	out := map[uint64]bool{}
	for _, l := range logged {
		out[l.Old] = true
	}
	err := r.each(ctx, prefixDeath, nil, func(key, p []byte) {
		var died uint64
		if ord, _, ok := keyNumber(key); ok && decodeNumbers(p, &died) == nil && died <= seq {
			out[ord] = true
		}
	})
	return out, err
}

// versions lists the ordinals that have any record, ascending.
func (r *rawReader) versions() []uint64 {
	seen := map[uint64]bool{}
	for key, at := range r.at {
		if (key[0] == prefixDocument || key[0] == prefixRow) && !at.gone {
			if ord, _, ok := keyNumber([]byte(key)); ok {
				seen[ord] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(seen))
}

// follow updates evidence by the log, which must be complete from there on. It reports whether the
// census is complete.
func (r *rawReader) follow(ctx context.Context, c *census, e *Evidence, logged []change, ids map[string]uint64) bool {
	entries := map[uint64]uint64{}
	for _, l := range logged {
		entries[l.seq]++
	}
	for seq := e.Seq + 1; seq <= c.seq; seq++ {
		p, err := r.get(ctx, numberKey(prefixCommit, seq))
		if err != nil {
			return false
		}
		if rec, err := decodeCommit(p); err != nil || rec.entries != entries[seq] {
			return false
		}
	}
	if e.Seq > c.seq {
		return false
	}
	for ord := range e.Live {
		c.live[ord] = ""
	}
	for _, l := range logged {
		if l.seq <= e.Seq {
			if _, there := c.live[l.New]; there {
				c.live[l.New] = l.ID
			}
			continue
		}
		delete(c.live, l.Old)
		if l.New != 0 {
			c.live[l.New] = l.ID
		}
	}
	for id, ord := range ids {
		if _, there := c.live[ord]; there {
			c.live[ord] = id
		}
	}
	c.known, c.total = true, len(c.live)
	return true
}

// historyAt returns the digest of a commit, if anything reveals it.
func (r *rawReader) historyAt(ctx context.Context, seq uint64) (History, bool) {
	switch {
	case r.stated && seq == r.st.seq:
		return r.st.history, r.st.history != History{}
	case r.stated && seq == r.st.base:
		return r.st.baseHistory, r.st.baseHistory != History{}
	case r.headed && seq == r.head.seq:
		return r.head.history, r.head.history != History{}
	}
	p, err := r.get(ctx, numberKey(prefixCommit, seq))
	if err != nil {
		return History{}, false
	}
	c, err := decodeCommit(p)
	return c.history, err == nil && c.history != History{}
}
