package share

import (
	"context"
	"errors"
	"io"
	"sync"
	"time"

	"github.com/lexsem/lexsem/engine"
)

// reportEvery is the minimum time between two transferred reports of progress.
const reportEvery = 50 * time.Millisecond

// session is one call, as the holder sees it.
type session struct {
	w    *wire
	in   chan part // what the caller streams, a part at a time, as it is asked for
	once sync.Once // starts reporting

	mu      sync.Mutex
	last    *engine.Progress // to be sent
	wake    chan struct{}
	stop    chan struct{}
	stopped chan struct{} // closed when reporting has ended
}

// part is an answer to kindWant.
type part struct {
	kind kind
	data []byte
}

func newSession(w *wire) *session {
	return &session{w: w, in: make(chan part, 1), wake: make(chan struct{}, 1), stop: make(chan struct{}), stopped: make(chan struct{})}
}

// listen receives messages of the caller while the call runs. When the connection ends,
// the caller is gone, and the call is cancelled.
func (s *session) listen(cancel context.CancelFunc) {
	defer close(s.in)
	defer cancel()
	for {
		k, data, err := receive(s.w, maxFrame, nil)
		if err != nil {
			return
		}
		switch k {
		case kindCancel:
			cancel()
		case kindData, kindEnd, kindAbort:
			select {
			case s.in <- part{k, data}:
			default: // it was not asked for
				return
			}
		default:
			return
		}
	}
}

// item sends one element of a sequence.
func (s *session) item(v any) error {
	raw, err := encoding.Marshal(v)
	if err != nil {
		return err
	}
	return s.w.send(kindItem, raw)
}

// Write sends a part of a stream.
func (s *session) Write(p []byte) (n int, err error) {
	for n < len(p) {
		next := p[n:min(len(p), n+maxFrame)]
		if err := s.w.send(kindData, next); err != nil {
			return n, err
		}
		n += len(next)
	}
	return n, nil
}

// errAborted ends a stream that the caller stopped reading; the caller knows why.
var errAborted = errors.New("the stream was abandoned")

// source reads the caller's stream. It requests each part when it needs it, so that the
// end of the caller's context is noticed at once.
type source struct {
	ctx context.Context
	s   *session
}

func (r source) Read(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	if err := r.s.w.send(kindWant, wanted(len(p))); err != nil {
		return 0, err
	}
	select {
	case got, ok := <-r.s.in:
		switch {
		case !ok:
			return 0, context.Canceled
		case got.kind == kindEnd:
			return 0, io.EOF
		case got.kind == kindAbort:
			return 0, errAborted
		case len(got.data) > len(p):
			return 0, errProtocol
		}
		return copy(p, got.data), nil
	case <-r.ctx.Done():
		return 0, r.ctx.Err()
	}
}

// report sends the progress of long work; if there is too much, only the newest. It never
// waits for the caller.
func (s *session) report(p engine.Progress) {
	s.once.Do(func() { go s.reporting() })
	s.mu.Lock()
	s.last = &p
	s.mu.Unlock()
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

func (s *session) reporting() {
	defer close(s.stopped)
	for {
		select {
		case <-s.wake:
		case <-s.stop:
			s.sendReport()
			return
		}
		s.sendReport()
		select {
		case <-time.After(reportEvery):
		case <-s.stop:
			s.sendReport()
			return
		}
	}
}

func (s *session) sendReport() {
	s.mu.Lock()
	p := s.last
	s.last = nil
	s.mu.Unlock()
	if p == nil {
		return
	}
	if raw, err := encoding.Marshal(*p); err == nil {
		_ = s.w.send(kindProgress, raw) // the reply meets the same error
	}
}

// reported sends the last report; no report follows it.
func (s *session) reported() {
	started := true
	s.once.Do(func() { started = false })
	if started {
		close(s.stop)
		<-s.stopped
	}
}
