package lexsem

import (
	"context"
	"fmt"
	"slices"

	"github.com/firebase/genkit/go/ai"

	"github.com/lexsem/lexsem/encoder"
	"github.com/lexsem/lexsem/engine/adapters/internal/adapt"
)

// EncoderOptions configure Encoder.
type EncoderOptions struct {
	// Name tells the encoder's vectors from others; "" means the embedder's name. Set it if Passage or Query select a
	// model or a vector length.
	Name string
	// Passage and Query are the embedder's options for stored texts and for queries, such as a task type.
	Passage, Query any
}

// Encoder makes an encoder from an embedder, to open a database with; dim is the vector length. There are no tokens:
// variants that need tokens use the words.
//
// Invalid arguments or vectors are reported by each call, as encoder.ErrContract. The encoder is as safe for concurrent
// use as the embedder.
func Encoder(e ai.Embedder, dim int, o EncoderOptions) encoder.Encoder {
	if e == nil {
		return encoder.Func(o.Name, dim, nil)
	}
	if o.Name == "" {
		o.Name = e.Name()
	}
	ask := func(options any) encoder.Encoder {
		return encoder.Func(o.Name, dim, func(ctx context.Context, texts []string) ([][]float32, error) {
			docs := make([]*ai.Document, len(texts))
			for i, text := range texts {
				docs[i] = ai.DocumentFromText(text, nil)
			}
			return embed(ctx, e, docs, options)
		})
	}
	return adapt.ByRole(ask(o.Passage), ask(o.Query))
}

// batch is the number of documents in one call of an embedder: services refuse more than some hundred, and
// the context is checked between calls.
const batch = 64

// embed asks an embedder for one vector a document.
func embed(ctx context.Context, e ai.Embedder, docs []*ai.Document, options any) ([][]float32, error) {
	vectors := make([][]float32, 0, len(docs))
	for part := range slices.Chunk(docs, batch) {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		res, err := e.Embed(ctx, &ai.EmbedRequest{Input: part, Options: options})
		if err != nil {
			return nil, fmt.Errorf("embedding by %s: %w", e.Name(), err)
		}
		if res == nil {
			res = &ai.EmbedResponse{}
		}
		if len(res.Embeddings) != len(part) {
			return nil, fmt.Errorf("%w: embedder %s gives %d vectors for %d documents", encoder.ErrContract, e.Name(), len(res.Embeddings), len(part))
		}
		for _, v := range res.Embeddings {
			if v == nil || v.Embedding == nil {
				return nil, fmt.Errorf("%w: embedder %s gives no vector for document %d", encoder.ErrContract, e.Name(), len(vectors))
			}
			vectors = append(vectors, v.Embedding)
		}
	}
	return vectors, nil
}
