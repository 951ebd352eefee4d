package httpapi

import (
	"context"
	"net/http"
	"net/url"
	"slices"
	"strings"
)

// route is one path and method.
type route struct {
	method, path string
	scope        Scope
	strict       bool       // fields and parameters that are not known are refused
	params       []string   // of the query string
	free         bool       // answered at once: waits for no turn
	encodes      bool       // the texts of a request, which takes as long as storing them
	ofDatabase   bool       // is asked of a database
	in           func() any // a new body of a request; nil for none
	form         *form      // of in
	out          any        // a body of an answer, for the tests of the description
	do           func(context.Context, *call, any) (any, error)
	lines        func(context.Context, *call) (any, error) // answers a request with NDJSON; nil where there is none
}

// without makes a route for requests without a body, with one for requests with a body.
func without[Out any](method, path string, scope Scope, do func(context.Context, *call) (Out, error)) *route {
	var out Out
	return &route{method: method, path: path, scope: scope, strict: true, out: out, do: func(ctx context.Context, c *call, _ any) (any, error) { return do(ctx, c) }}
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

// routes lists all paths except those of other packages: /metrics, /mcp and the page.
func routes() []*route {
	of := func(r *route) *route { r.ofDatabase = true; return r }
	lenient := func(r *route) *route { r.strict = false; return r } // clients of other APIs send what those know
	encodes := func(r *route) *route { r.encodes = true; return lenient(r) }
	free := func(r *route) *route { r.free = true; return lenient(r) } // monitors add parameters to get round caches
	params := func(r *route, names ...string) *route { r.params = names; return r }
	documents := params(with("POST", prefix+"/documents", ScopeWrite, putDocuments), "on_error")
	documents.lines = bulk
	databases := []*route{
		with("POST", prefix+"/search", ScopeRead, search),
		with("POST", prefix+"/search/batch", ScopeRead, searchBatch),
		with("POST", prefix+"/explain", ScopeRead, explain),
		documents,
		params(without("GET", prefix+"/documents", ScopeRead, listDocuments), "filter", "limit", "offset", "after"),
		params(without("DELETE", prefix+"/documents", ScopeWrite, deleteDocuments), "filter", "id"),
		params(without("GET", prefix+"/documents/{id...}", ScopeRead, getDocument), "vector", "data", "picture"),
		with("PUT", prefix+"/documents/{id...}", ScopeWrite, putDocument),
		with("PATCH", prefix+"/documents/{id...}", ScopeWrite, patchDocument),
		without("DELETE", prefix+"/documents/{id...}", ScopeWrite, deleteDocument),
		encodes(with("POST", prefix+"/embeddings", ScopeRead, embeddings)),
		encodes(with("POST", prefix+"/rerank", ScopeRead, rerank)),
		lenient(without("GET", prefix+"/models", ScopeRead, models)),
		lenient(without("GET", prefix+"/models/{id...}", ScopeRead, oneModel)),
		without("GET", prefix+"/stats", ScopeRead, stats),
		params(without("GET", prefix+"/facets", ScopeRead, facets), "field", "filter", "limit"),
	}
	all := []*route{
		free(without("GET", "/healthz", ScopeNone, healthz)),
		free(without("GET", "/readyz", ScopeNone, readyz)),
		free(without("GET", "/openapi.json", ScopeNone, openapi)),
		of(encodes(with("POST", "/v2/rerank", ScopeRead, rerank))), // where clients of Cohere's second version ask
		without("GET", prefix+"/collections", ScopeRead, listCollections),
		params(without("PUT", collectionPrefix, ScopeWrite, createCollection), "metric"),
		without("DELETE", collectionPrefix, ScopeWrite, dropCollection),
	}
	for _, r := range databases {
		in := *r
		in.path = collectionPrefix + strings.TrimPrefix(r.path, prefix)
		all = append(all, of(r), of(&in))
	}
	return all
}

// endpoint answers the requests of a path with its method (GET also answers HEAD), or with any
// method if it has none.
type endpoint struct {
	method, path string
	segments     []string // of path: {name} is any that is not empty, {id...} all that are left
	serve        http.HandlerFunc
}

func (s *Server) answer(method, path string, serve http.HandlerFunc) {
	s.endpoints = append(s.endpoints, endpoint{method, path, strings.Split(path, "/"), serve})
}

// answers reports whether an endpoint answers a method.
func (e *endpoint) answers(method string) bool {
	return e.method == "" || e.method == method || e.method == http.MethodGet && method == http.MethodHead
}

// match matches the segments of a path with the endpoint's own, and returns the values of name
// and id.
func (e *endpoint) match(segments []string) (name, id string, ok bool) {
	for i, w := range e.segments {
		switch {
		case i >= len(segments):
			return "", "", false
		case w == "{id...}":
			return name, strings.Join(segments[i:], "/"), true
		case w == "{name}" && segments[i] != "":
			name = segments[i]
		case w != segments[i]:
			return "", "", false
		}
	}
	return name, "", len(segments) == len(e.segments)
}

// segmentsOf splits a path into its decoded segments. Nothing is cleaned: ids of documents may
// be ".." and "a//b", and %2F does not end a segment.
func segmentsOf(u *url.URL) []string {
	plain := strings.Split(u.Path, "/")
	if u.RawPath == "" {
		return plain
	}
	segments := strings.Split(u.RawPath, "/")
	for i, s := range segments {
		var err error
		if segments[i], err = url.PathUnescape(s); err != nil {
			return plain
		}
	}
	if strings.Join(segments, "/") != u.Path { // RawPath is a hint alone
		return plain
	}
	return segments
}

// dispatch passes a request to the endpoint of its path and method. It never redirects.
func (s *Server) dispatch(w http.ResponseWriter, r *http.Request) {
	segments := segmentsOf(r.URL)
	var there []*endpoint // at this path
	for i := range s.endpoints {
		e := &s.endpoints[i]
		name, id, ok := e.match(segments)
		switch {
		case !ok:
		case e.answers(r.Method):
			w.(*exchange).route = e.path
			r.SetPathValue("name", name)
			r.SetPathValue("id", id)
			e.serve(w, r)
			return
		default:
			there = append(there, e)
		}
	}
	s.elsewhere(w, r, there)
}

// methodsOf returns the methods that endpoints of one path answer.
func methodsOf(there []*endpoint) (methods []string) {
	for _, m := range []string{"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"} {
		if slices.ContainsFunc(there, func(e *endpoint) bool { return e.answers(m) }) {
			methods = append(methods, m)
		}
	}
	return methods
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
