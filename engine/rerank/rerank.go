// Package rerank has rerankers for the second stage of a search (engine.Options.Reranker). Start with [New]
// for a server that answers as Cohere, Jina or Text Embeddings Inference does, or with [Func] for a function.
// Cross-encoders in a folder are opened by OpenCross of encoder/onnx and encoder/native.
//
// A Server is safe for concurrent use and makes no call before the first Rerank. Calls that fail with status
// 429 or 5xx are tried again. Errors wrap ErrServer and contain no key.
package rerank

import "context"

// Func is a function as a reranker. It returns one score per text, in their order. Higher is better.
// It must be safe for concurrent use.
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
