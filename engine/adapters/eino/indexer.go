package lexsem

import (
	"context"
	"fmt"
	"maps"
	"strconv"

	"github.com/cloudwego/eino/callbacks"
	"github.com/cloudwego/eino/components"
	"github.com/cloudwego/eino/components/indexer"
	"github.com/cloudwego/eino/schema"

	"github.com/lexsem/lexsem/engine"
	"github.com/lexsem/lexsem/engine/adapters/internal/adapt"
)

// Metadata fields with a meaning in schema.Document.
const (
	subIndexesKey   = "_sub_indexes"
	scoreKey        = "_score"
	denseVectorKey  = "_dense_vector"
	sparseVectorKey = "_sparse_vector"
)

// Indexer is an indexer.Indexer over a database. It is safe for concurrent use.
type Indexer struct{ cfg Config }

var (
	_ indexer.Indexer    = (*Indexer)(nil)
	_ components.Typer   = (*Indexer)(nil)
	_ components.Checker = (*Indexer)(nil)
)

// NewIndexer returns an Indexer. It uses the fields DB, Namespace and Embedding of c.
func NewIndexer(c *Config) (*Indexer, error) {
	if err := c.check(); err != nil {
		return nil, err
	}
	return &Indexer{*c}, nil
}

// GetType returns the component's name for callbacks: "LexsemIndexer".
func (x *Indexer) GetType() string { return "Lexsem" }

// IsCallbacksEnabled reports whether the component itself calls callbacks.
func (x *Indexer) IsCallbacksEnabled() bool { return true }

// Store stores documents and returns their ids in order: all of them or, on an error, none. A stored document with the
// same id is replaced. Long documents are stored in chunks.
//
// Without an id, a document gets a hash of content, metadata, sub-indexes and namespace. WithSubIndexes adds to each
// document's sub-indexes. WithEmbedding makes the vectors of documents that have none (see Config.Embedding).
func (x *Indexer) Store(ctx context.Context, docs []*schema.Document, opts ...indexer.Option) (ids []string, err error) {
	o := indexer.GetCommonOptions(&indexer.Options{Embedding: x.cfg.Embedding}, opts...)
	ctx = callbacks.EnsureRunInfo(ctx, x.GetType(), components.ComponentOfIndexer)
	ctx = callbacks.OnStart(ctx, &indexer.CallbackInput{Docs: docs})
	defer func() {
		if err != nil {
			callbacks.OnError(ctx, err)
		}
	}()
	ids, batch := make([]string, len(docs)), make([]engine.Document, len(docs))
	for i, d := range docs {
		if batch[i], err = x.document(d, o.SubIndexes); err != nil {
			return nil, fmt.Errorf("document %d: %w", i, err)
		}
		ids[i] = batch[i].ID
	}
	if o.Embedding != nil {
		if err := fill(ctx, o, batch); err != nil {
			return nil, err
		}
	}
	if len(batch) > 0 {
		if _, err := x.cfg.DB.Upsert(ctx, batch); err != nil {
			return nil, err
		}
	}
	callbacks.OnEnd(ctx, &indexer.CallbackOutput{IDs: ids})
	return ids, nil
}

// fill asks an embedder for the vectors of documents without one.
func fill(ctx context.Context, o *indexer.Options, batch []engine.Document) error {
	var texts []string
	var at []int
	for i, d := range batch {
		if d.Vector == nil {
			texts, at = append(texts, d.Text), append(at, i)
		}
	}
	if len(texts) == 0 {
		return nil
	}
	vectors, err := embed(ctx, o.Embedding, texts)
	if err != nil {
		return fmt.Errorf("embedding %d documents: %w", len(texts), err)
	}
	for i, v := range vectors {
		batch[at[i]].Vector = v
	}
	return nil
}

func (x *Indexer) document(d *schema.Document, subIndexes []string) (engine.Document, error) {
	if d == nil {
		return engine.Document{}, fmt.Errorf("%w: no document", engine.ErrInvalid)
	}
	metadata := maps.Clone(d.MetaData)
	for _, key := range []string{scoreKey, denseVectorKey, subIndexesKey} {
		delete(metadata, key)
	}
	if all := append(d.SubIndexes()[:len(d.SubIndexes()):len(d.SubIndexes())], subIndexes...); len(all) > 0 {
		if metadata == nil {
			metadata = map[string]any{}
		}
		metadata[subIndexesKey] = all
	}
	id := d.ID
	if id == "" {
		var err error
		if id, err = adapt.ID(x.cfg.Namespace, d.Content, metadata); err != nil {
			return engine.Document{}, err
		}
	}
	metadata, err := adapt.Mark(metadata, x.cfg.Namespace)
	doc := engine.Document{ID: id, Text: d.Content, Metadata: metadata}
	if v := d.DenseVector(); v != nil {
		doc.Vector = narrow(v)
	}
	return doc, err
}

// restored converts metadata from JSON to the types that schema.Document reads.
func restored(m map[string]any) map[string]any {
	if list, ok := m[subIndexesKey].([]any); ok {
		names := make([]string, 0, len(list))
		for _, v := range list {
			if s, ok := v.(string); ok {
				names = append(names, s)
			}
		}
		m[subIndexesKey] = names
	}
	if weights, ok := m[sparseVectorKey].(map[string]any); ok {
		sparse := make(map[int]float64, len(weights))
		for k, v := range weights {
			at, err := strconv.Atoi(k)
			if w, ok := v.(float64); ok && err == nil {
				sparse[at] = w
			}
		}
		m[sparseVectorKey] = sparse
	}
	return m
}
