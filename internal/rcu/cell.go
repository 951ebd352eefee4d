// Package rcu keeps the present version of a value for readers, and tells the writer when an old version is
// no longer used. Start with [Cell.Acquire] and [Cell.Publish]. A lock is held for a few instructions,
// never while a version is in use.
package rcu

import "sync"

// Cell holds the present version of a T. Readers acquire it and release it;
// the writer publishes the next one. The zero Cell has no version: Publish
// comes first. Safe for concurrent use.
type Cell[T any] struct {
	mu     sync.Mutex // held for a few instructions
	now    *Ref[T]
	oldest *Ref[T] // the first version that is not out of use
}

// Ref is a version in use. Its Value must not be read after Release: an unused version is dropped even
// before it is its turn to be retired.
type Ref[T any] struct {
	Value  T
	cell   *Cell[T]
	refs   int     // readers, and the cell for the present one
	next   *Ref[T] // the version after it
	retire []func()
}

// Acquire returns the present version, nil if there is none. The caller must call Release once.
func (c *Cell[T]) Acquire() *Ref[T] {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.now != nil {
		c.now.refs++
	}
	return c.now
}

// Release ends the use of a version. The caller's goroutine then retires versions that are out of use.
func (r *Ref[T]) Release() {
	c := r.cell
	c.mu.Lock()
	r.unref()
	c.unlock()
}

// Publish makes v the present version. retire, if not nil, is called when no reader holds the previous
// version or an older one. The goroutine that releases the last of them calls it, without a lock.
func (c *Cell[T]) Publish(v T, retire func()) {
	c.mu.Lock()
	old := c.now
	c.now = &Ref[T]{Value: v, cell: c, refs: 1}
	if old == nil {
		c.oldest = c.now
		if retire != nil {
			c.mu.Unlock()
			retire()
			return
		}
	} else {
		if retire != nil {
			old.retire = append(old.retire, retire)
		}
		old.next = c.now
		old.unref()
	}
	c.unlock()
}

// Clear removes the present version, as Publish does: Acquire returns nil afterwards. It ends the cell;
// Publish must not be called afterwards.
func (c *Cell[T]) Clear(retire func()) {
	c.mu.Lock()
	old := c.now
	if old == nil {
		c.mu.Unlock()
		return
	}
	c.now = nil
	if retire != nil {
		old.retire = append(old.retire, retire)
	}
	old.unref()
	c.unlock()
}

// unref releases one reference. The caller holds mu.
func (r *Ref[T]) unref() {
	if r.refs--; r.refs == 0 {
		var none T
		r.Value = none
	}
}

// unlock unlocks mu and then retires versions that are out of use, oldest first.
func (c *Cell[T]) unlock() {
	var done []func()
	for c.oldest != nil && c.oldest.refs == 0 {
		done = append(done, c.oldest.retire...)
		c.oldest = c.oldest.next
	}
	c.mu.Unlock()
	for _, f := range done {
		f()
	}
}
