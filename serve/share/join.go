package share

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"time"

	"github.com/lexsem/lexsem/engine"
)

// JoinOptions configure Join. The zero value selects the default of every field.
type JoinOptions struct {
	Options
	// Wait is how long Join waits for a database that is locked and not shared, because its process may be
	// starting or ending. 0 means 1 s; below 0 means no wait.
	Wait time.Duration
	// Accept, if not nil, checks the server process before its answers are used. Join returns the error of
	// Accept unless that process ends within Wait.
	Accept func(context.Context, *Client) error
	// Progress, if not nil, receives the progress of long work that the server process does for this
	// process, as engine.Options.Progress does for local work. It is called from one goroutine at a time,
	// at most 20 times a second with the newest report.
	Progress func(engine.Progress)
	// Warn, if not nil, is called if the database could not be shared.
	Warn func(error)
}

const (
	defaultWait = time.Second
	joinPause   = 20 * time.Millisecond // between two attempts
	followFor   = time.Minute           // for a holder that ends: it may have much to save
)

// Opened is a database that this process has opened for Join.
type Opened struct {
	engine.Database
	// Model is the name of the encoder of the database, or "" for none.
	Model string
	// Alone says not to share the database. Set it for a database that is open for reading: other
	// processes can open it as well.
	Alone bool
}

// Joined is a database that this process or another process has open; see Join. Its methods are safe
// for concurrent use.
type Joined struct {
	dir  string
	o    JoinOptions
	open func(context.Context) (Opened, error)

	turn chan struct{} // held by who opens anew

	mu     sync.Mutex
	db     engine.Database // of which one is not nil below, or what open returned
	client *Client
	share  *Shared
	closed bool
}

var _ engine.Database = (*Joined)(nil)

// Join opens the database in dir with open and shares it, or connects to the process that already
// shares it. If that process ends, the next call opens the database or connects to the next process. A
// call that was interrupted is repeated if it changes nothing or may be done twice. The others return a
// *LostError: Add, Delete, DeleteWhere, Patch, Compact, Backup, and streams that were partly read or
// written.
//
// open must return engine.ErrLocked if another process has the database open. Join may call it again
// for as long as the database is in use. Errors: those of open and of JoinOptions.Accept, and
// engine.ErrLocked if the server process does not answer.
func Join(ctx context.Context, dir string, open func(context.Context) (Opened, error), o JoinOptions) (*Joined, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	if o.Wait == 0 {
		o.Wait = defaultWait
	}
	j := &Joined{dir: dir, o: o, open: open, turn: make(chan struct{}, 1)}
	if err := j.begin(ctx, o.Wait); err != nil {
		return nil, err
	}
	return j, nil
}

// begin opens the database or finds its holder, within the time given where neither is
// possible at once.
func (j *Joined) begin(ctx context.Context, wait time.Duration) error {
	for until := time.Now().Add(wait); ; {
		err := j.attempt(ctx)
		again := (errors.Is(err, engine.ErrLocked) || isUnfit(err)) && time.Now().Before(until)
		if again && ctx.Err() != nil { // the context ended while it was asked
			return ctx.Err()
		}
		if !again {
			var u *unfitError
			if errors.As(err, &u) {
				err = u.error
			}
			return err
		}
		select {
		case <-time.After(joinPause):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// unfitError is what JoinOptions.Accept said of a holder.
type unfitError struct{ error }

func isUnfit(err error) bool {
	var u *unfitError
	return errors.As(err, &u)
}

// attempt asks the socket, and opens the database where nobody answers.
func (j *Joined) attempt(ctx context.Context) error {
	c, err := Open(ctx, j.dir)
	if err == nil {
		return j.take(ctx, c)
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	var other *ProtocolError
	if errors.As(err, &other) {
		return err
	}
	asked := err
	opened, err := j.open(ctx)
	if errors.Is(err, engine.ErrLocked) {
		if errors.Is(asked, ErrNoHolder) {
			return err
		}
		return fmt.Errorf("%w (%w)", err, asked)
	}
	if err != nil {
		return err
	}
	var share *Shared
	if !opened.Alone {
		o := j.o.Options
		o.Model = opened.Model
		if share, err = Share(opened.Database, j.dir, o); err != nil && j.o.Warn != nil {
			j.o.Warn(err)
		}
	}
	return j.set(opened.Database, nil, share)
}

// take uses a holder.
func (j *Joined) take(ctx context.Context, c *Client) error {
	c.progress = j.o.Progress
	if j.o.Accept != nil {
		err := j.o.Accept(ctx, c)
		if errors.Is(err, ErrLost) { // it has ended: another attempt finds out
			return errors.Join(fmt.Errorf("%w: %w", engine.ErrLocked, err), c.Close())
		}
		if err != nil {
			return &unfitError{errors.Join(err, c.Close())}
		}
	}
	return j.set(c, c, nil)
}

// set has one database take the place of another.
func (j *Joined) set(db engine.Database, c *Client, s *Shared) error {
	j.mu.Lock()
	old, closed := j.client, j.closed
	if !closed {
		j.db, j.client, j.share = db, c, s
	}
	j.mu.Unlock()
	switch {
	case closed:
		return errors.Join(engine.ErrClosed, end(s, db))
	case old != nil:
		return old.Close()
	}
	return nil
}

// end closes a database and, before it, its sharing.
func end(s *Shared, db engine.Database) error {
	var err error
	if s != nil {
		err = s.Close()
	}
	if db != nil {
		err = errors.Join(err, db.Close())
	}
	return err
}

// Holder is the other process that has the database open; ok is false where this one
// has.
func (j *Joined) Holder() (h Holder, ok bool) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.client == nil {
		return h, false
	}
	return j.client.Holder(), true
}

// Close ends the sharing and closes the database if this process opened it.
func (j *Joined) Close() error {
	j.mu.Lock()
	db, s, closed := j.db, j.share, j.closed
	j.closed = true
	j.mu.Unlock()
	if closed {
		return nil
	}
	return end(s, db)
}

func (j *Joined) now() (engine.Database, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.closed {
		return nil, engine.ErrClosed
	}
	return j.db, nil
}

// follow opens the database, or finds its next holder, when the one that was used has
// ended. Of several callers one does it.
func (j *Joined) follow(ctx context.Context, gone engine.Database) error {
	select {
	case j.turn <- struct{}{}:
		defer func() { <-j.turn }()
	case <-ctx.Done():
		return ctx.Err()
	}
	if db, err := j.now(); err != nil || db != gone {
		return err
	}
	return j.begin(ctx, followFor)
}

// tried makes a call, and again with the next holder if the one before has ended:
// if it had begun the call, only where that may be made twice.
func tried[R any](ctx context.Context, j *Joined, twice bool, do func(engine.Database) (R, error)) (R, error) {
	for {
		db, err := j.now()
		if err != nil {
			var zero R
			return zero, err
		}
		r, err := do(db)
		var lost *LostError
		if !errors.As(err, &lost) || lost.Begun && !twice || ctx.Err() != nil {
			return r, err
		}
		if next := j.follow(ctx, db); next != nil {
			return r, errors.Join(err, next)
		}
	}
}
