// Package qdrant keeps the documents of a database in Qdrant: an engine.Backend over one
// collection, by its REST interface. It was written from the OpenAPI description of Qdrant 1.16, which it needs
// at least, and from the server's source. No server was behind its tests: they run against a stand-in
// that answers as these say (standin_test.go).
//
// A passage is a point, whose id is a UUID made of the document's id and the passage's number. Vectors
// are of unit length and compared by their dot product, so that the server keeps them bit for bit and
// the cosines of candidates are exact. The terms that this side has made are a sparse vector of
// BM25's weights, with the server's inverse document frequencies, which names the lexical candidates.
// Metadata are kept as they are and searched by their facts (filter.Facts): equal ones by digests, ranges by
// integers in their order. What is written is counted in points of their own, whose ids are numbers.
package qdrant

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/lexsem/lexsem/engine"
	"github.com/lexsem/lexsem/internal/nodes"
)

// ErrServer is what every failure of the server, or of the way to it, wraps.
var ErrServer = fmt.Errorf("%w: qdrant", engine.ErrBackend)

// Options say which collection on which servers. Nodes and Collection are required.
type Options struct {
	// Nodes are base URLs of nodes, such as http://127.0.0.1:6333. A call that one does not
	// answer goes to the next.
	Nodes []string
	// Collection is the name of the collection: letters, digits, _ and -, up to 200.
	Collection string
	// Key is an API key, sent in no other way than as a header; "" for none.
	Key string
	// Shards and Replicas shape a collection that is created; 0 mean 1. Replicas count all copies.
	Shards, Replicas int
	// Copies is how many copies of a shard must have taken a write for it to count as done, of a collection
	// that is created; 0 means more than half of Replicas. With two copies both must: while one of their
	// nodes is away searches go on, and writes fail.
	Copies int
	// Patience is how long a call is tried again while no node answers it; 0 means 20 s.
	Patience time.Duration
	// HTTP makes the calls; nil means a client of its own.
	HTTP *http.Client
}

// Backend is one collection. It is safe for concurrent use.
type Backend struct {
	o Options
	c *nodes.Client

	mu   sync.Mutex // guards free
	free []note     // that no call is writing
}

var _ engine.Backend = (*Backend)(nil)

var collectionName = regexp.MustCompile(`^[A-Za-z0-9_-]+$`)

// Open makes a Backend; it calls nobody. Errors: engine.ErrInvalid.
func Open(o Options) (*Backend, error) {
	bad := func(format string, args ...any) error {
		return fmt.Errorf("%w: qdrant: %s", engine.ErrInvalid, fmt.Sprintf(format, args...))
	}
	o.Patience = cmp.Or(o.Patience, 20*time.Second)
	c, err := nodes.New(nodes.Options{Nodes: o.Nodes, Authorization: nodes.Bearer(o.Key), Patience: o.Patience, HTTP: o.HTTP, Err: ErrServer, Refusal: refusal,
		// A copy that is away, or too few of them, is an internal error to the server; a timeout of its own is a 408.
		Passes: func(f *nodes.Failure) bool {
			return f.Status == http.StatusInternalServerError || f.Status == http.StatusRequestTimeout
		},
	})
	if err != nil {
		return nil, bad("%v", err)
	}
	if len(o.Collection) > 200 || !collectionName.MatchString(o.Collection) {
		return nil, bad("collection %q; use letters, digits, _ and -", o.Collection)
	}
	o.Shards, o.Replicas = cmp.Or(o.Shards, 1), cmp.Or(o.Replicas, 1)
	o.Copies = cmp.Or(o.Copies, o.Replicas/2+1)
	if o.Shards < 1 || o.Shards > 1024 || o.Replicas < 1 || o.Replicas > 17 || o.Copies < 1 || o.Copies > o.Replicas {
		return nil, bad("%d shards, %d replicas, writes to %d copies; use up to 1024 and 17, and no more copies than there are", o.Shards, o.Replicas, o.Copies)
	}
	return &Backend{o: o, c: c}, nil
}

// Parse reads Options from a URL: qdrant://HOST:PORT[,HOST:PORT…]/COLLECTION, with ?tls=true for
// https, and shards=, replicas=, copies=. Errors: engine.ErrInvalid.
func Parse(s string) (o Options, err error) {
	u, err := nodes.Parse(s, "qdrant", "COLLECTION")
	if err != nil {
		return o, fmt.Errorf("%w: %v", engine.ErrInvalid, err)
	}
	o.Nodes, o.Collection = u.Nodes, u.Name
	numbers := map[string]*int{"shards": &o.Shards, "replicas": &o.Replicas, "copies": &o.Copies}
	for name, v := range u.Values {
		to, ok := numbers[name]
		if !ok {
			return o, fmt.Errorf("%w: backend %q: %q is none of tls, shards, replicas, copies", engine.ErrInvalid, s, name)
		}
		if *to, err = strconv.Atoi(v); err != nil {
			return o, fmt.Errorf("%w: %s=%s is no number", engine.ErrInvalid, name, v)
		}
	}
	return o, nil
}

// refusal reads the body of an error: JSON, or words where the key is refused.
func refusal(body []byte) (kind, reason string) {
	var out struct {
		Status struct{ Error string }
	}
	if json.Unmarshal(body, &out) == nil {
		return "", out.Status.Error
	}
	return "", string(body)
}

// Name implements engine.Backend.
func (b *Backend) Name() string { return "qdrant " + b.o.Nodes[0] + "/" + b.o.Collection }

type object = map[string]any

// call asks for something of the collection, and decodes the result.
func (b *Backend) call(ctx context.Context, method, what string, in, result any) error {
	err := b.c.Call(ctx, method, "/collections/"+b.o.Collection+what, in, &struct{ Result any }{result})
	if nodes.Status(err) == http.StatusNotFound {
		return fmt.Errorf("%s: %w: %w", b.Name(), engine.ErrNoDatabase, err)
	}
	return err
}

const (
	// layout is the version of how documents lie in the collection.
	layout = 1
	// mark is the name, among the metadata of a collection that is ours, of what tells of it.
	mark = "lexsem"
	// dense and sparse are the vectors of passages.
	dense  = "text"
	sparse = "terms"
	// mostDim is how long a vector is at most.
	mostDim = 65_536
)

// meta is what a collection tells of itself.
type meta struct {
	Layout int                `json:"layout"`
	Info   engine.BackendInfo `json:"info"`
}

// indexes are what the server must have for filters and counts, by the names of fields in the payload.
var indexes = []struct {
	field string
	kind  any
}{
	{"facts", "keyword"}, {"order", ranges}, {"order2", ranges}, {"words", "keyword"},
	{"chunk", equals}, {"length", equals}, {"n", equals},
}

// An index of integers is for ranges, or for equal ones.
var (
	ranges = object{"type": "integer", "lookup": false, "range": true}
	equals = object{"type": "integer", "lookup": true, "range": false}
)

// found is what the server tells of the collection.
type found struct {
	there   bool
	meta    meta
	lacking []string // indexes that are not there
}

// look asks for the collection. One that is there and not ours is an engine.ErrForeign.
func (b *Backend) look(ctx context.Context) (f found, err error) {
	var out struct {
		Config struct {
			Metadata map[string]json.RawMessage
		}
		Schema map[string]json.RawMessage `json:"payload_schema"`
	}
	if err := b.call(ctx, "GET", "", nil, &out); errors.Is(err, engine.ErrNoDatabase) {
		return f, nil
	} else if err != nil {
		return f, err
	}
	var text string // of JSON, so that the server keeps it as it is
	raw := out.Config.Metadata[mark]
	if json.Unmarshal(raw, &text) != nil || json.Unmarshal([]byte(text), &f.meta) != nil {
		return f, fmt.Errorf("%w: collection %s was not made by lexsem; name another, or move its documents into one that is", engine.ErrForeign, b.Name())
	}
	if f.meta.Layout != layout {
		return f, fmt.Errorf("%w: collection %s has layout %d, this program knows %d; use a newer one", engine.ErrForeign, b.Name(), f.meta.Layout, layout)
	}
	f.there = true
	for _, i := range indexes {
		if _, ok := out.Schema[i.field]; !ok {
			f.lacking = append(f.lacking, i.field)
		}
	}
	return f, nil
}

// Info implements engine.Backend.
func (b *Backend) Info(ctx context.Context) (i engine.BackendInfo, err error) {
	f, err := b.look(ctx)
	switch {
	case err != nil:
		return i, err
	case !f.there:
		return i, fmt.Errorf("%s: %w", b.Name(), engine.ErrNoDatabase)
	case len(f.lacking) > 0:
		return i, fmt.Errorf("%s: %w: it was not made to its end, and lacks the indexes %s; make it again, which goes on", b.Name(), engine.ErrNoDatabase, strings.Join(f.lacking, ", "))
	}
	return f.meta.Info, nil
}

// Create implements engine.Backend. It goes on with a collection that an earlier call has not made to its end.
func (b *Backend) Create(ctx context.Context, i engine.BackendInfo) error {
	if i.Dim < 1 || i.Dim > mostDim {
		return fmt.Errorf("%w: vectors of %d dimensions, where qdrant keeps 1 to %d", engine.ErrInvalid, i.Dim, mostDim)
	}
	about, err := json.Marshal(meta{layout, i})
	if err != nil {
		return err
	}
	f, err := b.look(ctx)
	switch {
	case err != nil:
		return err
	case f.there && len(f.lacking) == 0:
		return fmt.Errorf("%s: %w", b.Name(), engine.ErrExists)
	case !f.there:
		if err := b.checkVersion(ctx); err != nil {
			return err
		}
		err := b.call(ctx, "PUT", "", object{
			"vectors":        object{dense: object{"size": i.Dim, "distance": "Dot"}},
			"sparse_vectors": object{sparse: object{"modifier": "idf"}},
			"shard_number":   b.o.Shards, "replication_factor": b.o.Replicas, "write_consistency_factor": b.o.Copies,
			"metadata": object{mark: string(about)},
		}, nil)
		// One that is there was made by an earlier try, or by another: look tells whose it is.
		if err != nil && nodes.Status(err) != http.StatusConflict && !strings.Contains(err.Error(), "already exists") {
			return err
		}
	}
	// Another node than the one that has made it may not know it yet.
	settled := func(do func() error) error {
		return b.c.Retry(ctx, func(int) (bool, error) {
			err := do()
			return errors.Is(err, engine.ErrNoDatabase), err
		})
	}
	if err := settled(func() error {
		f, err := b.look(ctx)
		if err == nil && !f.there {
			err = fmt.Errorf("%s: %w", b.Name(), engine.ErrNoDatabase)
		}
		return err
	}); err != nil {
		return err
	}
	for _, x := range indexes {
		if err := settled(func() error {
			return b.call(ctx, "PUT", "/index?wait=true", object{"field_name": x.field, "field_schema": x.kind}, nil)
		}); err != nil {
			return err
		}
	}
	for range b.o.Nodes { // calls begin with one after the other
		if err := settled(func() error {
			now, err := b.Info(ctx)
			if err == nil && !reflect.DeepEqual(now, i) {
				err = fmt.Errorf("%s: %w", b.Name(), engine.ErrExists) // another was first
			}
			return err
		}); err != nil {
			return err
		}
	}
	return nil
}

// checkVersion refuses a server that keeps no metadata of collections.
func (b *Backend) checkVersion(ctx context.Context) error {
	var out struct{ Version string }
	if err := b.c.Call(ctx, "GET", "/", nil, &out); err != nil {
		return err
	}
	major, rest, _ := strings.Cut(out.Version, ".")
	minor, _, _ := strings.Cut(rest, ".")
	m, merr := strconv.Atoi(major)
	n, nerr := strconv.Atoi(minor)
	if merr != nil || nerr != nil || m < 1 || m == 1 && n < 16 {
		return fmt.Errorf("%s: %w: version %q, where collections keep no metadata by which lexsem knows its own; use 1.16 or newer", b.Name(), ErrServer, nodes.Printable(out.Version))
	}
	return nil
}

// Status implements engine.Backend. The server counts the passages of each length, which costs time that
// goes with their number.
func (b *Backend) Status(ctx context.Context) (s engine.BackendStatus, err error) {
	g, beside := errgroup.WithContext(ctx)
	g.Go(func() (err error) {
		s.Documents, err = b.count(beside, first)
		return err
	})
	g.Go(func() error {
		lengths, err := b.facet(beside, "length")
		for _, l := range lengths {
			s.Passages += l.Count
			s.Terms += l.Value * int64(l.Count)
		}
		return err
	})
	g.Go(func() error {
		notes, err := b.facet(beside, "n")
		for _, n := range notes {
			s.Writes += uint64(n.Value) * uint64(n.Count)
		}
		return err
	})
	if err := g.Wait(); err != nil {
		return engine.BackendStatus{}, cmp.Or(ctx.Err(), err)
	}
	return s, nil
}

// value is an integer of a field of the payload, with the number of points that have it.
type value struct {
	Value int64
	Count int
}

// mostValues is how many values of a field are asked for at first.
const mostValues = 1 << 16

// facet returns the values of an integer field.
func (b *Backend) facet(ctx context.Context, field string) ([]value, error) {
	for most := mostValues; ; most *= 8 {
		var out struct{ Hits []value }
		if err := b.call(ctx, "POST", "/facet", object{"key": field, "limit": most, "exact": true}, &out); err != nil || len(out.Hits) < most {
			return out.Hits, err
		}
	}
}

// Close implements engine.Backend.
func (b *Backend) Close() error {
	b.c.Close()
	return nil
}

// Drop removes the collection with all that it holds; one that is not there is no error, and one that
// lexsem has not made is an engine.ErrForeign.
func (b *Backend) Drop(ctx context.Context) error {
	f, err := b.look(ctx)
	if err != nil || !f.there {
		return err
	}
	if err := b.call(ctx, "DELETE", "", nil, nil); err != nil && !errors.Is(err, engine.ErrNoDatabase) {
		return err
	}
	return nil
}
