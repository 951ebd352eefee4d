package httpapi

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"time"
)

// Bounds of connections.
const (
	headTime    = 10 * time.Second // for the head of a request
	bodyTime    = 30 * time.Second // for what no handler reads; handlers set their own
	idleTime    = 2 * time.Minute  // between two requests
	headBytes   = 64 << 10
	connections = 4096 // open at a time; more wait until they are accepted
)

// cutTime is the time in which cut-off requests must end.
const cutTime = 5 * time.Second

// ErrRunning is returned by Serve if requests are still running that ignore their context.
var ErrRunning = errors.New("requests are running that cannot be stopped")

// Serve answers requests from l until ctx is done, and closes l. Then it drains: it accepts no new
// connections, NDJSON requests end after their current batch, and running requests get
// Options.DrainTime. Requests that run longer are cut off, and Serve returns an error. When Serve
// returns, no request is running, and the caller may close the database. The exception is ErrRunning,
// which Serve returns five seconds after the cut: then some requests are still running, and Close of
// the database would wait for them. Acknowledged writes are on disk, so the process may exit without
// closing.
func (s *Server) Serve(ctx context.Context, l net.Listener) error { return s.serve(ctx, l, cutTime) }

// serve is Serve with the given time for cut-off requests to end.
func (s *Server) serve(ctx context.Context, l net.Listener, patience time.Duration) error {
	base, cut := context.WithCancel(context.WithoutCancel(ctx))
	defer cut()
	most := newBounded(l, connections)
	srv := &http.Server{
		Handler: s, ReadHeaderTimeout: headTime, ReadTimeout: bodyTime, IdleTimeout: idleTime, MaxHeaderBytes: headBytes,
		ConnState:   most.ended,
		BaseContext: func(net.Listener) context.Context { return base },
		ErrorLog:    slog.NewLogLogger(s.o.Logger.Handler(), slog.LevelDebug), // what single connections do wrong
	}
	ended := make(chan error, 1)
	go func() { ended <- srv.Serve(most) }()
	select {
	case err := <-ended:
		s.Drain()
		return fmt.Errorf("serving %s: %w", l.Addr(), err)
	case <-ctx.Done():
	}
	s.Drain()
	waited, cancel := context.WithTimeout(context.Background(), s.o.DrainTime)
	defer cancel()
	err := srv.Shutdown(waited)
	if errors.Is(err, context.DeadlineExceeded) {
		cut()
		err = fmt.Errorf("requests were still running %s after the server was told to stop, and were cut off: %w", s.o.DrainTime, errors.Join(context.DeadlineExceeded, srv.Close()))
	}
	<-ended
	gone := make(chan struct{})
	go func() {
		s.running.Wait()
		close(gone)
	}()
	select {
	case <-gone:
		return err
	case <-time.After(patience):
		return errors.Join(err, fmt.Errorf("%w; they were cut off %v ago", ErrRunning, patience))
	}
}
