// Package lexsem makes a lexsem database a retriever of Genkit.
//
//	g := genkit.Init(ctx)
//	store, retriever, err := lexsem.DefineRetriever(g, "notes", lexsem.Config{DB: db}, nil)
//	ids, err := store.Index(ctx, docs)
//	res, err := genkit.Retrieve(ctx, g, ai.WithRetriever(retriever), ai.WithTextDocs("how do I rotate the keys"),
//		ai.WithConfig(&lexsem.RetrieverOptions{K: 5, Filter: `lang = "go"`}))
//
// The database's own encoder makes the vectors, and searches are hybrid: by meaning and by the words of the
// query. Encoder makes an encoder of an ai.Embedder, to open a database with. Documents are texts: documents
// with media are refused.
//
// Errors are those of package engine: an error for a wrong argument matches engine.ErrInvalid.
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

// Metadata fields of documents found. Index stores a document under the id in its field IDKey, and does not store
// ScoreKey.
const (
	IDKey    = "_id"    // string
	ScoreKey = "_score" // float64, engine.Hit.Score
)

// Database is the part of a database that a store uses. *engine.Engine implements it.
type Database interface {
	Upsert(ctx context.Context, docs []engine.Document) (engine.AddResult, error)
	Search(ctx context.Context, q engine.Query) (engine.Result, error)
}

// Config selects the database of a retriever, and how it is searched.
type Config struct {
	// DB is the database. The caller closes it.
	DB Database
	// Query is the base of every search: Mode, Variant, Fusion, PerChunk, Collapse, K and Spans (returned as metadata
	// "_span"). Its Filter applies together with that of the call. Text and Vector come from the call.
	Query engine.Query
	// Namespace separates the documents of an index; "" stores without one and searches all.
	Namespace string
	// Embedder, if not nil, makes all vectors, with its options, instead of the database's encoder. Use it only with a
	// database without an encoder (engine.Options.Dim): vectors of two models do not compare, and no error would tell.
	Embedder                     ai.Embedder
	PassageOptions, QueryOptions any
}

// RetrieverOptions configure one call, as the options of a request: a value, a pointer, or a JSON object with the same
// fields. Zero fields mean Config.Query.
type RetrieverOptions struct {
	// K is the number of documents; 0 means Config.Query.K, or 10.
	K int `json:"k,omitempty"`
	// Filter is an engine.Filter, a text for filter.Parse, or an object of fields to the required value or to a list of
	// allowed values.
	Filter any `json:"filter,omitempty"`
	// Mode is auto, dense, lexical or hybrid. Variant names the modulation.
	Mode    string `json:"mode,omitempty"`
	Variant string `json:"variant,omitempty"`
	// MinScore drops documents with a lower score; 0 means no limit. The score is the cosine plus up to 0.6 for words
	// in a hybrid search, the cosine in mode dense, and BM25, which has no bound, in mode lexical.
	MinScore float64 `json:"minScore,omitempty"`
	// Namespace replaces Config.Namespace in this call.
	Namespace string `json:"namespace,omitempty"`
}

// DocStore indexes and retrieves documents. It is safe for concurrent use.
type DocStore struct{ cfg Config }

// DefineRetriever registers a retriever as lexsem/NAME. It returns the retriever and the store that it searches.
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

// IsDefinedRetriever reports whether DefineRetriever registered this name.
func IsDefinedRetriever(g *genkit.Genkit, name string) bool { return Retriever(g, name) != nil }

// Retriever returns the retriever that DefineRetriever registered under this name, or nil.
func Retriever(g *genkit.Genkit, name string) ai.Retriever {
	return genkit.LookupRetriever(g, api.NewName(provider, name))
}

// Index stores documents and returns their ids in order: all of them or, on an error, none. A stored document with the
// same id is replaced. Long documents are stored in chunks. Without IDKey, a document's id is a hash of text, metadata
// and namespace.
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

// Retrieve returns the documents for the text of a request's query; for a long document its best chunk. Metadata also
// has IDKey, ScoreKey and the title as "title". Numbers are float64, as encoding/json reads them, or json.Number if
// they would lose digits.
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

// search converts a query of Genkit to one of the engine.
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

// optionsOf reads the options of a request in each of their forms.
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
