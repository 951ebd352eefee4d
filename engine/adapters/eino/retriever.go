// Package lexsem makes a lexsem database a retriever and an indexer of Eino.
//
//	indexer, err := lexsem.NewIndexer(&lexsem.Config{DB: db})
//	retriever, err := lexsem.NewRetriever(&lexsem.Config{DB: db})
//	ids, err := indexer.Store(ctx, docs)
//	docs, err := retriever.Retrieve(ctx, "how do I rotate the keys", retriever.WithTopK(5), lexsem.WithFilter(`lang = "go"`))
//
// Both are components for chains and graphs, and report to callbacks. The database's
// own encoder makes the vectors, and searches are hybrid: by meaning and by the words
// of the query. Encoder makes an encoder of an embedding.Embedder, to open a database
// with.
//
// Fields of schema.Document: ID is the document's id. SubIndexes are kept, and WithSubIndex searches one of
// them. DenseVector is stored as the vector. Score is set on found documents and not stored. SparseVector,
// ExtraInfo, DSLInfo and other metadata are kept. Their numbers come back as float64, or as json.Number if
// that would lose digits.
//
// Errors are those of package engine: an error for a wrong argument matches engine.ErrInvalid.
package lexsem

import (
	"context"
	"fmt"

	"github.com/cloudwego/eino/callbacks"
	"github.com/cloudwego/eino/components"
	"github.com/cloudwego/eino/components/embedding"
	"github.com/cloudwego/eino/components/retriever"
	"github.com/cloudwego/eino/schema"

	"github.com/lexsem/lexsem/encoder"
	"github.com/lexsem/lexsem/engine"
	"github.com/lexsem/lexsem/engine/adapters/internal/adapt"
	"github.com/lexsem/lexsem/engine/filter"
)

// Database is the part of a database that the components use. *engine.Engine implements it.
type Database interface {
	Upsert(ctx context.Context, docs []engine.Document) (engine.AddResult, error)
	Search(ctx context.Context, q engine.Query) (engine.Result, error)
}

// Config selects the database of a component, and how it is searched.
type Config struct {
	// DB is the database. The caller closes it.
	DB Database
	// Query is the base of every search: Mode, Variant, Fusion, PerChunk, Collapse, K and Spans (returned as metadata
	// "_span"). Its Filter applies together with that of the call. Text and Vector come from the call.
	Query engine.Query
	// ScoreThreshold, if not nil, keeps only documents with a greater score: the cosine plus up to 0.6 for words in a
	// hybrid search, the cosine in engine.ModeDense, and BM25, which has no bound, in engine.ModeLexical.
	ScoreThreshold *float64
	// Namespace separates documents and searches; "" stores without one and searches all.
	Namespace string
	// Embedding, if not nil, makes all vectors instead of the database's encoder. Use it only with a database without
	// an encoder (engine.Options.Dim): vectors of two models do not compare, and no error would tell.
	Embedding embedding.Embedder
}

func (c *Config) check() error {
	if c == nil || c.DB == nil {
		return fmt.Errorf("%w: no database; set Config.DB", engine.ErrInvalid)
	}
	return nil
}

// Retriever is a retriever.Retriever over a database. It is safe for concurrent use.
type Retriever struct{ cfg Config }

var (
	_ retriever.Retriever = (*Retriever)(nil)
	_ components.Typer    = (*Retriever)(nil)
	_ components.Checker  = (*Retriever)(nil)
)

// NewRetriever returns a Retriever.
func NewRetriever(c *Config) (*Retriever, error) {
	if err := c.check(); err != nil {
		return nil, err
	}
	return &Retriever{*c}, nil
}

// callOptions are options of one call that Eino has no field for.
type callOptions struct {
	filter        any
	mode, variant string
}

// WithFilter keeps documents that match a filter: an engine.Filter, a text for filter.Parse, or a map of fields to the
// required value or to a slice of allowed values.
func WithFilter(f any) retriever.Option {
	return retriever.WrapImplSpecificOptFn(func(o *callOptions) { o.filter = f })
}

// WithMode sets the mode of a call: engine.ModeAuto, ModeDense, ModeLexical or ModeHybrid.
func WithMode(mode string) retriever.Option {
	return retriever.WrapImplSpecificOptFn(func(o *callOptions) { o.mode = mode })
}

// WithVariant names the modulation of a call, like engine.Query.Variant.
func WithVariant(name string) retriever.Option {
	return retriever.WrapImplSpecificOptFn(func(o *callOptions) { o.variant = name })
}

// GetType returns the component's name for callbacks: "LexsemRetriever".
func (r *Retriever) GetType() string { return "Lexsem" }

// IsCallbacksEnabled reports whether the component itself calls callbacks.
func (r *Retriever) IsCallbacksEnabled() bool { return true }

// Retrieve returns documents, best first; for a long document its best chunk. It reads WithTopK (0 means
// Config.Query.K, or 10), WithScoreThreshold, WithSubIndex and WithEmbedding.
//
// It refuses WithIndex, as a retriever has one database, and WithDSLInfo: use WithFilter.
func (r *Retriever) Retrieve(ctx context.Context, query string, opts ...retriever.Option) (docs []*schema.Document, err error) {
	common := retriever.GetCommonOptions(&retriever.Options{ScoreThreshold: r.cfg.ScoreThreshold, Embedding: r.cfg.Embedding}, opts...)
	own := retriever.GetImplSpecificOptions[callOptions](nil, opts...)
	ctx = callbacks.EnsureRunInfo(ctx, r.GetType(), components.ComponentOfRetriever)
	in := &retriever.CallbackInput{Query: query, TopK: r.cfg.Query.K, ScoreThreshold: common.ScoreThreshold}
	if common.TopK != nil {
		in.TopK = *common.TopK
	}
	if own.filter != nil {
		in.Filter = fmt.Sprint(own.filter)
	}
	ctx = callbacks.OnStart(ctx, in)
	defer func() {
		if err != nil {
			callbacks.OnError(ctx, err)
		}
	}()
	q, err := r.query(ctx, query, common, own)
	if err != nil {
		return nil, err
	}
	found, err := r.cfg.DB.Search(ctx, q)
	if err != nil {
		return nil, err
	}
	docs = []*schema.Document{}
	for _, h := range found.Hits {
		if common.ScoreThreshold != nil && float64(h.Score) <= *common.ScoreThreshold {
			continue
		}
		docs = append(docs, (&schema.Document{ID: h.ID, Content: h.Text, MetaData: restored(adapt.Metadata(h))}).WithScore(float64(h.Score)))
	}
	callbacks.OnEnd(ctx, &retriever.CallbackOutput{Docs: docs})
	return docs, nil
}

// query converts a query of Eino to one of the engine.
func (r *Retriever) query(ctx context.Context, text string, common *retriever.Options, own *callOptions) (q engine.Query, err error) {
	if common.Index != nil || common.DSLInfo != nil {
		return q, fmt.Errorf("%w: WithIndex and WithDSLInfo; make a retriever for each database, and filter by WithFilter", engine.ErrInvalid)
	}
	call := adapt.Call{Text: text, Mode: own.mode, Variant: own.variant, Filter: own.filter, Namespace: r.cfg.Namespace}
	if common.TopK != nil {
		call.K = *common.TopK
	}
	if common.ScoreThreshold != nil {
		call.Threshold = *common.ScoreThreshold
	}
	if q, err = adapt.Query(r.cfg.Query, call); err != nil {
		return q, err
	}
	if common.SubIndex != nil {
		if q.Filter, err = adapt.Narrow(q.Filter, filter.Eq(subIndexesKey, *common.SubIndex), ""); err != nil {
			return q, err
		}
	}
	if common.Embedding != nil && q.Mode != engine.ModeLexical {
		vectors, err := embed(ctx, common.Embedding, []string{text})
		if err != nil {
			return q, fmt.Errorf("embedding the query: %w", err)
		}
		q.Vector = vectors[0]
	}
	return q, nil
}

// embed asks an embedder for one vector a text.
func embed(ctx context.Context, e embedding.Embedder, texts []string) ([][]float32, error) {
	wide, err := e.EmbedStrings(ctx, texts)
	if err != nil {
		return nil, err
	}
	if len(wide) != len(texts) {
		return nil, fmt.Errorf("%w: %d vectors for %d texts", encoder.ErrContract, len(wide), len(texts))
	}
	vectors := make([][]float32, len(wide))
	for i, w := range wide {
		if len(w) == 0 {
			return nil, fmt.Errorf("%w: no vector for text %d", encoder.ErrContract, i)
		}
		vectors[i] = narrow(w)
	}
	return vectors, nil
}

func narrow(wide []float64) []float32 {
	v := make([]float32, len(wide))
	for i, x := range wide {
		v[i] = float32(x)
	}
	return v
}

// Encoder makes an encoder from an embedder, to open a database with. Only the name distinguishes its vectors from
// others, so name the model in it; dim is the vector length. There are no tokens: variants that need tokens use the
// words.
//
// Invalid arguments or vectors are reported by each call, as encoder.ErrContract. The encoder is as safe for concurrent
// use as the embedder.
func Encoder(name string, dim int, e embedding.Embedder) encoder.Encoder {
	if e == nil {
		return encoder.Func(name, dim, nil)
	}
	return encoder.Func(name, dim, func(ctx context.Context, texts []string) ([][]float32, error) { return embed(ctx, e, texts) })
}
