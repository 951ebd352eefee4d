// Package mcp serves a database to agents by the Model Context Protocol: tools that search, read and store
// documents and explain hits, and the documents as resources. Start with [New], then [Server.Serve] for a
// pair of streams, or [Server.Handler] for streamable HTTP. Each tool has a file.
//
// A Server keeps nothing between calls and is safe for concurrent use. With Options.ReadOnly it stores
// nothing. A message has at most MaxMessage bytes. A request by loopback must name a loopback host, unless
// Options.AnyHost is set.
package mcp

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"log/slog"
	"net/http"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/lexsem/lexsem/engine"
	"github.com/lexsem/lexsem/engine/filter"
)

// Database is what the tools ask: the part of an engine.Engine that they need.
type Database interface {
	Search(ctx context.Context, q engine.Query) (engine.Result, error)
	Explain(ctx context.Context, q engine.Query, id string) (engine.Explanation, error)
	Get(ctx context.Context, id string) (engine.Document, error)
	List(ctx context.Context, f engine.Filter, after string) iter.Seq2[engine.Document, error]
	Count(ctx context.Context, f engine.Filter) (int, error)
	Facets(ctx context.Context, f engine.Filter, field string, k int) ([]filter.Facet, error)
	Upsert(ctx context.Context, docs []engine.Document) (engine.AddResult, error)
}

// Options configure a Server. The zero value selects the default of every field.
type Options struct {
	// ReadOnly removes the tool that stores documents and refuses calls of it.
	ReadOnly bool
	// Place returns the file of a hit and its first and last line there, counted from 1, or 0
	// if the file has no lines. nil means that no hit came from a file.
	Place func(engine.Hit) (path string, lines [2]int, ok bool)
	// Stale says what became of the file of a hit since it was stored, by the hit's metadata: "changed", "gone", or "" for
	// neither. Set it only if no client writes documents. nil means that it is not known.
	Stale func(metadata map[string]any) string
	// Timeout limits calls of the tools that read; 0 means no limit.
	Timeout time.Duration
	// Version is the version of the server that clients are told.
	Version string
	// AnyHost lets Handler accept any Host header; set it only if the caller checks the header.
	// Otherwise a request over the loopback interface must name that interface.
	AnyHost bool
	// Logger receives the details of database failures, which clients do not see; nil means no log.
	// It never receives texts or queries.
	Logger *slog.Logger
}

// MaxMessage limits one message of a client, in bytes. A longer message is refused; HTTP answers 413.
const MaxMessage = 16 << 20

// Server serves one database. It keeps no state between calls and is safe for concurrent use.
type Server struct {
	db Database
	o  Options
}

// New returns a server for db. The caller closes db after the server has ended.
func New(db Database, o Options) *Server {
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	o.Version = cmp.Or(o.Version, "devel")
	return &Server{db, o}
}

// Serve serves one client over in and out, one message per line. Invalid messages are answered with a
// JSON-RPC error (-32700, -32600), and the session continues. When in ends, Serve answers the calls
// that it has read and returns nil. Nothing else may write to out. When ctx is done, Serve cancels the
// calls in progress and returns the error of ctx; it closes in if that is an io.Closer, otherwise a
// pending Read of in continues.
func (s *Server) Serve(ctx context.Context, in io.Reader, out io.Writer) error {
	w := &oneByOne{out: out}
	messages := newMessages(in, w) // which limits a message
	t := patient{&sdk.IOTransport{Reader: messages, Writer: w, MaxLineLength: -1}, messages}
	err := s.server(ctx).Run(ctx, t)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil && !errors.Is(err, io.EOF) {
		return fmt.Errorf("the session broke off: %w", err)
	}
	return nil
}

// Handler serves streamable HTTP without sessions: each request is independent. mayWrite reports whether a
// request may store documents; nil means that all may. A request that may not is served as with
// Options.ReadOnly, which applies to all requests. A call ends with the context of its request. The caller must
// authenticate clients. Handler refuses requests with which a page of another site tries to reach this machine
// under its own host name (Options.AnyHost).
func (s *Server) Handler(mayWrite func(*http.Request) bool) http.Handler {
	reading := New(s.db, s.o)
	reading.o.ReadOnly = true
	return sdk.NewStreamableHTTPHandler(func(r *http.Request) *sdk.Server {
		if mayWrite != nil && !mayWrite(r) {
			return reading.server(r.Context())
		}
		return s.server(r.Context())
	}, &sdk.StreamableHTTPOptions{
		Stateless: true, JSONResponse: true, DisableLocalhostProtection: s.o.AnyHost,
		MaxRequestBodyBytes: MaxMessage, PropagateRequestCancellation: true,
	})
}

// instructions are for the client's model.
const instructions = `A lexsem database: it finds passages by meaning and by exact words.
Start with search: ask in plain language, or with exact words, names or error codes; one query can mix both. A hit names its place: path:from-to for a file, otherwise the id of its document.
get reads a document, in parts if it is long. list shows what is stored. explain shows what the score of a document is made of.`

// server makes the SDK's server for one stream or request; calls end with ctx.
func (s *Server) server(ctx context.Context) *sdk.Server {
	srv := sdk.NewServer(&sdk.Implementation{Name: "lexsem", Title: "lexsem", Version: s.o.Version}, &sdk.ServerOptions{
		Instructions: instructions,
		Capabilities: &sdk.ServerCapabilities{Tools: &sdk.ToolCapabilities{}, Resources: &sdk.ResourceCapabilities{}},
	})
	addTool(s, srv, ctx, searchTool(), s.search)
	addTool(s, srv, ctx, getTool(), s.get)
	addTool(s, srv, ctx, listTool(), s.list)
	addTool(s, srv, ctx, explainTool(), s.explain)
	if s.o.ReadOnly {
		srv.AddReceivingMiddleware(refuseWriting)
	} else {
		addTool(s, srv, ctx, indexTool(), s.index)
	}
	s.addResources(srv, ctx)
	return srv
}

// refuseWriting explains why the tool that stores documents is missing: a client may know
// it from another server, or with another key.
func refuseWriting(next sdk.MethodHandler) sdk.MethodHandler {
	return func(ctx context.Context, method string, req sdk.Request) (sdk.Result, error) {
		if call, ok := req.(*sdk.CallToolRequest); ok && call.Params.Name == indexTool().Name {
			return nil, &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: indexTool().Name + " stores documents, and this client may only read: " +
				"use a key with write access, or the operator of the server must allow writes"}
		}
		return next(ctx, method, req)
	}
}

// within returns a context that is done when ctx or outer is.
func within(ctx, outer context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(ctx)
	stop := context.AfterFunc(outer, func() { cancel(context.Cause(outer)) })
	return ctx, func() { stop(); cancel(nil) }
}

// limited returns a context that ends after the time limit for calls that read.
func (s *Server) limited(ctx context.Context) (context.Context, context.CancelFunc) {
	if s.o.Timeout <= 0 {
		return ctx, func() {}
	}
	return context.WithTimeout(ctx, s.o.Timeout)
}
