// Package elastic keeps the documents of a database in one index of Elasticsearch. Start with [Open] (or
// [Parse] for a URL), which makes no call to a server; package engine/remote makes a database of the Backend.
// It is tested against Elasticsearch 8.17. OpenSearch has other fields and queries for vectors.
//
// Vectors are stored without quantization, so cosines are exact. The lexical retriever matches the terms of
// lexsem's analysis, so both sides agree on words. Metadata are stored unchanged and searched by their facts
// (package filter), so no field has a type that could clash with another's.
//
// A Backend is safe for concurrent use. If a node does not answer a call, the next one is tried, for
// Options.Patience. Errors wrap ErrServer. A write is not a transaction, but each stored document is
// complete.
package elastic

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/lexsem/lexsem/engine"
	"github.com/lexsem/lexsem/engine/remote"
	"github.com/lexsem/lexsem/engine/remote/internal/nodes"
	"github.com/lexsem/lexsem/internal/rest"
	"github.com/lexsem/lexsem/internal/secret"
)

// ErrServer means that the server failed or could not be reached. Every such error wraps it.
var ErrServer = fmt.Errorf("%w: elasticsearch", engine.ErrBackend)

// Options name an index and its servers. Nodes and Index are required.
type Options struct {
	// Nodes are base URLs of nodes, such as http://127.0.0.1:9200. If a node does not answer, the next one is asked.
	Nodes []string
	// Index is the name of the index.
	Index string
	// Key is an API key; "" for none. It is sent only as a header.
	Key string
	// Shards and Replicas apply when the index is created; 0 Shards means 1. With one replica, acknowledged writes
	// survive the loss of a node while all copies are in step.
	Shards, Replicas int
	// Copies is the number of copies of a shard that must be available for a write; 0 means 1.
	Copies int
	// Candidates is the least number of candidates from each shard's graph; 0 means 400. More candidates find more of
	// the nearest and take longer.
	Candidates int
	// Patience is how long a call is retried while no node answers; 0 means 20 s.
	Patience time.Duration
	// HTTP makes the calls; nil means a new client.
	HTTP *http.Client
}

// Backend is one index. It is safe for concurrent use.
//
// The server only names candidates. Cosine, BM25 and the other terms of a score are computed on this side, from the
// candidates' current state. Filters match as in an embedded database, except that strings of more than 2,000 bytes
// compare only for equality. A write of several documents is not a transaction, but each document is complete; after an
// error the same call may be repeated.
type Backend struct {
	o Options
	c *rest.Client
}

var _ remote.Backend = (*Backend)(nil)

// Open returns a Backend without connecting. Errors: engine.ErrInvalid.
func Open(o Options) (*Backend, error) {
	bad := func(format string, args ...any) error {
		return fmt.Errorf("%w: elasticsearch: %s", engine.ErrInvalid, fmt.Sprintf(format, args...))
	}
	if why := badIndex(o.Index); why != "" {
		return nil, bad("index %q %s", o.Index, why)
	}
	if o.Shards < 0 || o.Shards > 1024 || o.Replicas < 0 || o.Replicas > 16 || o.Copies < 0 || o.Copies > 17 {
		return nil, bad("%d shards, %d replicas, writes to %d copies; use up to 1024, 16 and 17", o.Shards, o.Replicas, o.Copies)
	}
	if o.Candidates < 0 || o.Candidates > most {
		return nil, bad("%d candidates a shard; use up to %d", o.Candidates, most)
	}
	o.Shards, o.Copies, o.Candidates = cmp.Or(o.Shards, 1), cmp.Or(o.Copies, 1), cmp.Or(o.Candidates, 400)
	o.Patience = cmp.Or(o.Patience, 20*time.Second)
	c, err := newClient(o)
	if err != nil {
		return nil, bad("%v", err)
	}
	return &Backend{o, c}, nil
}

// most is the maximum number of hits, and of graph candidates, that the server returns at once.
const most = 10_000

func badIndex(name string) string {
	switch {
	case name == "" || len(name) > 255:
		return "has no name of 1 to 255 bytes"
	case name != strings.ToLower(name) || strings.ContainsAny(name, `\/*?"<>| ,#:`) || strings.ContainsAny(name[:1], "-_+.") || name == "." || name == "..":
		return `is not a name that the server takes; use lower-case letters, digits, - and _`
	}
	return ""
}

// Parse reads Options from a URL: elasticsearch://HOST:PORT[,HOST:PORT…]/INDEX, with ?tls=true for https, and shards=,
// replicas=, copies= and candidates=. Errors: engine.ErrInvalid.
func Parse(s string) (o Options, err error) {
	u, err := nodes.Parse(s, "elasticsearch", "INDEX")
	if err != nil {
		return o, fmt.Errorf("%w: %v", engine.ErrInvalid, err)
	}
	o.Nodes, o.Index = u.Nodes, u.Name
	numbers := map[string]*int{"shards": &o.Shards, "replicas": &o.Replicas, "copies": &o.Copies, "candidates": &o.Candidates}
	for name, v := range u.Values {
		to, ok := numbers[name]
		if !ok {
			return o, fmt.Errorf("%w: backend %q: %q is none of tls, shards, replicas, copies, candidates", engine.ErrInvalid, secret.URL(s), name)
		}
		if *to, err = strconv.Atoi(v); err != nil {
			return o, fmt.Errorf("%w: %s=%s is no number", engine.ErrInvalid, name, v)
		}
	}
	return o, nil
}

// Name implements remote.Backend.
func (b *Backend) Name() string { return "elasticsearch " + b.o.Nodes[0] + "/" + b.o.Index }

// layout is the version of how documents lie in the index.
const layout = 1

// meta is the description in the index's mapping.
type meta struct {
	Layout int         `json:"lexsem_layout"`
	Info   remote.Info `json:"lexsem_info"`
}

// Info implements remote.Backend.
func (b *Backend) Info(ctx context.Context) (remote.Info, error) {
	var out map[string]struct {
		Mappings struct {
			Meta *meta `json:"_meta"`
		} `json:"mappings"`
	}
	if err := b.c.Call(ctx, "GET", b.path("_mapping"), nil, &out); err != nil {
		if rest.Status(err) == http.StatusNotFound {
			err = fmt.Errorf("%s: %w", b.Name(), engine.ErrNoDatabase)
		}
		return remote.Info{}, err
	}
	for _, i := range out {
		m := i.Mappings.Meta
		if m == nil || m.Layout == 0 {
			return remote.Info{}, fmt.Errorf("%w: index %s was not made by lexsem; name another, or move its documents into one that is", engine.ErrForeign, b.Name())
		}
		if m.Layout != layout {
			return remote.Info{}, fmt.Errorf("%w: index %s has layout %d, this program knows %d; use a newer one", engine.ErrForeign, b.Name(), m.Layout, layout)
		}
		return m.Info, nil
	}
	return remote.Info{}, fmt.Errorf("%s: %w", b.Name(), engine.ErrNoDatabase)
}

type object = map[string]any

// Create implements remote.Backend.
func (b *Backend) Create(ctx context.Context, i remote.Info) error {
	keyword := object{"type": "keyword"}
	body := object{
		"settings": object{"number_of_shards": b.o.Shards, "number_of_replicas": b.o.Replicas},
		"mappings": object{
			"dynamic": false,
			"_meta":   meta{layout, i},
			"properties": object{
				"id":     keyword,
				"chunk":  object{"type": "integer"},
				"part":   object{"type": "integer"}, // of ids, see partOf
				"facts":  keyword,
				"terms":  object{"type": "text", "analyzer": "whitespace", "index_options": "freqs", "store": true},
				"length": object{"type": "integer", "index": false},
				"vector": object{"type": "dense_vector", "dims": i.Dim, "index": true, "similarity": "cosine",
					"index_options": object{"type": "hnsw", "m": 16, "ef_construction": 100}},
			},
		},
	}
	err := b.c.Call(ctx, "PUT", b.path("")+"?wait_for_active_shards="+strconv.Itoa(b.o.Copies), body, nil)
	var f *rest.Failure
	if errors.As(err, &f) && f.Kind == "resource_already_exists_exception" {
		return fmt.Errorf("%s: %w", b.Name(), engine.ErrExists)
	}
	return err
}

// path returns the path of a resource of the index.
func (b *Backend) path(what string) string {
	p := "/" + url.PathEscape(b.o.Index)
	if what != "" {
		p += "/" + what
	}
	return p
}

// Status implements remote.Backend. Writes counts the operations that the shards have numbered.
func (b *Backend) Status(ctx context.Context) (s remote.Status, err error) {
	type writes struct {
		n   uint64
		err error
	}
	numbered := make(chan writes, 1)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		n, err := b.writes(ctx)
		numbered <- writes{n, err}
	}()
	var out struct {
		Hits struct {
			Total struct{ Value int }
		}
		Aggregations struct {
			Documents struct {
				Count int `json:"doc_count"`
			}
			Terms struct{ Value float64 }
		}
	}
	err = b.search(ctx, object{
		"size": 0, "track_total_hits": true,
		"aggs": object{"documents": object{"filter": object{"term": object{"chunk": 0}}}, "terms": object{"sum": object{"field": "length"}}},
	}, &out)
	if err != nil {
		return s, err
	}
	w := <-numbered
	s.Documents, s.Passages, s.Terms, s.Writes = out.Aggregations.Documents.Count, out.Hits.Total.Value, int64(out.Aggregations.Terms.Value), w.n
	return s, w.err
}

func (b *Backend) writes(ctx context.Context) (n uint64, err error) {
	var out struct {
		Indices map[string]struct {
			Shards map[string][]struct {
				Routing struct{ Primary bool }
				SeqNo   struct {
					Max int64 `json:"max_seq_no"`
				} `json:"seq_no"`
			}
		}
	}
	if err := b.c.Call(ctx, "GET", b.path("_stats/docs?level=shards"), nil, &out); err != nil {
		return 0, err
	}
	for _, i := range out.Indices {
		for _, copies := range i.Shards {
			for _, c := range copies {
				if c.Routing.Primary {
					n += uint64(c.SeqNo.Max + 1)
				}
			}
		}
	}
	return n, nil
}

// Close implements remote.Backend.
func (b *Backend) Close() error {
	b.c.Close()
	return nil
}

// search runs a search that all shards must answer; settings are added to the URL.
func (b *Backend) search(ctx context.Context, body, out any, settings ...string) error {
	query := strings.Join(append(settings, "allow_partial_search_results=false"), "&")
	return b.c.Call(ctx, "POST", b.path("_search?"+query), body, out)
}

// Drop removes the index with all its data. A missing index is not an error.
func (b *Backend) Drop(ctx context.Context) error {
	err := b.c.Call(ctx, "DELETE", b.path(""), nil, nil)
	if rest.Status(err) == http.StatusNotFound {
		return nil
	}
	return err
}
