package collections

import (
	"context"
	"errors"
	"fmt"
	"syscall"
	"time"

	"github.com/lexsem/lexsem/engine"
	"github.com/lexsem/lexsem/serve/share"
)

// collection is a requested name, and its database while that is open.
type collection struct {
	set       *Set
	name, dir string
	db        engine.Database // what Get returns
	slot      chan struct{}   // holds a value while somebody opens, closes or drops it

	// guarded by Set.mu
	joined *share.Joined  // nil while it is closed
	own    *engine.Engine // what this process has opened, until that is closed
	users  int            // calls that run, of this process and of others
	used   time.Time      // when the last of them ended
	bytes  int64          // of memory, when it was looked at last
	gone   bool           // it is being dropped, or was
}

func newCollection(s *Set, name, dir string) *collection {
	c := &collection{set: s, name: name, dir: dir, slot: make(chan struct{}, 1)}
	c.db = &handle{engine.WithReranker(counted{c.enter}, s.o.Engine.Reranker, s.o.Engine.RerankDepth), c}
	return c
}

// wait waits for the collection's turn.
func (c *collection) wait(ctx context.Context) error {
	select {
	case c.slot <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// done gives the turn back.
func (c *collection) done() { <-c.slot }

// handle is the form of a collection that Get returns.
type handle struct {
	engine.Database
	c *collection
}

// Close does nothing: the set owns the collection.
func (h *handle) Close() error { return nil }

// touch opens the collection if necessary, and counts as a use.
func (h *handle) touch(ctx context.Context) error {
	_, leave, err := h.c.enter(ctx)
	if err == nil {
		leave()
	}
	return err
}

// enter begins a call in this process, and opens the collection for it.
func (c *collection) enter(ctx context.Context) (engine.Database, func(), error) {
	for {
		db, leave, err := c.look(ctx)
		if db != nil || !errors.Is(err, errNotOpen) {
			return db, c.after(leave), err
		}
		if err := c.wait(ctx); err != nil {
			return nil, nil, err
		}
		err = c.open(ctx, nil)
		c.done()
		if err != nil {
			return nil, nil, err
		}
	}
}

// errNotOpen is engine.ErrClosed for a collection that can be opened.
var errNotOpen = fmt.Errorf("the collection is not open: %w", engine.ErrClosed)

// look begins a call if the collection is open.
func (c *collection) look(context.Context) (engine.Database, func(), error) {
	s := c.set
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.ended || c.gone:
		return nil, nil, engine.ErrClosed
	case c.joined == nil:
		return nil, nil, errNotOpen
	}
	c.users++
	return c.joined, c.leave, nil
}

// peek is look for calls that do not count as a use.
func (c *collection) peek(ctx context.Context) (engine.Database, func(), error) {
	db, leave, err := c.look(ctx)
	c.set.mu.Lock()
	defer c.set.mu.Unlock()
	if err == nil && c.own != nil { // its calls by way of c.joined count
		db = c.own
	}
	return db, leave, err
}

// leave ends a call.
func (c *collection) leave() {
	s := c.set
	s.mu.Lock()
	defer s.mu.Unlock()
	if c.users--; c.users == 0 {
		s.room.changed()
	}
}

// after makes the end of a call count as a use.
func (c *collection) after(leave func()) func() {
	return func() {
		c.set.mu.Lock()
		c.used = time.Now()
		c.set.mu.Unlock()
		leave()
	}
}

// called begins a call from another process, which this process answers with e.
func (c *collection) called(e *engine.Engine) func(context.Context) (engine.Database, func(), error) {
	return func(context.Context) (engine.Database, func(), error) {
		c.set.mu.Lock()
		defer c.set.mu.Unlock()
		c.users++
		return e, c.after(c.leave), nil
	}
}

// open opens the collection if it is not open; the caller must hold its turn. first, if not nil, is called
// beforehand, once there is room.
func (c *collection) open(ctx context.Context, first func(context.Context) error) error {
	s := c.set
	s.mu.Lock()
	open, ended := c.joined != nil, s.ended || c.gone
	s.mu.Unlock()
	switch {
	case ended:
		return engine.ErrClosed
	case open:
		return nil
	}
	if err := c.shut(); err != nil { // what could not be closed before
		return err
	}
	leave, err := s.makeRoom(ctx)
	if err != nil {
		return err
	}
	defer leave()
	join := func() error {
		if first != nil {
			if err := first(ctx); err != nil {
				return err
			}
			first = nil
		}
		return c.join(ctx)
	}
	err = join()
	if errors.Is(err, syscall.EMFILE) && s.closeIdle(ctx, 0) > 0 { // the process uses more than was reckoned
		err = join()
	}
	return err
}

// join opens the collection in this process, or connects to the process that has it open.
func (c *collection) join(ctx context.Context) error {
	s := c.set
	o := s.engineOptions()
	o.MustExist, o.Metric = true, "" // it was made with one
	model := ""
	if s.enc != nil {
		model = s.enc.Fingerprint().Model
	}
	open := func(ctx context.Context) (share.Opened, error) {
		e, err := engine.Open(ctx, c.dir, s.enc, o)
		if err != nil {
			return share.Opened{}, err
		}
		s.mu.Lock()
		c.own = e
		s.mu.Unlock()
		return share.Opened{Database: counted{c.called(e)}, Model: model, Alone: o.ReadOnly}, nil
	}
	j, err := share.Join(ctx, c.dir, open, share.JoinOptions{
		Options: share.Options{Command: s.o.Command, Model: model, Drain: drainFor, Logger: o.Logger},
		Accept:  func(ctx context.Context, j *share.Joined) error { return c.accept(ctx, j) },
		Warn: func(err error) {
			if o.Logger != nil {
				o.Logger.Warn("other processes cannot use the collection while this one has it open", "collection", c.name, "error", err)
			}
		},
	})
	if err != nil {
		return err
	}
	s.mu.Lock()
	c.joined, c.used = j, time.Now()
	s.mu.Unlock()
	c.measure(ctx)
	s.tend()
	return nil
}

// drainFor is how long calls of other processes may continue when a collection is closed.
const drainFor = 5 * time.Second

// accept refuses a process that cannot encode texts.
func (c *collection) accept(ctx context.Context, j *share.Joined) error {
	h, _ := j.Holder()
	if c.set.enc == nil || h.Model != "" {
		return nil
	}
	st, err := j.Stats(ctx)
	if err != nil || st.Encoder.Model == "" {
		return err
	}
	return fmt.Errorf("collection %s is in use by %v without a model, and searches need one; try again when that process has ended: %w", c.name, h, engine.ErrLocked)
}

// shut closes the collection; the caller must hold its turn. After engine.ErrNoSpace it may be tried
// again.
func (c *collection) shut() error {
	s := c.set
	s.mu.Lock()
	j := c.joined
	c.joined, c.bytes = nil, 0
	s.mu.Unlock()
	return c.end(j)
}

// end closes j, and the remains of an earlier attempt.
func (c *collection) end(j *share.Joined) (err error) {
	if j != nil {
		err = j.Close()
	}
	s := c.set
	s.mu.Lock()
	own := c.own
	s.mu.Unlock()
	if own == nil {
		return err
	}
	if e := own.Close(); errors.Is(e, engine.ErrNoSpace) { // nothing is closed, and c.joined does not try again
		return e
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	c.own = nil
	return err
}
