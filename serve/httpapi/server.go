// Package httpapi serves a database over HTTP: search, documents, embeddings in the form of OpenAI's API,
// reranking in the form of Cohere's and Jina's, explanations, collections, health, metrics, and an OpenAPI
// document of all paths. docs/http.md describes it.
//
// Start with [New]. A [Server] is an http.Handler for the root of a host. [Server.Serve] runs it, with
// timeouts, a limit of connections and an orderly shutdown. routes.go lists the paths, and each group of
// paths has a file.
//
// What holds: a Server is safe for concurrent use. Options limit what a client can make it do: bytes, texts,
// hits, concurrent requests, time. A write is answered after it is on disk. Errors are JSON with stable
// codes.
package httpapi

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"reflect"
	"runtime/debug"
	"strconv"
	"strings"
	"sync"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/lexsem/lexsem/engine"
)

// Server answers requests with one database and with a set of collections. It is safe for concurrent
// use.
type Server struct {
	db        engine.Database
	o         Options
	endpoints []endpoint
	origins   *http.CrossOriginProtection
	slots     *slots
	buffers   *buffers
	values    *values
	line      *form // of a bulk
	metrics   *metrics
	tracer    trace.Tracer
	noise     noise
	openapi   []byte
	drain     sync.Once
	draining  chan struct{} // closed by Drain
	running   sync.WaitGroup
}

// New returns a server for db. It returns engine.ErrInvalid if an option is out of range. The caller
// closes the database after the server has drained.
func New(db engine.Database, o Options) (*Server, error) {
	o, err := o.filled()
	if err != nil {
		return nil, err
	}
	most := max(buffersPerLimit*o.MaxBody, leastBuffers)
	s := &Server{
		db: db, o: o, origins: http.NewCrossOriginProtection(),
		slots: newSlots(o), buffers: &buffers{most: most}, values: newValues(most, o.QueueTime),
		line:   formOf(reflect.TypeFor[documentRequest](), o.MaxTexts),
		tracer: o.Tracer.Tracer("github.com/lexsem/lexsem/serve/httpapi", trace.WithInstrumentationVersion(o.Version)), draining: make(chan struct{}),
	}
	for _, origin := range o.Origins {
		if err := s.origins.AddTrustedOrigin(origin); err != nil {
			return nil, fmt.Errorf("%w: origin %q in Options.Origins: %v; write it as https://app.example", engine.ErrInvalid, origin, err)
		}
	}
	if s.openapi, err = description(o.Version); err != nil {
		return nil, err
	}
	s.metrics = newMetrics(s)
	for _, rt := range routes() {
		if rt.in != nil {
			rt.form = formOf(reflect.TypeOf(rt.in()), o.MaxTexts)
		}
		s.answer(rt.method, rt.path, s.handler(rt))
	}
	s.answer(http.MethodGet, "/metrics", s.guarded(ScopeRead, s.metrics.handler()))
	if o.MCP != nil {
		s.answer("", "/mcp", s.guarded(ScopeRead, s.bounded(o.MCP(s.mayWrite))))
	}
	return s, nil
}

// Drain announces that the server is stopping: /readyz no longer answers ready, and NDJSON requests end
// after their current batch and report their progress. Other requests continue.
func (s *Server) Drain() { s.drain.Do(func() { close(s.draining) }) }

func (s *Server) isDraining() bool {
	select {
	case <-s.draining:
		return true
	default:
		return false
	}
}

// ServeHTTP implements http.Handler.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.running.Add(1)
	defer s.running.Done()
	x := s.begin(w, r)
	defer s.end(x)
	h := w.Header()
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("X-Request-Id", x.id)
	rc := http.NewResponseController(w)
	if r.Body != nil && r.Body != http.NoBody {
		defer func() { _ = rc.SetReadDeadline(time.Now().Add(unreadPatience)) }() // what is left of the body
		_ = rc.SetReadDeadline(time.Now().Add(firstPatience))                     // not every connection has deadlines
	} else {
		_ = rc.SetReadDeadline(time.Time{})
	}
	_ = rc.SetWriteDeadline(time.Time{})
	if err := s.checkHost(r); err != nil {
		s.fail(x, err)
		return
	}
	if done, err := s.crossOrigin(x, r); err != nil {
		s.fail(x, err)
		return
	} else if done {
		return
	}
	s.dispatch(x, r.WithContext(x.ctx))
}

// unreadPatience is how long the server waits for the unread rest of a body.
const unreadPatience = 2 * time.Second

// handler answers the requests of a route.
func (s *Server) handler(rt *route) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		x := w.(*exchange)
		c := &call{s: s, x: x, r: r, status: http.StatusOK}
		out, err := s.run(c, rt)
		if err != nil {
			s.fail(x, err)
			return
		}
		s.write(x, c.status, out)
	}
}

// guarded wraps a handler of another package in the check of keys.
func (s *Server) guarded(need Scope, h http.Handler) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if err := s.allow(r, need); err != nil {
			s.fail(w.(*exchange), err)
			return
		}
		h.ServeHTTP(w, r)
	}
}

// call is one request to a route.
type call struct {
	s      *Server
	x      *exchange
	r      *http.Request
	db     engine.Database // that of the route, nil where it has none
	query  url.Values
	status int // of the answer
}

// run answers a request of a route: it checks the scope and the parameters, reads the body, waits for a turn, and calls the
// route's own function.
func (s *Server) run(c *call, rt *route) (out any, err error) {
	if err := s.allow(c.r, rt.scope); err != nil {
		return nil, err
	}
	if rt.scope == ScopeWrite && s.o.ReadOnly {
		return nil, engine.ErrReadOnly
	}
	if c.query, err = parameters(c.r.URL, rt); err != nil {
		return nil, err
	}
	ctx := c.r.Context()
	if rt.lines != nil {
		if kind, err := kindOfBody(c.r); err != nil {
			return nil, err
		} else if kind == kindNDJSON {
			if err := s.find(ctx, c, rt); err != nil {
				return nil, err
			}
			return rt.lines(ctx, c)
		}
	}
	if rt.free {
		return rt.do(ctx, c, nil)
	}
	var p *payload
	if rt.in != nil {
		if p, err = s.body(c, rt); err != nil {
			return nil, err
		}
		defer p.end()
	}
	give, err := s.slots.take(ctx, false)
	if err != nil {
		return nil, err
	}
	defer give()
	limit := s.o.Timeout
	if rt.scope == ScopeWrite || rt.encodes {
		limit = s.o.LoadTimeout
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	var in any
	if rt.in != nil {
		in = rt.in()
		if err := p.decode(ctx, in); err != nil {
			return nil, err
		}
	}
	if err := s.find(ctx, c, rt); err != nil {
		return nil, err
	}
	return rt.do(ctx, c, in)
}

// body reads the body of a request to a route.
func (s *Server) body(c *call, rt *route) (*payload, error) {
	if kind, err := kindOfBody(c.r); err != nil {
		return nil, err
	} else if kind != kindJSON {
		return nil, refuse(http.StatusUnsupportedMediaType, "unsupported_type", "Content-Type %s: only POST /v1/documents accepts NDJSON; send %s", kind, kindJSON)
	}
	return s.receive(c.x, c.r, func(raw []byte) (int64, error) { return rt.form.check(raw, rt.strict) }, costCopies)
}

// elsewhere answers requests without an endpoint: with the page, or with an error that says whether the path
// or the method is wrong. there are the endpoints of the path for other methods.
func (s *Server) elsewhere(w http.ResponseWriter, r *http.Request, there []*endpoint) {
	x := w.(*exchange)
	methods := methodsOf(there)
	switch {
	case len(methods) > 0:
		w.Header().Set("Allow", strings.Join(methods, ", "))
		s.fail(x, refuse(http.StatusMethodNotAllowed, "method_not_allowed", "%.20s is not a method of this path; use %s", r.Method, strings.Join(methods, ", ")))
	case s.o.Page != nil && !strings.HasPrefix(r.URL.Path, "/v1/") && (r.Method == http.MethodGet || r.Method == http.MethodHead):
		x.route = "/"
		s.o.Page.ServeHTTP(w, r)
	default:
		s.fail(x, refuse(http.StatusNotFound, "unknown_path", "unknown path %.200q; /openapi.json lists all paths", r.URL.Path))
	}
}

// fail answers with an error.
func (s *Server) fail(x *exchange, err error) {
	e := errorOf(err)
	if errors.Is(err, context.Canceled) && s.isDraining() {
		e = errorOf(engine.ErrClosed)
	}
	x.err, x.cause = e, err
	h := x.Header()
	switch e.Status {
	case http.StatusUnauthorized:
		h.Set("WWW-Authenticate", `Bearer realm="lexsem"`)
	case http.StatusTooManyRequests, http.StatusServiceUnavailable:
		h.Set("Retry-After", "1")
	}
	s.write(x, e.Status, e.body(x.id))
}

// write sends an answer. The client's time for reading it grows with its length.
func (s *Server) write(x *exchange, status int, body any) {
	h := x.Header()
	h.Set("Cache-Control", "no-store")
	raw, ready := body.(json.RawMessage)
	if !ready && body != nil {
		var b bytes.Buffer
		enc := json.NewEncoder(&b)
		enc.SetEscapeHTML(false)
		if err := enc.Encode(body); err != nil {
			x.cause = fmt.Errorf("writing the answer: %w", err)
			x.err = errorOf(x.cause)
			http.Error(x, `{"error":{"code":"internal","message":"the answer could not be written"}}`, http.StatusInternalServerError)
			return
		}
		raw = b.Bytes()
	}
	h.Set("Content-Type", kindJSON)
	h.Set("Content-Length", strconv.Itoa(len(raw)))
	_ = http.NewResponseController(x).SetWriteDeadline(time.Now().Add(firstPatience + time.Duration(len(raw))*time.Second/bytesPerSecond))
	x.WriteHeader(status)
	if _, err := x.Write(raw); err != nil && x.cause == nil {
		x.cause = fmt.Errorf("sending the answer: %w", err)
	}
}

// end logs and counts a request, and turns a panic into an error answer.
func (s *Server) end(x *exchange) {
	if p := recover(); p != nil {
		if p == http.ErrAbortHandler {
			s.finish(x)
			panic(p)
		}
		if err := s.panicked(x.id, p); x.status == 0 {
			s.fail(x, err)
		}
	}
	s.finish(x)
}

// panicked logs a recovered panic of a request and returns it as an error.
func (s *Server) panicked(request string, p any) error {
	s.o.Logger.Error("panic", "request", request, "what", fmt.Sprint(p), "stack", string(debug.Stack()))
	return fmt.Errorf("panic: %v", p)
}

func level(status int) slog.Level {
	if status >= 500 && status != http.StatusServiceUnavailable {
		return slog.LevelError
	}
	return slog.LevelInfo
}
