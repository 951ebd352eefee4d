package share

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"sync"
	"time"

	"github.com/lexsem/lexsem/engine"
)

// Errors of this package, to be tested with errors.Is.
var (
	// ErrNoHolder means that no process shares the database.
	ErrNoHolder = errors.New("no process shares this database")
	// ErrLost is wrapped by *LostError.
	ErrLost = errors.New("the process that has the database open has ended")
)

// LostError reports that the server process ended, or could not be reached, before it answered a call.
type LostError struct {
	Dir    string
	Holder Holder // the last that answered
	// Begun says that the server process had received the call; whether the call was done is then unknown.
	// If Begun is false, the call was not done.
	Begun bool
	Err   error // the cause, if there is one

	streamed bool // a part of a stream has come or gone: the call cannot be repeated
}

// Error names the holder and the remedy.
func (e *LostError) Error() string {
	s := fmt.Sprintf("database %s: %v, %v", e.Dir, e.Holder, ErrLost)
	if e.Begun {
		s += " during the call; the call may have been done"
	}
	return s + "; open the database again"
}

// Unwrap lets errors.Is(err, ErrLost) and tests of the cause hold.
func (e *LostError) Unwrap() []error {
	if e.Err == nil {
		return []error{ErrLost}
	}
	return []error{ErrLost, e.Err}
}

const (
	answerWithin  = 5 * time.Second // for the greeting of the holder
	outcomeWithin = 5 * time.Second // for the outcome of a write that was cancelled
)

// client makes the calls of a Joined in the server process. Concurrent calls use one connection each. If the
// server process stops answering, a call returns a *LostError. Metadata that cannot be stored are refused
// before anything is sent. One call may send or return at most 1 GiB; streams (All, Export, Import, BackupTo)
// have no limit.
type client struct {
	dir      string
	progress func(engine.Progress) // receives the reports of calls without a listener of their own; may be nil
	hearing  sync.Mutex            // held while progress runs

	mu     sync.Mutex
	closed bool
	conns  map[*wire]bool
	holder Holder
}

// reach connects to the process that shares the database in dir, with the errors of Open.
func reach(ctx context.Context, dir string, progress func(engine.Progress)) (*client, error) {
	c := &client{dir: dir, progress: progress, conns: map[*wire]bool{}}
	w, err := c.dial(ctx)
	if err != nil {
		return nil, err
	}
	c.drop(w)
	return c, nil
}

// lastHolder is the process that answered last.
func (c *client) lastHolder() Holder {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.holder
}

// close cancels running calls: these and all later calls return engine.ErrClosed.
func (c *client) close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closed = true
	for w := range c.conns {
		_ = w.Conn.Close()
	}
}

func (c *client) isClosed() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.closed
}

// dial connects and exchanges greetings.
func (c *client) dial(ctx context.Context) (_ *wire, err error) {
	if c.isClosed() {
		return nil, engine.ErrClosed
	}
	conn, err := connect(ctx, c.dir)
	if err != nil {
		return nil, err
	}
	w := &wire{Conn: conn}
	c.mu.Lock()
	if c.closed {
		c.mu.Unlock()
		return nil, errors.Join(engine.ErrClosed, conn.Close())
	}
	c.conns[w] = true
	c.mu.Unlock()
	stop := context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Unix(1, 0)) })
	err = within(conn, answerWithin)
	var g greeting
	if err == nil {
		wrote := writeGreeting(conn, nil)
		if g, err = readGreeting(conn); wrote != nil && errors.Is(err, io.EOF) { // it says who it is first
			err = wrote
		}
	}
	stop()
	switch {
	case err == nil && g.Holder == nil:
		err = errProtocol
	case errors.Is(err, errOther):
		e := &ProtocolError{Dir: c.dir}
		if g.Holder != nil {
			e.Holder = *g.Holder
		}
		err = e
	case err != nil && ctx.Err() != nil:
		err = ctx.Err()
	case err != nil && c.isClosed():
		err = engine.ErrClosed
	case errors.Is(err, io.EOF), errors.Is(err, net.ErrClosed), isReset(err): // it ends
		err = fmt.Errorf("database %s: %w", c.dir, ErrNoHolder)
	case errors.Is(err, os.ErrDeadlineExceeded):
		err = fmt.Errorf("database %s: the process that has it open does not answer", c.dir)
	case err != nil:
		err = fmt.Errorf("database %s: the process that has it open: %w", c.dir, err)
	}
	if err == nil {
		err = within(conn, 0)
	}
	if err != nil {
		c.drop(w)
		return nil, err
	}
	c.mu.Lock()
	c.holder = *g.Holder
	c.mu.Unlock()
	return w, nil
}

func (c *client) drop(w *wire) {
	c.mu.Lock()
	delete(c.conns, w)
	c.mu.Unlock()
	_ = w.Conn.Close() // what it said is read, or of no use
}

// asked describes how a call is made.
type asked struct {
	writes   bool                   // when the context ends, what became of it is waited for
	progress func(engine.Progress)  // of Verify and Fit; may be nil
	item     func(raw []byte) error // of All
	out      io.Writer              // of Export and BackupTo
	in       io.Reader              // of Import
}

// ask makes a call. An error of the holder may come with a value.
func ask[R any](ctx context.Context, c *client, name string, args any, how asked) (value R, err error) {
	if err := ctx.Err(); err != nil {
		return value, err
	}
	raw, err := encoding.Marshal(args)
	if err != nil {
		return value, fmt.Errorf("%w: %v", engine.ErrInvalid, err)
	}
	if len(raw) > maxMessage {
		return value, fmt.Errorf("%w: %w", engine.ErrInvalid, errTooLong)
	}
	w, err := c.dial(ctx)
	if errors.Is(err, ErrNoHolder) {
		return value, c.lost(false, false, err)
	}
	if err != nil {
		return value, err
	}
	defer c.drop(w)
	defer context.AfterFunc(ctx, func() {
		if !how.writes {
			_ = w.SetDeadline(time.Unix(1, 0))
			return
		}
		_ = within(w, outcomeWithin)
		_ = w.send(kindCancel, nil) // else the end of the connection tells
	})()
	begun, streamed := false, false // streamed: some of a stream has gone one way or the other
	var unread error                // why the caller's stream could not be read
	defer func() {
		if err != nil && unread != nil {
			err = unread
		}
	}()
	failed := func(err error) (R, error) {
		var zero R
		switch {
		case c.isClosed():
			return zero, engine.ErrClosed
		case ctx.Err() != nil && how.writes && begun:
			return zero, fmt.Errorf("%w; %w", ctx.Err(), c.lost(true, streamed, err))
		case ctx.Err() != nil:
			return zero, ctx.Err()
		case errors.Is(err, errProtocol), errors.Is(err, errTooLong):
			return zero, fmt.Errorf("database %s: the process that has it open: %w", c.dir, err)
		}
		return zero, c.lost(begun, streamed, err)
	}
	if err := w.send(kindMethod, []byte(name)); err != nil {
		return failed(err)
	}
	if err := w.send(kindArgs, raw); err != nil {
		return failed(err)
	}
	begun = true
	for {
		k, payload, err := receive(w, maxMessage, nil)
		if err != nil {
			return failed(err)
		}
		switch {
		case k == kindReply:
			return replied[R](ctx, payload)
		case k == kindGone:
			begun = streamed
			return failed(nil)
		case k == kindProgress:
			p, err := decode[engine.Progress](payload)
			if err != nil {
				return failed(err)
			}
			c.hear(p, how.progress)
		case k == kindItem && how.item != nil:
			streamed = true
			if err := how.item(payload); err != nil {
				return value, err
			}
		case k == kindData && how.out != nil:
			streamed = true
			if n, err := how.out.Write(payload); err != nil {
				return value, err
			} else if n < len(payload) {
				return value, io.ErrShortWrite
			}
		case k == kindWant && how.in != nil:
			streamed = true
			broken, err := give(w, payload, how.in)
			if broken != nil {
				unread = broken
			}
			if err != nil {
				return failed(err)
			}
		default:
			return failed(errProtocol)
		}
	}
}

// hear passes a report to the listener of a call, or of the client.
func (c *client) hear(p engine.Progress, own func(engine.Progress)) {
	switch {
	case own != nil:
		own(p)
	case c.progress != nil:
		c.hearing.Lock()
		defer c.hearing.Unlock()
		c.progress(p)
	}
}

// give answers a kindWant. unread is the error from reading in.
func give(w *wire, payload []byte, in io.Reader) (unread, err error) {
	n, err := readWanted(payload)
	if err != nil {
		return nil, err
	}
	buf := make([]byte, n)
	n, unread = in.Read(buf)
	if errors.Is(unread, io.EOF) {
		unread = nil
		if n == 0 {
			return nil, w.send(kindEnd, nil)
		}
	}
	if n > 0 {
		return unread, w.send(kindData, buf[:n])
	}
	return unread, w.send(kindAbort, nil)
}

// replied reads the end of a call. If the context of a call ends, the call returns the error of the context.
func replied[R any](ctx context.Context, payload []byte) (value R, err error) {
	r, err := decode[reply](payload)
	if err != nil {
		return value, err
	}
	failed := r.Fault.error()
	if string(r.Value) != string(null) {
		if value, err = decode[R](r.Value); err != nil {
			return value, err
		}
	}
	if failed != nil && ctx.Err() != nil && errors.Is(failed, context.Canceled) {
		failed = ctx.Err()
	}
	return value, failed
}

func (c *client) lost(begun, streamed bool, err error) error {
	return &LostError{Dir: c.dir, Holder: c.lastHolder(), Begun: begun, Err: err, streamed: streamed}
}
