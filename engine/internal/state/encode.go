package state

import (
	"context"
	"time"
)

// Documents may be stored before their vectors are made: their chunks have words and metadata, and are no part of the
// vector index, of RLR's sums and of local bridges. The maintainer has the vectors made in batches, from the oldest
// document on; each batch is a commit of new versions with vectors.

// Encode makes and commits some of the missing vectors of a state.
type Encode func(ctx context.Context, s *State) (worked bool, err error)

// encodeTask is the name of the task. encodePause is its waiting time after an error, which may come from a server.
// While commits go on it waits for encodeWait at most, since words are to find all documents first.
const (
	encodeTask  = "encode"
	encodePause = 30 * time.Second
	encodeWait  = 10 * rest
)

// EncodeBy sets the function with which the maintainer makes vectors.
func (d *DB) EncodeBy(f Encode) {
	d.encode.Store(&f)
	d.wake()
}

func (d *DB) encodeSome(ctx context.Context, s *State) (worked bool, err error) {
	f, m := d.encode.Load(), &d.maintainer
	if f == nil || d.o.ReadOnly || s.Encoded() == s.Chunks() {
		m.lackedSince = time.Time{}
		return false, nil
	}
	if m.lackedSince.IsZero() {
		m.lackedSince = time.Now()
	}
	if m.soon = m.moreComes(d.committed.since()); m.soon {
		return false, nil
	}
	m.report(encodeTask, s.Encoded(), s.Chunks())
	worked, err = (*f)(ctx, s)
	m.encoded, m.encodeEnd = worked, time.Now()
	return worked, err
}

// moreComes reports whether more documents may follow at once, given the time since the last commit. A commit of vectors
// does not count, and nobody waits for long.
func (m *maintainer) moreComes(last time.Duration) bool {
	return last < soon && last < time.Since(m.encodeEnd) && time.Since(m.lackedSince) < encodeWait && !m.hurried()
}

// encodeAgain lets the task run again after an error, once its pause is over. The maintainer alone calls it.
func (d *DB) encodeAgain() bool {
	m := &d.maintainer
	if time.Since(m.encodeEnd) < encodePause {
		m.later = true
		return false
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.now.Err == m.failed[encodeTask] {
		m.now.Err = nil
	}
	delete(m.failed, encodeTask)
	return true
}
