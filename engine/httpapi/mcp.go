package httpapi

import (
	"bytes"
	"io"
	"net/http"
	"time"
)

// mayWrite says whether a request may store and delete.
func (s *Server) mayWrite(r *http.Request) bool {
	return !s.o.ReadOnly && s.allow(r, ScopeWrite) == nil
}

// bounded is a handler of another package that works on a database. Its requests wait for
// their turn as those of routes do, when their bodies are here; a client that does not read
// the answer is left after LoadTimeout.
func (s *Server) bounded(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		x := w.(*exchange)
		body, release, err := s.readAll(x.ResponseWriter, r)
		defer release()
		if err != nil {
			s.fail(x, err)
			return
		}
		give, err := s.slots.take(r.Context(), false)
		if err != nil {
			s.fail(x, err)
			return
		}
		defer give()
		_ = http.NewResponseController(x).SetWriteDeadline(time.Now().Add(s.o.LoadTimeout)) // not every connection has deadlines
		r = r.Clone(r.Context())
		r.Header.Del("Content-Encoding")
		r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
		h.ServeHTTP(w, r)
	})
}
