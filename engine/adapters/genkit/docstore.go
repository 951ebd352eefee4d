// Package lexsem makes a lexsem database a retriever of Genkit.
//
//	g := genkit.Init(ctx)
//	store, retriever, err := lexsem.DefineRetriever(g, "notes", lexsem.Config{DB: db}, nil)
//	ids, err := store.Index(ctx, docs)
//	res, err := genkit.Retrieve(ctx, g, ai.WithRetriever(retriever), ai.WithTextDocs("how do I rotate the keys"),
//		ai.WithConfig(&lexsem.RetrieverOptions{K: 5, Filter: `lang = "go"`}))
//
// The database's own encoder makes the vectors, and searches are hybrid: by meaning
// and by the words of the query. Encoder makes an encoder of an ai.Embedder, to open a
// database with. Documents are texts: what holds media is refused.
//
// Errors are those of package engine: errors.Is(err, engine.ErrInvalid) is a wrong
// argument.
package lexsem

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"strings"

	"github.com/firebase/genkit/go/ai"
	"github.com/firebase/genkit/go/core"
	"github.com/firebase/genkit/go/core/api"
	"github.com/firebase/genkit/go/genkit"

	"github.com/lexsem/lexsem/engine"
	"github.com/lexsem/lexsem/engine/adapters/internal/adapt"
)

const provider = "lexsem"

// Metadata fields of documents that are found. Index stores a document with a text in
// IDKey under that id, and stores no ScoreKey.
const (
	IDKey    = "_id"    // string
	ScoreKey = "_score" // float64, engine.Hit.Score
)

// Database is what a store needs of one: *engine.Engine has it.
type Database interface {
	Upsert(ctx context.Context, docs []engine.Document) (engine.AddResult, error)
	Search(ctx context.Context, q engine.Query) (engine.Result, error)
}

// Config says what a retriever searches, and how.
type Config struct {
	// DB is the database, which stays the caller's to close.
	DB Database
	// Query is what every search begins with: Mode, Variant, Fusion, PerChunk, Collapse,
	// K, Spans (a document's is in its metadata under "_span"), a Filter that holds beside that of each call. Text and
	// Vector are the call's.
	Query engine.Query
	// Namespace keeps what is indexed apart; "" is none, and a search of all.
	Namespace string
	// Embedder, if not nil, makes the vectors of documents and queries in place of the
	// database's encoder, with its options. It is for databases of vectors alone
	// (engine.Options.Dim): in others, vectors of two models do not compare, and nothing
	// would tell.
	Embedder                     ai.Embedder
	PassageOptions, QueryOptions any
}

// RetrieverOptions shape one call, as the options of a request: a value, a pointer,
// or the same as a JSON object. What is zero is as Config.Query says.
type RetrieverOptions struct {
	// K is how many documents to return; 0 in both places means 10.
	K int `json:"k,omitempty"`
	// Filter is an engine.Filter, a text as filter.Parse reads it, or an object of
	// fields to the value that each must have, or to a list of values of which it must
	// have one.
	Filter any `json:"filter,omitempty"`
	// Mode is auto, dense, lexical or hybrid; Variant names the modulation.
	Mode    string `json:"mode,omitempty"`
	Variant string `json:"variant,omitempty"`
	// MinScore leaves out documents with a lower score; 0 is none. In a hybrid search a
	// score is the cosine and up to 0.6 for the words, in mode dense the cosine, in mode
	// lexical BM25, which has no bound.
	MinScore float64 `json:"minScore,omitempty"`
	// Namespace is searched instead of Config.Namespace.
	Namespace string `json:"namespace,omitempty"`
}

// DocStore indexes and retrieves documents. It is safe for concurrent use.
type DocStore struct{ cfg Config }

// DefineRetriever registers a retriever as lexsem/NAME, and returns it and the store
// that fills what it searches.
func DefineRetriever(g *genkit.Genkit, name string, cfg Config, opts *ai.RetrieverOptions) (*DocStore, ai.Retriever, error) {
	if name == "" || cfg.DB == nil {
		return nil, nil, fmt.Errorf("%w: a retriever needs a name and a database; the name is %q, the database %v", engine.ErrInvalid, name, cfg.DB)
	}
	o := ai.RetrieverOptions{Label: "lexsem " + name}
	if opts != nil {
		o = *opts
	}
	if o.ConfigSchema == nil {
		o.ConfigSchema = core.InferSchemaMap(RetrieverOptions{})
	}
	ds := &DocStore{cfg}
	return ds, genkit.DefineRetriever(g, api.NewName(provider, name), &o, ds.Retrieve), nil
}

// IsDefinedRetriever says whether DefineRetriever has registered that name.
func IsDefinedRetriever(g *genkit.Genkit, name string) bool { return Retriever(g, name) != nil }

// Retriever returns the retriever that DefineRetriever has registered by that name,
// or nil.
func Retriever(g *genkit.Genkit, name string) ai.Retriever {
	return genkit.LookupRetriever(g, api.NewName(provider, name))
}

// Index stores documents and returns their ids, in their order. All are stored or
// none; one with an id that is stored already takes its place. A document without IDKey
// gets a hash of its text, its metadata and the namespace, so that indexed twice it is
// stored once. A long one is stored in chunks.
func (ds *DocStore) Index(ctx context.Context, docs []*ai.Document) ([]string, error) {
	if len(docs) == 0 {
		return nil, ctx.Err()
	}
	ids, batch := make([]string, len(docs)), make([]engine.Document, len(docs))
	for i, d := range docs {
		doc, err := ds.document(d)
		if err != nil {
			return nil, fmt.Errorf("document %d: %w", i, err)
		}
		ids[i], batch[i] = doc.ID, doc
	}
	if ds.cfg.Embedder != nil {
		vectors, err := embed(ctx, ds.cfg.Embedder, docs, ds.cfg.PassageOptions)
		if err != nil {
			return nil, err
		}
		for i := range batch {
			batch[i].Vector = vectors[i]
		}
	}
	if _, err := ds.cfg.DB.Upsert(ctx, batch); err != nil {
		return nil, err
	}
	return ids, nil
}

func (ds *DocStore) document(d *ai.Document) (engine.Document, error) {
	text, err := textOf(d)
	if err != nil {
		return engine.Document{}, err
	}
	metadata := maps.Clone(d.Metadata)
	delete(metadata, IDKey)
	delete(metadata, ScoreKey)
	id, given := d.Metadata[IDKey].(string)
	if !given {
		if id, err = adapt.ID(ds.cfg.Namespace, text, metadata); err != nil {
			return engine.Document{}, err
		}
	}
	metadata, err = adapt.Mark(metadata, ds.cfg.Namespace)
	return engine.Document{ID: id, Text: text, Metadata: metadata}, err
}

// textOf joins the parts of a document, a line each.
func textOf(d *ai.Document) (string, error) {
	if d == nil {
		return "", fmt.Errorf("%w: no document", engine.ErrInvalid)
	}
	parts := make([]string, len(d.Content))
	for i, p := range d.Content {
		if p == nil || !p.IsText() {
			return "", fmt.Errorf("%w: part %d is no text; leave it out, or store its description", engine.ErrInvalid, i)
		}
		parts[i] = p.Text
	}
	return strings.Join(parts, "\n"), nil
}

// Retrieve finds documents for the text of a request's query; of a long one the
// chunk that was found. Metadata are as encoding/json reads them, with IDKey and
// ScoreKey; a number that would lose digits as float64 is a json.Number, and a title of
// the database stands in them as "title".
func (ds *DocStore) Retrieve(ctx context.Context, req *ai.RetrieverRequest) (*ai.RetrieverResponse, error) {
	if req == nil {
		return nil, fmt.Errorf("%w: no request", engine.ErrInvalid)
	}
	o, err := optionsOf(req.Options)
	if err != nil {
		return nil, err
	}
	q, err := ds.search(ctx, req.Query, o)
	if err != nil {
		return nil, err
	}
	found, err := ds.cfg.DB.Search(ctx, q)
	if err != nil {
		return nil, err
	}
	res := &ai.RetrieverResponse{Documents: []*ai.Document{}}
	for _, h := range found.Hits {
		if o.MinScore != 0 && float64(h.Score) < o.MinScore {
			continue
		}
		metadata := adapt.Metadata(h)
		metadata[IDKey], metadata[ScoreKey] = h.ID, float64(h.Score)
		res.Documents = append(res.Documents, ai.DocumentFromText(h.Text, metadata))
	}
	return res, nil
}

// search is the engine's query for one of Genkit's.
func (ds *DocStore) search(ctx context.Context, query *ai.Document, o RetrieverOptions) (q engine.Query, err error) {
	text, err := textOf(query)
	if err != nil {
		return q, fmt.Errorf("the query: %w", err)
	}
	q, err = adapt.Query(ds.cfg.Query, adapt.Call{Text: text, K: o.K, Mode: o.Mode, Variant: o.Variant, Filter: o.Filter, Namespace: cmp.Or(o.Namespace, ds.cfg.Namespace), Threshold: o.MinScore})
	if err != nil {
		return q, err
	}
	if ds.cfg.Embedder != nil && q.Mode != engine.ModeLexical {
		vectors, err := embed(ctx, ds.cfg.Embedder, []*ai.Document{query}, ds.cfg.QueryOptions)
		if err != nil {
			return q, fmt.Errorf("the query: %w", err)
		}
		q.Vector = vectors[0]
	}
	return q, nil
}

// optionsOf reads the options of a request in every form that they come in.
func optionsOf(v any) (o RetrieverOptions, err error) {
	switch v := v.(type) {
	case nil:
		return o, nil
	case RetrieverOptions:
		return v, nil
	case *RetrieverOptions:
		if v != nil {
			o = *v
		}
		return o, nil
	case map[string]any:
		raw, err := json.Marshal(v)
		if err == nil {
			dec := json.NewDecoder(bytes.NewReader(raw))
			dec.DisallowUnknownFields()
			dec.UseNumber()
			err = dec.Decode(&o)
		}
		if err != nil {
			return o, fmt.Errorf("%w: options of a retriever: %v", engine.ErrInvalid, err)
		}
		return o, nil
	}
	return o, fmt.Errorf("%w: options of type %T; use *RetrieverOptions", engine.ErrInvalid, v)
}
