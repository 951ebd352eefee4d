package lexsem

import (
	"context"
	"fmt"

	"github.com/tmc/langchaingo/embeddings"

	"github.com/lexsem/lexsem/encoder"
	"github.com/lexsem/lexsem/engine/adapters/internal/adapt"
)

// Encoder makes an encoder from an embedder, to open a database with. EmbedDocuments encodes passages, EmbedQuery
// queries. Only the name distinguishes its vectors from others, so name the model in it; dim is the vector length.
// There are no tokens: variants that need tokens use the words.
//
// Invalid arguments or vectors are reported by each call, as encoder.ErrContract. The encoder is as safe for concurrent
// use as the embedder.
func Encoder(name string, dim int, e embeddings.Embedder) encoder.Encoder {
	if e == nil {
		return encoder.Func(name, dim, nil)
	}
	return adapt.ByRole(encoder.Func(name, dim, e.EmbedDocuments), encoder.Func(name, dim,
		func(ctx context.Context, texts []string) ([][]float32, error) {
			vectors := make([][]float32, len(texts))
			for i, text := range texts {
				v, err := e.EmbedQuery(ctx, text)
				if err != nil {
					return nil, fmt.Errorf("query %d: %w", i, err)
				}
				vectors[i] = v
			}
			return vectors, nil
		}))
}
