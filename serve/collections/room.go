package collections

import (
	"cmp"
	"context"
	"errors"
	"runtime/debug"
	"time"

	"github.com/lexsem/lexsem/engine"
)

const (
	defaultIdle    = time.Minute
	defaultOpenMiB = 512
	// eachMiB is the approximate memory of an open collection besides the parts that
	// engine.Stats counts.
	eachMiB = 8
	// otherFiles is the number of descriptors for everything else: the main database, connections, and temporary ones
	// while a collection is opened. eachFiles is the number for an open collection with a few tables.
	otherFiles, eachFiles = 96, 12
	// manyOpen limits the collections if the system does not limit descriptors.
	manyOpen = 4096
	// roomWithin is how long an opening waits for a busy collection to become idle. Then the bounds are exceeded: a call
	// of one collection may wait for that of another.
	roomWithin = 2 * time.Second
)

// room limits how much is open at the same time. Set.mu guards it.
type room struct {
	most    int   // collections
	bytes   int64 // of memory
	opening int
	freed   chan struct{} // closed when a collection may have become idle; nil while nobody waits
}

func newRoom(o Options) room {
	most := o.MaxOpen
	if n := descriptors(); most == 0 {
		most = manyOpen
		if n > 0 {
			most = min(most, max(1, (n-otherFiles)/eachFiles))
		}
	}
	return room{most: most, bytes: int64(cmp.Or(o.OpenMiB, defaultOpenMiB)) << 20}
}

// changed wakes the calls that wait for room.
func (r *room) changed() {
	if r.freed != nil {
		close(r.freed)
		r.freed = nil
	}
}

// makeRoom closes idle collections until another one can be opened; if none is idle, it waits. The caller must call
// leave when the other one is open.
func (s *Set) makeRoom(ctx context.Context) (leave func(), err error) {
	late := time.NewTimer(roomWithin)
	defer late.Stop()
	leave = func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.room.opening--
		s.room.changed()
	}
	for over := false; ; {
		s.mu.Lock()
		if over || !s.full() {
			s.room.opening++
			s.mu.Unlock()
			return leave, nil
		}
		s.mu.Unlock()
		if s.closeOne(ctx, time.Now()) {
			continue
		}
		s.mu.Lock()
		if s.room.freed == nil {
			s.room.freed = make(chan struct{})
		}
		freed := s.room.freed
		s.mu.Unlock()
		select {
		case <-freed:
		case <-time.After(roomWithin / 20): // it may have been freed before it was waited for
		case <-late.C:
			over = true
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// full reports whether another collection would exceed a limit. The caller holds Set.mu.
func (s *Set) full() bool {
	n, bytes := s.room.opening, int64(s.room.opening+1)*eachMiB<<20
	for _, c := range s.all {
		if c.joined != nil {
			n++
			bytes += c.bytes
		}
	}
	return n > 0 && (n >= s.room.most || bytes > s.room.bytes)
}

// closeOne closes the least recently used collection that was not used after before, if there is one.
func (s *Set) closeOne(ctx context.Context, before time.Time) bool {
	for {
		var c *collection
		s.mu.Lock()
		for _, o := range s.all {
			if o.joined != nil && o.users == 0 && len(o.slot) == 0 && o.used.Before(before) && (c == nil || o.used.Before(c.used)) {
				c = o
			}
		}
		if c != nil {
			before = c.used // should it not do, the next one is as old at least
		}
		s.mu.Unlock()
		if c == nil {
			return false
		}
		if c.retire(ctx) {
			return true
		}
	}
}

// retire closes an unused collection, and reports whether it did.
func (c *collection) retire(ctx context.Context) bool {
	s := c.set
	select {
	case c.slot <- struct{}{}:
	default:
		return false
	}
	defer c.done()
	s.mu.Lock()
	j, own := c.joined, c.own
	s.mu.Unlock()
	if j == nil {
		return false
	}
	if own != nil && errors.Is(own.Writable(ctx), engine.ErrNoSpace) { // it could not be closed, and would answer nobody
		return false
	}
	s.mu.Lock()
	idle := c.users == 0
	if idle {
		c.joined = nil
	}
	s.mu.Unlock()
	if !idle {
		return false
	}
	err := c.end(j)
	if err != nil && s.o.Engine.Logger != nil {
		s.o.Engine.Logger.Warn("an idle collection could not be closed", "collection", c.name, "error", err)
	}
	return err == nil
}

// closeIdle closes the collections that have been idle for that long and have no background work, and returns their
// number.
func (s *Set) closeIdle(ctx context.Context, idle time.Duration) (n int) {
	before := time.Now().Add(-idle)
	s.mu.Lock()
	var all []*collection
	for _, c := range s.all {
		if c.joined != nil && c.users == 0 && c.used.Before(before) {
			all = append(all, c)
		}
	}
	s.mu.Unlock()
	for _, c := range all {
		if !c.measure(ctx) && c.retire(ctx) {
			n++
		}
	}
	return n
}

// measure records the memory of a collection, and reports whether it works in the
// background.
func (c *collection) measure(ctx context.Context) (works bool) {
	db, leave, err := c.peek(ctx)
	if err != nil {
		return false
	}
	defer leave()
	st, err := db.Stats(ctx)
	if err != nil {
		return false
	}
	bytes := int64(eachMiB) << 20
	for _, n := range st.Memory.Parts() {
		bytes += n
	}
	c.set.mu.Lock()
	defer c.set.mu.Unlock()
	if c.own == nil { // it is the memory of another process
		bytes, st.Maintenance.Task = 0, ""
	}
	c.bytes = bytes
	return st.Maintenance.Task != ""
}

// tend closes idle collections until Close is called.
func (s *Set) tend() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.o.Idle < 0 || s.stop != nil || s.ended {
		return
	}
	stop := make(chan struct{})
	s.stop = stop
	go func() {
		ctx, cancel := context.WithCancel(context.Background())
		defer cancel()
		tick := time.NewTicker(max(s.o.Idle/4, time.Millisecond))
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				if s.closeIdle(ctx, s.o.Idle) > 0 {
					debug.FreeOSMemory() // buffers of some megabytes each, which the heap would keep
				}
			case <-stop:
				return
			}
		}
	}()
}
