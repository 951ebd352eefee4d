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
//   - WithFilters takes an engine.Filter, a text as filter.Parse reads it, or a
//     map[string]any of fields to the value that each must have, or to a slice of
//     values of which it must have one.
//   - WithScoreThreshold leaves out documents whose Score is lower; 0 is none. A
//     Score is engine.Hit.Score: in a hybrid search the cosine and up to 0.6 for the
//     words, in engine.ModeDense the cosine alone, in engine.ModeLexical BM25, which has
//     no bound.
//   - WithNameSpace keeps what is added, and what is searched, in a namespace. A
//     search without one is over all.
//   - WithEmbedder makes the vectors of that call by another embedder. It is for
//     databases of vectors alone (engine.Options.Dim): in others, vectors of two models
//     do not compare, and nothing would tell.
//   - WithDeduplicater leaves out documents of which the function says true.
//
// Errors are those of package engine: errors.Is(err, engine.ErrInvalid) is a wrong
// argument.
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

// Database is what a store needs of one: *engine.Engine has it.
type Database interface {
	Upsert(ctx context.Context, docs []engine.Document) (engine.AddResult, error)
	Search(ctx context.Context, q engine.Query) (engine.Result, error)
}

// Store is a vectorstores.VectorStore over a database, which stays the caller's to
// close. It is safe for concurrent use.
type Store struct {
	db    Database
	query engine.Query
	idKey string
	opts  []vectorstores.Option
}

var _ vectorstores.VectorStore = (*Store)(nil)

// Option shapes a Store.
type Option func(*Store)

// WithQuery sets what every search begins with: Mode, Variant, Fusion, PerChunk,
// Collapse, Spans (a document's is in its metadata under "_span"), a Filter that holds beside that of each call, K where a
// call names 0. Text and Vector are the call's. Two stores over one database may search it in two ways.
func WithQuery(q engine.Query) Option { return func(s *Store) { s.query = q } }

// WithIDKey names the metadata field that is a document's id: what has a text there
// is stored under it, and every document found has its id there. Without it, and for
// documents that lack the field, the id is a hash of content, metadata and namespace, so
// that the same document added twice is stored once.
func WithIDKey(key string) Option { return func(s *Store) { s.idKey = key } }

// WithDefaults sets options that hold for every call, before its own: a namespace,
// an embedder, a threshold.
func WithDefaults(opts ...vectorstores.Option) Option {
	return func(s *Store) { s.opts = append(s.opts, opts...) }
}

// New returns a store over a database.
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

// AddDocuments stores documents and returns their ids, in their order, without those
// that WithDeduplicater leaves out. All are stored or none; one with an id that is
// stored already takes its place. A long one is stored in chunks.
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

// SimilaritySearch returns the numDocuments best documents, best first; of a long
// one the chunk that was found. 0 is what WithQuery says, else 10. Their metadata are as
// encoding/json reads them, numbers float64; one that would lose digits is a
// json.Number. A title of the database stands in them as "title".
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
