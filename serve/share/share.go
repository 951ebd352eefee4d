package share

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/fxamacker/cbor/v2"

	"github.com/lexsem/lexsem/engine"
	"github.com/lexsem/lexsem/internal/progress"
)

// Options configure how Join shares a database. The zero value selects the default of every field.
type Options struct {
	// Command names the running command for other processes, as Holder.Command: "lexsem index". "" means
	// the name of the program.
	Command string
	// Model is the name of the encoder of the database, or "" for none.
	Model string
	// Drain is how long Close waits for running calls before it cancels them; 0 means 10 s, below 0 means
	// no wait.
	Drain time.Duration
	// Logger receives refused peers; nil means no log.
	Logger *slog.Logger
}

const (
	defaultDrain = 10 * time.Second
	endWithin    = 200 * time.Millisecond // for a peer that has not asked when the sharing ends
	maxPeers     = 512                    // connections at a time; more wait
	maxName      = 64                     // bytes of the name of a call
)

// Time limits for peers; tests shorten them.
var (
	greetWithin = 5 * time.Second  // for their greeting
	frameWithin = 10 * time.Second // for each frame of a call
)

// shared is a database that other processes can call.
type shared struct {
	db     engine.Database
	path   string
	o      Options
	holder Holder
	ln     *net.UnixListener
	made   fs.FileInfo // the socket as it was made

	greet, frame time.Duration // greetWithin and frameWithin

	root   context.Context // ends when calls are cancelled
	cancel context.CancelFunc

	mu      sync.Mutex
	closing bool
	conns   map[*wire]bool // true while a call runs
	running sync.WaitGroup // calls
	served  sync.WaitGroup // connections, and the goroutine that accepts them
	once    sync.Once
	err     error // of Close
}

// share lets other processes of this user call db by Open and Join. This process must have db open for
// writing in dir. share makes a socket in that folder with the permissions of the folder. It replaces
// the socket of a killed process; any other file of that name is an error. Call Close before closing
// the database. Calls of other processes run concurrently with those of this process, each in its own
// goroutine and connection, at most 512 at a time.
func share(db engine.Database, dir string, o Options) (*shared, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	o.Drain = cmp.Or(o.Drain, defaultDrain)
	ln, made, err := listen(dir)
	if err != nil {
		return nil, fmt.Errorf("database %s cannot be shared with other processes: %w", dir, err)
	}
	s := &shared{db: db, path: filepath.Join(dir, socketName), o: o, holder: self(o.Command, o.Model), ln: ln, made: made, greet: greetWithin, frame: frameWithin, conns: map[*wire]bool{}}
	s.root, s.cancel = context.WithCancel(context.Background())
	s.served.Add(1)
	go s.accept()
	return s, nil
}

// Close ends the sharing: it accepts no new calls, waits for running calls as Options.Drain says, and
// removes the socket. Callers that used Join continue by opening the database themselves. A second
// Close waits for the first.
func (s *shared) Close() error {
	s.once.Do(func() { s.err = s.close() })
	return s.err
}

func (s *shared) close() error {
	var err error
	if now, e := os.Lstat(s.path); e == nil && os.SameFile(now, s.made) {
		err = removeIfThere(s.path)
	}
	s.mu.Lock()
	s.closing = true
	for w, runs := range s.conns {
		if !runs { // it may be about to ask
			_ = within(w, endWithin)
		}
	}
	s.mu.Unlock()
	err = errors.Join(err, s.ln.Close())
	done := make(chan struct{})
	go func() {
		s.running.Wait()
		close(done)
	}()
	select {
	case <-done:
	case <-time.After(max(0, s.o.Drain)):
	}
	s.cancel()
	select { // they say that they were not done
	case <-done:
	case <-time.After(s.greet):
	}
	s.mu.Lock()
	for w, runs := range s.conns {
		if runs {
			_ = w.Conn.Close() // whoever does not read
		}
	}
	s.mu.Unlock()
	s.served.Wait()
	return err
}

func (s *shared) warn(msg string, err error) {
	if s.o.Logger != nil {
		s.o.Logger.Warn(msg, "error", err)
	}
}

func (s *shared) accept() {
	defer s.served.Done()
	room := make(chan struct{}, maxPeers)
	pause := time.Millisecond
	for {
		select {
		case room <- struct{}{}:
		case <-s.root.Done():
			return
		}
		conn, err := s.ln.AcceptUnix()
		switch {
		case errors.Is(err, net.ErrClosed):
			return
		case err != nil: // such as too many open files
			<-room
			s.warn("cannot accept a process", err)
			select {
			case <-time.After(pause):
			case <-s.root.Done():
				return
			}
			pause = min(2*pause, time.Second)
			continue
		}
		pause = time.Millisecond
		w := &wire{Conn: conn}
		s.mu.Lock()
		if s.closing {
			s.mu.Unlock()
			_ = conn.Close()
			return
		}
		s.conns[w] = false
		s.served.Add(1)
		s.mu.Unlock()
		go func() {
			defer s.served.Done()
			defer func() { <-room }()
			err := allowed(conn)
			if err == nil {
				err = s.serve(w)
			}
			if err != nil && !errors.Is(err, net.ErrClosed) {
				s.warn("a calling process was refused", err)
			}
			s.mu.Lock()
			delete(s.conns, w)
			s.mu.Unlock()
			_ = conn.Close()
		}()
	}
}

// serve answers the one call of a connection. Its error is for a connection without a valid call.
func (s *shared) serve(w *wire) error {
	conn := w.Conn
	if err := within(conn, s.greet); err != nil {
		return err
	}
	switch _, err := readGreeting(conn); {
	case errors.Is(err, errOther): // it is told whom it has met
		return errors.Join(err, writeGreeting(conn, &s.holder))
	case errors.Is(err, io.EOF):
		return nil
	case err != nil:
		return err
	}
	if err := writeGreeting(conn, &s.holder); err != nil {
		return err
	}
	slow := func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		d := s.frame
		if s.closing {
			d = endWithin
		}
		_ = within(conn, d)
	}
	k, name, err := receive(conn, maxName, slow)
	if errors.Is(err, io.EOF) { // whoever wanted to know who holds
		return nil
	}
	if err != nil {
		return s.refuse(w, err)
	}
	c, known := calls[string(name)]
	if k != kindMethod || !known {
		return errProtocol
	}
	k, args, err := receive(conn, maxMessage, slow)
	if errors.Is(err, errTooLong) {
		return s.reply(w, nil, fmt.Errorf("%w: %w", engine.ErrInvalid, err))
	}
	if err == nil && k != kindArgs {
		err = errProtocol
	}
	if err != nil {
		return s.refuse(w, err)
	}
	s.mu.Lock()
	closing := s.closing
	if !closing {
		s.conns[w] = true
		s.running.Add(1)
	}
	s.mu.Unlock()
	if closing {
		return w.send(kindGone, nil)
	}
	defer s.running.Done()
	if err := within(conn, 0); err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(s.root)
	defer cancel()
	ss := newSession(w)
	go ss.listen(cancel)
	hear := func(stage string, done, total int) {
		ss.report(engine.Progress{Stage: stage, Done: done, Total: total})
	}
	value, err := c.answer(progress.With(ctx, hear), s.db, args, ss)
	ss.reported()
	if err != nil && s.root.Err() != nil && (errors.Is(err, context.Canceled) || errors.Is(err, engine.ErrClosed)) {
		_ = w.send(kindGone, nil) // a peer that does not hear it sees the end
		return nil
	}
	_ = s.reply(w, value, err)
	return nil
}

// refuse tells a peer whose call did not arrive completely that it was not begun, since the peer may
// have had no time to send it.
func (s *shared) refuse(w *wire, err error) error {
	if within(w, endWithin) == nil {
		_ = w.send(kindGone, nil)
	}
	return err
}

// reply ends a call.
type reply struct {
	Value cbor.RawMessage
	Fault *fault
}

func (s *shared) reply(w *wire, value any, failed error) error {
	raw, err := encoding.Marshal(value)
	if err != nil {
		raw, failed = null, errors.Join(failed, err)
	}
	out, err := encoding.Marshal(reply{raw, faultOf(failed)})
	if err == nil {
		err = w.send(kindReply, out)
	}
	if errors.Is(err, errTooLong) {
		if out, err = encoding.Marshal(reply{null, faultOf(fmt.Errorf("%w: %w", engine.ErrInvalid, err))}); err == nil {
			err = w.send(kindReply, out)
		}
	}
	return err
}

// null is the null of CBOR.
var null = cbor.RawMessage{0xf6}
