package httpapi

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"maps"
	"math"
	"net/http"
	"time"

	"github.com/lexsem/lexsem/internal/yield"
)

// mayWrite reports whether a request may store and delete.
func (s *Server) mayWrite(r *http.Request) bool {
	return !s.o.ReadOnly && s.allow(r, ScopeWrite) == nil
}

// The memory that the handler of /mcp takes for a body: copies of the body, and its decoded values, whose types are
// not known here. A batch is answered as one request.
const (
	agentCopies  = 8
	agentBatch   = 32  // messages of a batch
	agentElement = 300 // bytes of an element of an array
)

var (
	message = &form{free: true, slot: agentElement, most: math.MaxInt}
	batch   = &form{slot: agentElement, most: agentBatch, of: message}
)

func isBatch(raw []byte) bool { return bytes.HasPrefix(bytes.TrimSpace(raw), []byte("[")) }

// costOfMessage is the memory that the handler of /mcp needs for a body.
func costOfMessage(raw []byte) (int64, error) {
	if isBatch(raw) {
		return batch.weigh(raw, false)
	}
	return message.weigh(raw, false)
}

// bounded wraps a handler of another package that works on a database. Once their bodies
// are read, its requests wait for a turn like those of routes and end after LoadTimeout; a client that does not read
// the answer is dropped then. The handler calls yield.EndTurn when it has decoded a message.
func (s *Server) bounded(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		x := w.(*exchange)
		p, err := s.receive(x, r, costOfMessage, agentCopies)
		if err != nil {
			s.fail(x, err)
			return
		}
		give, err := s.slots.take(r.Context(), false)
		if err == nil && r.Context().Err() != nil { // the client went while its body was read
			give()
			err = r.Context().Err()
		}
		if err != nil {
			p.end()
			s.fail(x, err)
			return
		}
		_ = http.NewResponseController(x).SetWriteDeadline(time.Now().Add(s.o.LoadTimeout)) // not every connection has deadlines
		ctx, cancel := context.WithTimeout(r.Context(), s.o.LoadTimeout)
		defer cancel()
		large := len(p.raw) >= largeBody
		r = r.Clone(ctx)
		r.Header.Del("Content-Encoding")
		r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(p.raw)), int64(len(p.raw))
		if !large {
			defer p.end()
			defer give()
			h.ServeHTTP(x, r)
			return
		}
		s.leave(ctx, x, func(w http.ResponseWriter) error {
			defer p.end()
			defer give()
			leave, err := s.values.turn(ctx, len(p.raw))
			if err != nil {
				return err
			}
			within, end := yield.WithTurn(ctx, leave)
			defer end()
			if isBatch(p.raw) { // one of its messages is decoded while others run
				within = ctx
			}
			h.ServeHTTP(w, r.WithContext(within))
			return nil
		})
	})
}

// ownAnswer is the time that a handler has for its own answer after its request ended.
const ownAnswer = 10 * time.Millisecond

// leave answers with what work writes. If ctx ends and work goes on for longer than ownAnswer, leave answers with
// the error of ctx, and work ends in its goroutine: a pass over a message of some megabytes does not look at ctx.
func (s *Server) leave(ctx context.Context, x *exchange, work func(http.ResponseWriter) error) {
	k, done := &kept{header: http.Header{}}, make(chan error, 1)
	s.running.Go(func() {
		defer func() {
			if p := recover(); p != nil {
				done <- s.panicked(x.id, p)
			}
		}()
		done <- work(k)
	})
	late := make(chan struct{})
	defer context.AfterFunc(ctx, func() { time.AfterFunc(ownAnswer, func() { close(late) }) })()
	select {
	case err := <-done:
		if err != nil {
			s.fail(x, err)
			return
		}
		maps.Copy(x.Header(), k.header)
		x.WriteHeader(cmp.Or(k.status, http.StatusOK))
		if _, err := x.Write(k.Bytes()); err != nil {
			x.cause = fmt.Errorf("sending the answer: %w", err)
		}
	case <-late:
		s.fail(x, ctx.Err())
	}
}

// kept is an answer that is sent when it is complete.
type kept struct {
	bytes.Buffer
	header http.Header
	status int
}

func (k *kept) Header() http.Header { return k.header }

func (k *kept) WriteHeader(status int) { k.status = cmp.Or(k.status, status) }
