package httpapi

import (
	"bytes"
	"context"
	"io"
	"math"
	"net/http"
	"time"
)

// mayWrite reports whether a request may store and delete.
func (s *Server) mayWrite(r *http.Request) bool {
	return !s.o.ReadOnly && s.allow(r, ScopeWrite) == nil
}

// The memory of the handler of /mcp for a body: copies of it, and values, whose types are
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

// costOfMessage is the memory that the handler of /mcp needs for a body.
func costOfMessage(raw []byte) (int64, error) {
	if bytes.HasPrefix(bytes.TrimSpace(raw), []byte("[")) {
		return batch.weigh(raw, false)
	}
	return message.weigh(raw, false)
}

// bounded wraps a handler of another package that works on a database. Once their bodies
// are read, its requests wait for a turn like those of routes and end after LoadTimeout; a client that does not read
// the answer is dropped then.
func (s *Server) bounded(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		x := w.(*exchange)
		p, err := s.receive(x, r, costOfMessage, agentCopies)
		if err != nil {
			s.fail(x, err)
			return
		}
		defer p.end()
		give, err := s.slots.take(r.Context(), false)
		if err != nil {
			s.fail(x, err)
			return
		}
		defer give()
		if err := r.Context().Err(); err != nil { // the client went while its body was read
			s.fail(x, err)
			return
		}
		_ = http.NewResponseController(x).SetWriteDeadline(time.Now().Add(s.o.LoadTimeout)) // not every connection has deadlines
		ctx, cancel := context.WithTimeout(r.Context(), s.o.LoadTimeout)
		defer cancel()
		r = r.Clone(ctx)
		r.Header.Del("Content-Encoding")
		r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(p.raw)), int64(len(p.raw))
		h.ServeHTTP(w, r)
	})
}
