package httpapi

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"
)

// exchange is one request with its outcome.
type exchange struct {
	http.ResponseWriter
	r       *http.Request
	ctx     context.Context
	span    trace.Span
	id      string
	route   string // the pattern of its path, "" for none
	began   time.Time
	status  int
	written int64
	body    *counted
	err     *Error // what it was answered with, nil for none
	cause   error  // what the log says
	notes   []slog.Attr
}

// Unwrap serves http.ResponseController.
func (x *exchange) Unwrap() http.ResponseWriter { return x.ResponseWriter }

// Flush implements http.Flusher, for answers sent in parts.
func (x *exchange) Flush() { _ = http.NewResponseController(x.ResponseWriter).Flush() } // not every connection can

// WriteHeader implements http.ResponseWriter.
func (x *exchange) WriteHeader(status int) {
	if x.status == 0 && status >= 200 {
		x.status = status
	}
	x.ResponseWriter.WriteHeader(status)
}

// Write implements http.ResponseWriter.
func (x *exchange) Write(b []byte) (int, error) {
	x.status = cmp.Or(x.status, http.StatusOK)
	n, err := x.ResponseWriter.Write(b)
	x.written += int64(n)
	return n, err
}

// counted counts the bytes of a body.
type counted struct {
	io.ReadCloser
	n int64
}

func (c *counted) Read(b []byte) (int, error) {
	n, err := c.ReadCloser.Read(b)
	c.n += int64(n)
	return n, err
}

var spanHeaders = propagation.TraceContext{}

// begin starts the records of a request.
func (s *Server) begin(w http.ResponseWriter, r *http.Request) *exchange {
	x := &exchange{ResponseWriter: w, r: r, id: fmt.Sprintf("%016x", rand.Uint64()), began: time.Now()}
	ctx := spanHeaders.Extract(r.Context(), propagation.HeaderCarrier(r.Header))
	x.ctx, x.span = s.tracer.Start(ctx, r.Method, trace.WithSpanKind(trace.SpanKindServer))
	if r.Body != nil && r.Body != http.NoBody {
		x.body = &counted{ReadCloser: r.Body}
		r.Body = x.body
	}
	s.metrics.inFlight.Inc()
	return x
}

// finish counts, logs and traces a finished request.
func (s *Server) finish(x *exchange) {
	took := time.Since(x.began)
	route, method, status := x.route, methodName(x.r.Method), x.status
	route = cmp.Or(route, "other")
	if x.err != nil && x.err.Status == statusCancelled || status == 0 {
		status = statusCancelled
	}
	s.metrics.inFlight.Dec()
	s.metrics.answered(route, method, status, took)

	x.span.SetName(method + " " + route)
	x.span.SetAttributes(attribute.String("http.request.method", method), attribute.String("http.route", route), attribute.Int("http.response.status_code", status))
	if x.err != nil {
		x.span.SetAttributes(attribute.String("error.type", x.err.Code))
	}
	if status >= 500 {
		x.span.SetStatus(codes.Error, x.err.code())
	}
	x.span.End()

	log, ctx := s.o.Logger, x.ctx
	at := level(status)
	if !log.Enabled(ctx, at) {
		return
	}
	attrs := []slog.Attr{slog.String("id", x.id), slog.String("method", method), slog.String("route", route), slog.Int("status", status),
		slog.Float64("ms", millis(took)), slog.Int64("sent", x.written), slog.String("from", x.r.RemoteAddr)}
	if by := x.r.Header.Get("X-Forwarded-For"); by != "" { // as a proxy, or anybody, says
		attrs = append(attrs, slog.String("forwarded_for", fmt.Sprintf("%.100s", by)))
	}
	if x.body != nil {
		attrs = append(attrs, slog.Int64("received", x.body.n))
	}
	if sc := x.span.SpanContext(); sc.IsValid() {
		attrs = append(attrs, slog.String("trace", sc.TraceID().String()))
	}
	attrs = append(attrs, x.notes...)
	if x.err != nil {
		attrs = append(attrs, slog.String("code", x.err.Code))
	}
	// Client errors may quote a query and are not logged in full; server errors are.
	if x.cause != nil && status >= 500 && !errors.Is(x.cause, context.Canceled) {
		attrs = append(attrs, slog.String("error", x.cause.Error()))
	}
	log.LogAttrs(ctx, at, "request", attrs...)
}

func (e *Error) code() string {
	if e == nil {
		return ""
	}
	return e.Code
}

// methodName limits the label values that clients can create.
func methodName(m string) string {
	switch m {
	case "GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS":
		return m
	}
	return "other"
}
