package share

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/lexsem/lexsem/engine"
	faults "github.com/lexsem/lexsem/internal/fault"
	"github.com/lexsem/lexsem/store"
)

// JoinOptions configure Join. The zero value selects the default of every field.
type JoinOptions struct {
	Options
	// Wait is how long Join waits for a database that is locked and not shared, because its process may be
	// starting or ending. 0 means 1 s, or until 10 s after that process has opened the database, since it may be opening a model;
	// below 0 means no wait.
	Wait time.Duration
	// Accept, if not nil, checks the server process before its answers are used. Join returns the error of
	// Accept unless that process ends within Wait. The Joined that it gets makes its calls in that process,
	// and must not be used after Accept has returned.
	Accept func(context.Context, *Joined) error
	// Progress, if not nil, receives the progress of long work that the server process does for this
	// process, as engine.Options.Progress does for local work. It is called from one goroutine at a time,
	// at most 20 times a second with the newest report.
	Progress func(engine.Progress)
	// Warn, if not nil, is called if the database could not be shared.
	Warn func(error)
}

const (
	defaultWait = time.Second
	starting    = 10 * time.Second      // from opening a database to sharing it, at most
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

// Joined is a database that this process or another process has open; see Join and Open. It is an
// engine.Database: calls return the same results and errors in both cases, and end with their context in the
// same way. All methods are safe for concurrent use.
type Joined struct {
	dir  string
	o    JoinOptions
	open func(context.Context) (Opened, error) // nil: a server process that has ended is not followed

	turn chan struct{} // held by who opens anew

	mu     sync.Mutex
	at     *place
	closed bool
}

// place is the process in which the calls of a Joined are made.
type place struct {
	db     engine.Database // nil if another process has the database open
	share  *shared         // of db; nil if it is not shared
	client *client         // nil if this process has the database open
}

// end closes the sharing and then the database, if the place has them open.
func (p *place) end() error {
	var err error
	if p.client != nil {
		p.client.close()
	}
	if p.share != nil {
		err = p.share.Close()
	}
	if p.db != nil {
		err = errors.Join(err, p.db.Close())
	}
	return err
}

var _ engine.Database = (*Joined)(nil)

// Join opens the database in dir with open and shares it, or connects to the process that already
// shares it. If that process ends, the next call opens the database or connects to the next process. A
// call that was interrupted is repeated if it changes nothing or may be done twice. The others return a
// *LostError: Add, Delete, DeleteWhere, Patch, Backup, and streams that were partly read or written.
//
// open must return engine.ErrLocked if another process has the database open. Join may call it again
// for as long as the database is in use. Errors: those of open and of JoinOptions.Accept, and
// engine.ErrLocked if the server process does not answer.
func Join(ctx context.Context, dir string, open func(context.Context) (Opened, error), o JoinOptions) (*Joined, error) {
	dir, err := faults.Folder(dir)
	if err != nil {
		return nil, err
	}
	start := starting
	if o.Wait != 0 {
		start = 0
	}
	o.Wait = cmp.Or(o.Wait, defaultWait)
	j := &Joined{dir: dir, o: o, open: open, turn: make(chan struct{}, 1)}
	if err := j.begin(ctx, o.Wait, start); err != nil {
		return nil, err
	}
	return j, nil
}

// Open connects to the process that shares the database in dir. It returns ErrNoHolder if no process
// shares the database, a *ProtocolError if that process runs another version of the program, and
// another error if the process does not answer within 5 s, belongs to another user, or cannot be
// reached. When that process has ended, all calls return a *LostError. Cost: one connection.
func Open(ctx context.Context, dir string) (*Joined, error) {
	dir, err := faults.Folder(dir)
	if err != nil {
		return nil, err
	}
	c, err := reach(ctx, dir, nil)
	if err != nil {
		return nil, err
	}
	return &Joined{dir: dir, at: &place{client: c}}, nil
}

// begin opens the database or finds its holder; it retries for the given time, and until a process that has locked it had the time
// to start.
func (j *Joined) begin(ctx context.Context, wait, start time.Duration) error {
	for until := time.Now().Add(wait); ; {
		err := j.attempt(ctx)
		var held *store.LockedError
		again := (errors.Is(err, engine.ErrLocked) || isUnfit(err)) && (time.Now().Before(until) || errors.As(err, &held) && time.Since(held.Since) < start)
		if again && ctx.Err() != nil { // the context ended while it was asked
			return ctx.Err()
		}
		if !again {
			if u, ok := errors.AsType[*unfitError](err); ok {
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

// unfitError is the error of JoinOptions.Accept about a holder.
type unfitError struct{ error }

func isUnfit(err error) bool {
	var u *unfitError
	return errors.As(err, &u)
}

// attempt connects to the socket, and opens the database if nobody answers.
func (j *Joined) attempt(ctx context.Context) error {
	c, err := reach(ctx, j.dir, j.o.Progress)
	if err == nil {
		return j.take(ctx, c)
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if _, ok := errors.AsType[*ProtocolError](err); ok {
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
	p := &place{db: opened.Database}
	if !opened.Alone {
		o := j.o.Options
		o.Model = opened.Model
		if p.share, err = share(opened.Database, j.dir, o); err != nil && j.o.Warn != nil {
			j.o.Warn(err)
		}
	}
	return j.set(p)
}

// take uses this client's server process.
func (j *Joined) take(ctx context.Context, c *client) error {
	p := &place{client: c}
	if j.o.Accept != nil {
		err := j.o.Accept(ctx, &Joined{dir: j.dir, at: p})
		if err != nil {
			c.close()
		}
		if errors.Is(err, ErrLost) { // it has ended: another attempt finds out
			return fmt.Errorf("%w: %w", engine.ErrLocked, err)
		}
		if err != nil {
			return &unfitError{err}
		}
	}
	return j.set(p)
}

// set replaces the place of j by p.
func (j *Joined) set(p *place) error {
	j.mu.Lock()
	old, closed := j.at, j.closed
	if !closed {
		j.at = p
	}
	j.mu.Unlock()
	switch {
	case closed:
		return errors.Join(engine.ErrClosed, p.end())
	case old != nil && old.client != nil:
		old.client.close()
	}
	return nil
}

// Holder returns the other process that has the database open, as of its last answer. ok is false if this
// process has it open.
func (j *Joined) Holder() (h Holder, ok bool) {
	j.mu.Lock()
	p := j.at
	j.mu.Unlock()
	if p.client == nil {
		return h, false
	}
	return p.client.lastHolder(), true
}

// Close ends the sharing and closes the database if this process opened it. Otherwise it cancels running
// calls, and the database stays open in the other process. All later calls return engine.ErrClosed.
func (j *Joined) Close() error {
	j.mu.Lock()
	p, closed := j.at, j.closed
	j.closed = true
	j.mu.Unlock()
	if closed {
		return nil
	}
	return p.end()
}

// now returns where calls are made.
func (j *Joined) now() (*place, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.closed {
		return nil, engine.ErrClosed
	}
	return j.at, nil
}

// follow opens the database, or finds its next holder, after the last holder has ended. Of several
// concurrent callers one does it.
func (j *Joined) follow(ctx context.Context, gone *place) error {
	select {
	case j.turn <- struct{}{}:
		defer func() { <-j.turn }()
	case <-ctx.Done():
		return ctx.Err()
	}
	if p, err := j.now(); err != nil || p != gone {
		return err
	}
	return j.begin(ctx, followFor, 0)
}
