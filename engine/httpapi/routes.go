package httpapi

import (
	"context"
	"net/http"
	"strings"
)

// route is one path and method.
type route struct {
	method, path string
	scope        Scope
	strict       bool       // fields that are not known are refused
	free         bool       // answered at once: waits for no turn
	ofDatabase   bool       // is asked of a database
	in           func() any // a new body of a request; nil for none
	out          any        // a body of an answer, for the tests of the description
	do           func(context.Context, *call, any) (any, error)
	lines        func(context.Context, *call) (any, error) // answers a request with NDJSON; nil where there is none
}

// without is a route whose requests have no body, with is one whose have.
func without[Out any](method, path string, scope Scope, do func(context.Context, *call) (Out, error)) *route {
	var out Out
	return &route{method: method, path: path, scope: scope, out: out, do: func(ctx context.Context, c *call, _ any) (any, error) { return do(ctx, c) }}
}

func with[In, Out any](method, path string, scope Scope, do func(context.Context, *call, *In) (Out, error)) *route {
	var out Out
	return &route{method: method, path: path, scope: scope, strict: true, out: out, in: func() any { return new(In) },
		do: func(ctx context.Context, c *call, in any) (any, error) { return do(ctx, c, in.(*In)) }}
}

// Prefixes of the paths of databases: the server's own, and those of collections.
const (
	prefix           = "/v1"
	collectionPrefix = "/v1/collections/{name}"
)

// routes are all paths but those of other packages: /metrics, /mcp and the page.
func routes() []*route {
	of := func(r *route) *route { r.ofDatabase = true; return r }
	lenient := func(r *route) *route { r.strict = false; return r } // clients of other APIs send what those know
	free := func(r *route) *route { r.free = true; return r }
	documents := with("POST", prefix+"/documents", ScopeWrite, putDocuments)
	documents.lines = bulk
	databases := []*route{
		with("POST", prefix+"/search", ScopeRead, search),
		with("POST", prefix+"/search/batch", ScopeRead, searchBatch),
		with("POST", prefix+"/explain", ScopeRead, explain),
		documents,
		without("GET", prefix+"/documents", ScopeRead, listDocuments),
		without("DELETE", prefix+"/documents", ScopeWrite, deleteDocuments),
		without("GET", prefix+"/documents/{id...}", ScopeRead, getDocument),
		with("PUT", prefix+"/documents/{id...}", ScopeWrite, putDocument),
		with("PATCH", prefix+"/documents/{id...}", ScopeWrite, patchDocument),
		without("DELETE", prefix+"/documents/{id...}", ScopeWrite, deleteDocument),
		lenient(with("POST", prefix+"/embeddings", ScopeRead, embeddings)),
		lenient(with("POST", prefix+"/rerank", ScopeRead, rerank)),
		without("GET", prefix+"/models", ScopeRead, models),
		without("GET", prefix+"/stats", ScopeRead, stats),
	}
	all := []*route{
		free(without("GET", "/healthz", ScopeNone, healthz)),
		free(without("GET", "/readyz", ScopeNone, readyz)),
		free(without("GET", "/openapi.json", ScopeNone, openapi)),
		without("GET", prefix+"/collections", ScopeRead, listCollections),
		without("PUT", collectionPrefix, ScopeWrite, createCollection),
		without("DELETE", collectionPrefix, ScopeWrite, dropCollection),
	}
	for _, r := range databases {
		in := *r
		in.path = collectionPrefix + strings.TrimPrefix(r.path, prefix)
		all = append(all, of(r), of(&in))
	}
	return all
}

// find gives a call its database.
func (s *Server) find(ctx context.Context, c *call, rt *route) (err error) {
	if !rt.ofDatabase {
		return nil
	}
	if !strings.HasPrefix(rt.path, collectionPrefix) {
		c.db = s.db
		return nil
	}
	if s.o.Collections == nil {
		return errNoCollections
	}
	c.db, err = s.o.Collections.Get(ctx, c.r.PathValue("name"))
	return err
}

var errNoCollections = refuse(http.StatusNotFound, "no_collections", "this server has no collections")
