// Package rerank holds rerankers for a second stage of searches (engine.Options.Reranker):
// any server that answers as Cohere's, Jina's or Text Embeddings Inference's does, and
// any function. Cross-encoders in a folder are run by encoder/onnx and encoder/native.
package rerank

import "context"

// Func makes a reranker of a function: it returns a score for each text, in their order,
// higher is better, and is safe for concurrent use.
//
//	shorter := rerank.Func(func(_ context.Context, query string, texts []string) ([]float64, error) {
//		scores := make([]float64, len(texts))
//		for i, t := range texts {
//			scores[i] = -float64(len(t))
//		}
//		return scores, nil
//	})
//	db, err := engine.Open(ctx, dir, enc, engine.Options{Reranker: shorter})
type Func func(ctx context.Context, query string, texts []string) ([]float64, error)

// Rerank implements engine.Reranker.
func (f Func) Rerank(ctx context.Context, query string, texts []string) ([]float64, error) {
	return f(ctx, query, texts)
}
