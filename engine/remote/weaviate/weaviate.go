// Package weaviate keeps the documents of a database in one class of Weaviate, by its REST and GraphQL
// interfaces. Start with [Open] (or [Parse] for a URL), which makes no call to a server; package
// engine/remote makes a database of the Backend. It is tested against Weaviate 1.35. Vectors are stored in an
// HNSW graph without quantization, so cosines are exact. The lexical retriever matches the terms of lexsem's
// analysis. Metadata are searched by their facts (package filter).
//
// A Backend is safe for concurrent use. If a node does not answer a call, the next one is tried, for
// Options.Patience. Errors wrap ErrServer. A write is not a transaction, but each stored document is
// complete.
//
// Limit of Weaviate 1.35.2: while many passages with a word of the query are only in memory, its BM25 returns
// those that were written first. By default they are there for a minute after a write
// (PERSISTENCE_MEMTABLES_FLUSH_DIRTY_AFTER_SECONDS). The dense retriever finds them at once.
package weaviate

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/lexsem/lexsem/engine"
	"github.com/lexsem/lexsem/engine/remote"
	"github.com/lexsem/lexsem/engine/remote/internal/nodes"
	"github.com/lexsem/lexsem/internal/rest"
	"github.com/lexsem/lexsem/internal/secret"
)

// ErrServer means that the server failed or could not be reached. Every such error wraps it.
var ErrServer = fmt.Errorf("%w: weaviate", engine.ErrBackend)

// Options name a class and its servers. Nodes and Class are required.
type Options struct {
	// Nodes are base URLs of nodes, such as http://127.0.0.1:8080. If a node does not answer, the next one is asked.
	Nodes []string
	// Class is the name of the class: a capital letter, then letters, digits and _. A second class with "_writes"
	// appended counts the writes.
	Class string
	// Key is an API key; "" for none. It is sent only as a header.
	Key string
	// Shards and Replicas apply when the class is created; 0 means 1. Replicas counts all copies.
	Shards, Replicas int
	// Consistency is how many copies of a shard must confirm a write: ONE, QUORUM or ALL; "" means QUORUM. With two
	// copies QUORUM needs both: if one node is down, searches continue and writes wait.
	//
	// A search reads one copy. If its node was killed, that copy lacks the content of its buffers until the server
	// has replicated it from the others.
	Consistency string
	// Patience is how long a call is retried while no node answers; 0 means 20 s.
	Patience time.Duration
	// HTTP makes the calls; nil means a new client.
	HTTP *http.Client
}

// Backend is one class. It is safe for concurrent use.
//
// Limits with Weaviate:
//   - A server that ends during a write may keep passages without adding their vectors to its graph, and it ignores
//     them when they are sent again. Each write looks for such passages on one copy of each shard and repairs them. Until
//     then only words find them, with exact cosines. With ASYNC_INDEXING a write does not wait for the graph.
//   - A filter with < or > on texts becomes a list of prefixes, which grows with the text. More than 4,096 prefixes are
//     an error. On id, only listing and deleting accept them; a search and a count accept = and in.
//   - Listing and deleting by a filter read all passages.
//   - Each node must name another one in CLUSTER_JOIN: a node that finds no other node at its start stays
//     alone.
type Backend struct {
	o Options
	c *rest.Client
	// copies is the number of copies of each shard, dim the dimension of the vectors; both are 0 until Info
	// was called.
	copies, dim atomic.Int32
}

var (
	_ remote.Backend   = (*Backend)(nil)
	_ remote.Unsettler = (*Backend)(nil)
)

var className = regexp.MustCompile(`^[A-Z][A-Za-z0-9_]*$`)

// Open returns a Backend without connecting. Errors: engine.ErrInvalid.
func Open(o Options) (*Backend, error) {
	bad := func(format string, args ...any) error {
		return fmt.Errorf("%w: weaviate: %s", engine.ErrInvalid, fmt.Sprintf(format, args...))
	}
	o.Patience = cmp.Or(o.Patience, 20*time.Second)
	c, err := nodes.Client(&rest.Client{URLs: o.Nodes, Key: o.Key, Patience: o.Patience, HTTP: o.HTTP, Err: ErrServer, Refusal: refusal,
		// A node that has just come back knows no class yet.
		Passes: func(f *rest.Failure) bool {
			return f.Busy() || f.Status == 422 && strings.Contains(f.Reason, "no graphql provider")
		},
	})
	if err != nil {
		return nil, bad("%v", err)
	}
	if len(o.Class) > 200 || !className.MatchString(o.Class) {
		return nil, bad("class %q; use a capital letter, then letters, digits and _", o.Class)
	}
	if o.Shards < 0 || o.Shards > 1024 || o.Replicas < 0 || o.Replicas > 17 {
		return nil, bad("%d shards, %d replicas; use up to 1024 and 17", o.Shards, o.Replicas)
	}
	switch o.Consistency = cmp.Or(strings.ToUpper(o.Consistency), "QUORUM"); o.Consistency {
	case "ONE", "QUORUM", "ALL":
	default:
		return nil, bad("consistency %q; use ONE, QUORUM or ALL", o.Consistency)
	}
	o.Shards, o.Replicas = cmp.Or(o.Shards, 1), cmp.Or(o.Replicas, 1)
	return &Backend{o: o, c: c}, nil
}

// Parse reads Options from a URL: weaviate://HOST:PORT[,HOST:PORT…]/CLASS, with ?tls=true for https, and shards=,
// replicas= and consistency=. Errors: engine.ErrInvalid.
func Parse(s string) (o Options, err error) {
	u, err := nodes.Parse(s, "weaviate", "CLASS")
	if err != nil {
		return o, fmt.Errorf("%w: %v", engine.ErrInvalid, err)
	}
	o.Nodes, o.Class = u.Nodes, u.Name
	for name, v := range u.Values {
		var err error
		switch name {
		case "shards":
			o.Shards, err = strconv.Atoi(v)
		case "replicas":
			o.Replicas, err = strconv.Atoi(v)
		case "consistency":
			o.Consistency = v
		default:
			return o, fmt.Errorf("%w: backend %q: %q is none of tls, shards, replicas, consistency", engine.ErrInvalid, secret.URL(s), name)
		}
		if err != nil {
			return o, fmt.Errorf("%w: %s=%s is no number", engine.ErrInvalid, name, v)
		}
	}
	return o, nil
}

// refusal reads the body of an error.
func refusal(body []byte) (kind, reason string) {
	var out struct {
		Error []struct{ Message string }
	}
	if json.Unmarshal(body, &out) != nil || len(out.Error) == 0 {
		return "", ""
	}
	return "", out.Error[0].Message
}

// Name implements remote.Backend.
func (b *Backend) Name() string { return "weaviate " + b.o.Nodes[0] + "/" + b.o.Class }

// layout is the version of the class's layout.
const layout = 1

// mark is the beginning of the description of a class that lexsem made.
const mark = "lexsem: "

// meta is the JSON after mark.
type meta struct {
	Layout int         `json:"layout"`
	Info   remote.Info `json:"info"`
}

type object = map[string]any

// vectorName is the named vector of passages.
const vectorName = "text"

// Info implements remote.Backend.
func (b *Backend) Info(ctx context.Context) (i remote.Info, err error) {
	var out struct {
		Description       string
		ReplicationConfig struct{ Factor int32 }
	}
	if err := b.c.Call(ctx, "GET", "/v1/schema/"+b.o.Class+"?consistency=true", nil, &out); err != nil {
		if rest.Status(err) == http.StatusNotFound {
			err = fmt.Errorf("%s: %w", b.Name(), engine.ErrNoDatabase)
		}
		return i, err
	}
	var m meta
	text, ours := strings.CutPrefix(out.Description, mark)
	if !ours || json.Unmarshal([]byte(text), &m) != nil {
		return i, fmt.Errorf("%w: class %s was not made by lexsem; name another, or move its documents into one that is", engine.ErrForeign, b.Name())
	}
	if m.Layout != layout {
		return i, fmt.Errorf("%w: class %s has layout %d, this program knows %d; use a newer one", engine.ErrForeign, b.Name(), m.Layout, layout)
	}
	b.dim.Store(int32(m.Info.Dim))
	b.copies.Store(max(1, out.ReplicationConfig.Factor))
	return m.Info, nil
}

// Create implements remote.Backend.
func (b *Backend) Create(ctx context.Context, i remote.Info) error {
	description, err := json.Marshal(meta{layout, i})
	if err != nil {
		return err
	}
	if _, err := b.Info(ctx); !errors.Is(err, engine.ErrNoDatabase) {
		return cmp.Or(err, fmt.Errorf("%s: %w", b.Name(), engine.ErrExists))
	}
	property := func(name, kind, tokenization string, filterable, searchable bool) object {
		p := object{"name": name, "dataType": []string{kind}, "indexFilterable": filterable}
		if tokenization != "" {
			p["tokenization"], p["indexSearchable"] = tokenization, searchable
		}
		return p
	}
	shape := object{
		"replicationConfig":   object{"factor": b.o.Replicas, "asyncEnabled": b.o.Replicas > 1},
		"invertedIndexConfig": object{"bm25": object{"k1": 1.2, "b": 0.75}, "stopwords": object{"preset": "none"}},
	}
	class := func(name string, more object) object {
		c := object{"class": name}
		for _, m := range []object{shape, more} {
			maps.Copy(c, m)
		}
		return c
	}
	// The class with the description is created last: if it exists, everything does.
	for _, c := range []object{
		class(b.writesClass(), object{
			"description": "counts what is written to " + b.o.Class, "vectorizer": "none", "vectorIndexConfig": object{"skip": true},
			"shardingConfig": object{"desiredCount": 1},
			"properties":     []object{property("n", "int", "", true, false)},
		}),
		class(b.o.Class, object{
			"description":    mark + string(description),
			"shardingConfig": object{"desiredCount": b.o.Shards},
			"vectorConfig": object{vectorName: object{
				"vectorizer": object{"none": object{}}, "vectorIndexType": "hnsw", "vectorIndexConfig": object{"distance": "cosine", "ef": -1, "maxConnections": 16, "efConstruction": 128},
			}},
			"properties": []object{
				property("docid", "text", "field", false, false),
				property("dockey", "text", "field", true, false), // see keyOf
				property("chunk", "int", "", true, false),
				property("facts", "text[]", "field", true, false), // in hexadecimal
				property("terms", "text", "whitespace", true, true),
				property("length", "int", "", true, false),
				property("body", "text", "field", false, false), // JSON: the rest
			},
		}),
	} {
		if err := b.c.Call(ctx, "POST", "/v1/schema", c, nil); err != nil && !(rest.Status(err) == http.StatusUnprocessableEntity && strings.Contains(err.Error(), "already exists")) {
			return err
		}
	}
	now, err := b.Info(ctx)
	if err == nil && !reflect.DeepEqual(now, i) {
		err = fmt.Errorf("%s: %w", b.Name(), engine.ErrExists) // another was first
	}
	return err
}

func (b *Backend) writesClass() string { return b.o.Class + "_writes" }

// Status implements remote.Backend.
func (b *Backend) Status(ctx context.Context) (s remote.Status, err error) {
	type counts []struct {
		Meta   struct{ Count int }
		Length struct{ Sum float64 }
		N      struct{ Sum float64 }
	}
	var out struct {
		Aggregate struct{ First, All, Writes counts }
	}
	err = b.ask(ctx, fmt.Sprintf(`{Aggregate{first:%[1]s(where:%[2]s){meta{count}} all:%[1]s{meta{count} length{sum}} writes:%[3]s{n{sum}}}}`,
		b.o.Class, whole, b.writesClass()), &out)
	a := out.Aggregate
	if err == nil && (len(a.First) != 1 || len(a.All) != 1 || len(a.Writes) != 1) {
		err = fmt.Errorf("%s: %w: no counts", b.Name(), ErrServer)
	}
	if err != nil {
		return s, err
	}
	s.Documents, s.Passages, s.Terms, s.Writes = a.First[0].Meta.Count, a.All[0].Meta.Count, int64(a.All[0].Length.Sum), uint64(a.Writes[0].N.Sum)
	return s, nil
}

// Close implements remote.Backend.
func (b *Backend) Close() error {
	b.c.Close()
	return nil
}

// Drop removes the class with all its data. A missing class is not an error.
func (b *Backend) Drop(ctx context.Context) error {
	for _, class := range []string{b.o.Class, b.writesClass()} {
		if err := b.c.Call(ctx, "DELETE", "/v1/schema/"+class, nil, nil); err != nil && rest.Status(err) != http.StatusNotFound {
			return err
		}
	}
	return nil
}

// ask asks a GraphQL query, and decodes its data into out.
func (b *Backend) ask(ctx context.Context, query string, out any) error {
	var answer struct {
		Data   json.RawMessage
		Errors []struct{ Message string }
	}
	err := rest.Retry(ctx, b.o.Patience, func(int) (again bool, err error) {
		answer.Errors = nil
		if err := b.c.Call(ctx, "POST", "/v1/graphql", object{"query": query}, &answer); err != nil || len(answer.Errors) == 0 {
			return false, err
		}
		said := answer.Errors[0].Message
		return passing(said), fmt.Errorf("%s: %w: %s", b.Name(), ErrServer, rest.Printable(said, 500))
	})
	if err != nil {
		return err
	}
	if err := json.Unmarshal(answer.Data, out); err != nil {
		return fmt.Errorf("%s: %w: the answer is not what it should be: %v", b.Name(), ErrServer, err)
	}
	return nil
}

// passing reports whether the error comes from a node that is away or does not know the class yet; another
// node may succeed.
func passing(message string) bool {
	return slices.ContainsFunc([]string{"connection refused", "connection reset", "EOF", "i/o timeout", "no route", "deadline exceeded", "not ready", "unavailable", "resolve", "replica", "local index", "non-existing index", "Cannot query field"},
		func(s string) bool { return strings.Contains(message, s) })
}

// text is a string as GraphQL writes one.
func text(s string) string {
	raw, _ := json.Marshal(s) // of a string: it cannot fail
	return string(raw)
}

func texts(ss []string) string {
	raw, _ := json.Marshal(ss) // likewise
	return string(raw)
}
