// Package lexsem makes a lexsem database a vector store of LangChainGo, and by
// vectorstores.ToRetriever a retriever for its chains.
//
//	store := lexsem.New(db)
//	ids, err := store.AddDocuments(ctx, docs)
//	retriever := vectorstores.ToRetriever(store, 5, vectorstores.WithFilters(`lang = "go"`))
//
// The database's own encoder makes the vectors, and searches are hybrid: by meaning
// and by the words of the query. Encoder makes an encoder of an embeddings.Embedder,
// to open a database with.
//
// Of the options of package vectorstores:
//
//   - WithFilters takes an engine.Filter, a text for filter.Parse, or a map[string]any of fields to the
//     required value or to a slice of allowed values.
//   - WithScoreThreshold leaves out documents with a lower Score; 0 means no threshold. A Score is
//     engine.Hit.Score: in a hybrid search the cosine plus up to 0.6 for the words, in engine.ModeDense the
//     cosine, in engine.ModeLexical BM25, which has no bound.
//   - WithNameSpace restricts adding and searching to a namespace. A search without one covers all
//     namespaces.
//   - WithEmbedder makes the vectors of this call with another embedder. Use it only for databases that hold
//     only vectors (engine.Options.Dim): in other databases, the vectors of two models would be compared
//     without an error.
//   - WithDeduplicater leaves out documents for which the function returns true.
//
// Errors are those of package engine: an error for a wrong argument matches engine.ErrInvalid.
package lexsem

import (
	"context"
	"fmt"

	"github.com/tmc/langchaingo/embeddings"
	"github.com/tmc/langchaingo/schema"
	"github.com/tmc/langchaingo/vectorstores"

	"github.com/lexsem/lexsem/encoder"
	"github.com/lexsem/lexsem/engine"
	"github.com/lexsem/lexsem/engine/adapters/internal/adapt"
)

// Database is the part of a database that a store uses. *engine.Engine implements it.
type Database interface {
	Upsert(ctx context.Context, docs []engine.Document) (engine.AddResult, error)
	Search(ctx context.Context, q engine.Query) (engine.Result, error)
}

// Store is a vectorstores.VectorStore over a database, which the caller closes. It is safe for concurrent use.
type Store struct {
	db    Database
	query engine.Query
	idKey string
	opts  []vectorstores.Option
}

var _ vectorstores.VectorStore = (*Store)(nil)

// Option configures a Store.
type Option func(*Store)

// WithQuery sets the base of every search: Mode, Variant, Fusion, PerChunk, Collapse, Spans (returned as metadata
// "_span"), and K for calls with 0. Its Filter applies together with that of the call. Text and Vector come from the
// call. Two stores over one database may use different queries.
func WithQuery(q engine.Query) Option { return func(s *Store) { s.query = q } }

// WithIDKey names the metadata field that holds a document's id; documents found have their id in it. Without the
// option, and for documents without the field, the id is a hash of content, metadata and namespace.
func WithIDKey(key string) Option { return func(s *Store) { s.idKey = key } }

// WithDefaults sets options for every call, such as a namespace, an embedder or a threshold. The call's own options
// come after them.
func WithDefaults(opts ...vectorstores.Option) Option {
	return func(s *Store) { s.opts = append(s.opts, opts...) }
}

// New returns a Store over a database.
func New(db Database, opts ...Option) *Store {
	s := &Store{db: db}
	for _, o := range opts {
		o(s)
	}
	return s
}

func (s *Store) options(opts []vectorstores.Option) (o vectorstores.Options) {
	for _, set := range [][]vectorstores.Option{s.opts, opts} {
		for _, f := range set {
			f(&o)
		}
	}
	return o
}

// AddDocuments stores documents and returns their ids in order, without those that WithDeduplicater leaves out. It
// stores all of them or, on an error, none. A stored document with the same id is replaced. Long documents are stored
// in chunks.
func (s *Store) AddDocuments(ctx context.Context, docs []schema.Document, options ...vectorstores.Option) ([]string, error) {
	o := s.options(options)
	ids, batch := []string{}, []engine.Document{}
	for i, d := range docs {
		if o.Deduplicater != nil && o.Deduplicater(ctx, d) {
			continue
		}
		doc, err := s.document(d, o.NameSpace)
		if err != nil {
			return nil, fmt.Errorf("document %d: %w", i, err)
		}
		ids, batch = append(ids, doc.ID), append(batch, doc)
	}
	if len(batch) == 0 {
		return ids, ctx.Err()
	}
	if o.Embedder != nil {
		if err := embed(ctx, o.Embedder, batch); err != nil {
			return nil, err
		}
	}
	if _, err := s.db.Upsert(ctx, batch); err != nil {
		return nil, err
	}
	return ids, nil
}

func (s *Store) document(d schema.Document, namespace string) (engine.Document, error) {
	id, given := d.Metadata[s.idKey].(string)
	if s.idKey == "" || !given {
		var err error
		if id, err = adapt.ID(namespace, d.PageContent, d.Metadata); err != nil {
			return engine.Document{}, err
		}
	}
	metadata, err := adapt.Mark(d.Metadata, namespace)
	return engine.Document{ID: id, Text: d.PageContent, Metadata: metadata}, err
}

// embed gives documents the vectors of an embedder.
func embed(ctx context.Context, e embeddings.Embedder, docs []engine.Document) error {
	texts := make([]string, len(docs))
	for i, d := range docs {
		texts[i] = d.Text
	}
	vectors, err := e.EmbedDocuments(ctx, texts)
	if err != nil {
		return fmt.Errorf("embedding %d documents: %w", len(docs), err)
	}
	if len(vectors) != len(docs) {
		return fmt.Errorf("%w: the embedder gives %d vectors for %d documents", encoder.ErrContract, len(vectors), len(docs))
	}
	for i, v := range vectors {
		if v == nil {
			return fmt.Errorf("%w: the embedder gives no vector for document %d", encoder.ErrContract, i)
		}
		docs[i].Vector = v
	}
	return nil
}

// SimilaritySearch returns the numDocuments best documents, best first; for a long document its best chunk. 0 means K
// of WithQuery, or 10.
//
// Numbers in metadata are float64, as encoding/json reads them, or json.Number if they would lose digits. The title of
// a document is in its metadata as "title".
func (s *Store) SimilaritySearch(ctx context.Context, query string, numDocuments int, options ...vectorstores.Option) ([]schema.Document, error) {
	o := s.options(options)
	q, err := adapt.Query(s.query, adapt.Call{Text: query, K: numDocuments, Filter: o.Filters, Namespace: o.NameSpace, Threshold: float64(o.ScoreThreshold)})
	if err != nil {
		return nil, err
	}
	if o.Embedder != nil && q.Mode != engine.ModeLexical {
		if q.Vector, err = o.Embedder.EmbedQuery(ctx, query); err == nil && q.Vector == nil {
			err = fmt.Errorf("%w: no vector", encoder.ErrContract)
		}
		if err != nil {
			return nil, fmt.Errorf("embedding the query: %w", err)
		}
	}
	res, err := s.db.Search(ctx, q)
	if err != nil {
		return nil, err
	}
	docs := make([]schema.Document, 0, len(res.Hits))
	for _, h := range res.Hits {
		if o.ScoreThreshold != 0 && h.Score < o.ScoreThreshold {
			continue
		}
		metadata := adapt.Metadata(h)
		if s.idKey != "" {
			metadata[s.idKey] = h.ID
		}
		docs = append(docs, schema.Document{PageContent: h.Text, Metadata: metadata, Score: h.Score})
	}
	return docs, nil
}
