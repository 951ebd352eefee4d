package store

import (
	"context"
	"errors"
	"fmt"
)

// Batch collects changes that become visible together at Commit. Its methods must not be called
// concurrently.
//
// Records are staged under their final keys in as many synced transactions as Badger's limits require.
// They become visible only when the last transaction writes the commit record and the new state. If a
// batch is not committed, Discard or the next Open removes its records, and its ordinals and sequence
// number are used again.
type Batch struct {
	s    *Store
	w    *stager
	base state // before the batch
	st   state // with the batch
	n    uint64
	link chain // digest of the commit, with the log entries so far
	salt [16]byte
	err  error // that leaves only Discard
	done bool
}

// Begin starts a batch. It waits until no other batch is open, or until ctx is done. The caller must
// end the batch with Commit or Discard.
func (s *Store) Begin(ctx context.Context) (*Batch, error) {
	if err := s.enter(); err != nil {
		return nil, err
	}
	defer s.leave()
	if err := s.startWriting(ctx); err != nil {
		return nil, err
	}
	st := s.current()
	b := &Batch{s: s, w: s.newStager(), base: st, st: st, salt: newNonce()}
	b.w.frees = true // until the first Put
	b.st.seq++
	b.link = newChain(st.history, b.st.seq, b.salt)
	s.mu.Lock()
	s.batch = b
	s.mu.Unlock()
	return b, nil
}

// enter admits a call on the batch.
func (b *Batch) enter(ctx context.Context) error {
	if b.done {
		return errBatchDone
	}
	if b.err != nil {
		return fmt.Errorf("batch can only be discarded: %w", b.err)
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	return b.s.enter()
}

// Put stores a copy of d: it inserts a new document or replaces the version with the same id. After
// errInvalidID, *DimensionError, errNoDimension, errNotFinite, errMetadata or ErrTooLarge the batch
// can still be used. After any other error it can only be discarded.
func (b *Batch) Put(ctx context.Context, d *Document) (Change, error) {
	if err := b.enter(ctx); err != nil {
		return Change{}, err
	}
	defer b.s.leave()
	b.s.mu.Lock()
	m := b.s.manifest
	b.s.mu.Unlock()
	if err := d.check(m); err != nil {
		return Change{}, err
	}
	c, err := b.put(ctx, d, m.Short)
	b.err = err
	return c, err
}

func (b *Batch) put(ctx context.Context, d *Document, short bool) (Change, error) {
	b.w.frees = false
	cur, err := b.currentOf(d.ID)
	if err != nil {
		return Change{}, err
	}
	c := Change{ID: d.ID, New: b.st.nextOrd, Old: cur.now.ord}
	text, row, err := encodeRecords(ctx, d, short)
	if err != nil {
		return Change{}, err
	}
	if err := errors.Join(b.w.record(ctx, prefixDocument, c.New, text), b.w.rows(ctx, c.New, row)); err != nil {
		return Change{}, err
	}
	b.st.nextOrd++
	return c, b.record(ctx, c, cur, version{ord: c.New, seq: b.st.seq, bytes: uint64(len(text) + len(row)), truncated: d.Truncated > 0})
}

// Lookup returns the ordinal of the version that id has after the changes of the batch so far, or 0 if
// there is none. Cost: one point read.
func (b *Batch) Lookup(ctx context.Context, id string) (uint64, error) {
	if err := b.enter(ctx); err != nil {
		return 0, err
	}
	defer b.s.leave()
	if err := checkID(id); err != nil {
		return 0, err
	}
	cur, err := b.currentOf(id)
	return cur.now.ord, err
}

// Delete deletes the document with the id. ok is false if there was no such document.
func (b *Batch) Delete(ctx context.Context, id string) (c Change, ok bool, err error) {
	if err := b.enter(ctx); err != nil {
		return Change{}, false, err
	}
	defer b.s.leave()
	if err := checkID(id); err != nil {
		return Change{}, false, err
	}
	cur, err := b.currentOf(id)
	if err == nil && cur.now.ord == 0 {
		return Change{}, false, nil
	}
	c = Change{ID: id, Old: cur.now.ord}
	if err == nil {
		err = b.record(ctx, c, cur, version{seq: b.st.seq})
	}
	if err != nil {
		b.err = err
		return Change{}, false, err
	}
	return c, true, nil
}

// currentOf reads an id's record, with the changes of this batch.
func (b *Batch) currentOf(id string) (cur current, err error) {
	key := idKey(id)
	err = b.s.with(b.w.txn, key, func(p []byte) error {
		cur, err = decodeCurrent(p)
		return b.s.decoded(key, err)
	})
	if errors.Is(err, ErrNotFound) {
		return current{}, nil
	}
	return cur, err
}

// record writes log entry, id and death of one change in one transaction, so that the log entry, from
// which an unfinished batch is undone, exists exactly if the others do.
func (b *Batch) record(ctx context.Context, c Change, cur current, now version) error {
	if b.n >= 1<<32 {
		return fmt.Errorf("batch has 2^32 changes: %w", ErrTooLarge)
	}
	truncated, err := b.wasTruncated(ctx, cur.now)
	if err != nil {
		return err
	}
	next := current{now: now, before: cur.now}
	if cur.now.seq == b.st.seq { // the second change of this id in the batch
		next.before = cur.before
	}
	change := encodeChange(nil, c)
	b.link.add(change)
	ops := []op{
		{logKey(b.st.seq, uint32(b.n)), change},
		{idKey(c.ID), next.encode()},
	}
	if c.Old != 0 {
		ops = append(ops, op{numberKey(prefixDeath, c.Old), appendNumbers(nil, b.st.seq)})
	}
	if err := b.w.apply(ops...); err != nil {
		return err
	}
	b.n++
	b.st.liveBytes += now.bytes - cur.now.bytes
	b.st.deadBytes += cur.now.bytes
	if c.New != 0 {
		b.st.live++
		b.st.newLive++
	}
	if c.Old != 0 {
		b.st.live--
		if c.Old >= b.st.safeOrd {
			b.st.newLive--
		}
	}
	if now.truncated {
		b.st.truncated++
	}
	if truncated {
		b.st.truncated--
	}
	return nil
}

// Commit makes the batch durable and visible and returns its sequence number. A batch without changes
// writes nothing and returns the number of the last commit. An error of ctx leaves the batch as it
// was. After any other error it is unknown what reached the disk, and the store refuses writes until
// it is opened again.
func (b *Batch) Commit(ctx context.Context) (seq uint64, err error) {
	if err := b.enter(ctx); err != nil {
		return 0, err
	}
	defer b.s.leave()
	if b.n == 0 {
		return b.base.seq, b.undo()
	}
	hit("staged")
	if err := b.w.checkSpace(); err != nil {
		b.err = err
		return 0, err
	}
	b.st.gen++
	b.st.history = b.link.history()
	err = b.w.apply(
		op{numberKey(prefixCommit, b.st.seq), commit{
			entries: b.n, nextOrd: b.st.nextOrd, live: b.st.live, deadBytes: b.st.deadBytes - b.base.deadBytes,
			nonce: b.salt, history: b.st.history,
		}.encode()},
		op{keyState, b.st.encode()})
	if err != nil {
		b.err = err
		return 0, err
	}
	hit("before-commit")
	defer b.end()
	if err := b.w.txn.Commit(); err != nil {
		b.s.fail(err)
		return 0, err
	}
	hit("after-commit")
	return b.st.seq, b.s.finish(b.st)
}

// Discard removes the staged records of the batch. After Commit or Discard it does nothing.
func (b *Batch) Discard() error {
	if b.done {
		return nil
	}
	if err := b.s.enter(); err != nil {
		b.done = true // Close has given up the batch; Open removes its records
		return nil
	}
	defer b.s.leave()
	return b.undo()
}

// undo removes the staged records and ends the batch.
func (b *Batch) undo() error {
	defer b.end()
	b.w.txn.Discard()
	if b.w.commits == 0 {
		return nil
	}
	if err := b.s.sweep(b.base); err != nil {
		b.s.fail(err)
		return err
	}
	return nil
}

// end releases the writer's slot.
func (b *Batch) end() {
	b.done = true
	b.w.txn.Discard()
	b.s.mu.Lock()
	b.s.batch = nil
	b.s.mu.Unlock()
	b.s.stopWriting()
}
