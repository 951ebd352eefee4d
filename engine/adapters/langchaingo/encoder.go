package lexsem

import (
	"context"
	"fmt"

	"github.com/tmc/langchaingo/embeddings"

	"github.com/lexsem/lexsem/encoder"
	"github.com/lexsem/lexsem/engine/adapters/internal/adapt"
)

// Encoder makes an encoder of an embedder, to open a database with: passages are
// encoded by EmbedDocuments, queries by EmbedQuery. The name is all that tells its
// vectors from those of others, so let it name the model; dim is the length of the
// vectors. There are no tokens: variants that need some take the words of the texts.
// What is wrong with the arguments, or with a vector, is encoder.ErrContract of each
// call. It is as safe for concurrent use as the embedder.
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
