package mcp_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/lexsem/lexsem/engine"
	"github.com/lexsem/lexsem/engine/rerank"
	"github.com/lexsem/lexsem/serve/mcp"
)

// Hits and explanations tell the reranker's score; what it fails with stays in the log.
func TestReranked(t *testing.T) {
	byLength := rerank.Func(func(_ context.Context, _ string, texts []string) ([]float64, error) {
		out := make([]float64, len(texts))
		for i, s := range texts {
			out[i] = -float64(len(s))
		}
		return out, nil
	})
	c := connect(t, engine.WithReranker(shelf(t), byLength, 2), mcp.Options{})
	var out struct {
		Hits []struct {
			ID     string
			Rerank *float64
		}
	}
	text, failed := call(t, c, "search", object{"query": "keys"}, &out)
	if failed || len(out.Hits) < 3 || out.Hits[1].Rerank == nil || out.Hits[2].Rerank != nil || *out.Hits[0].Rerank < *out.Hits[1].Rerank || strings.Count(text, "  rerank -") != 2 {
		t.Errorf("%+v\n%s", out, text)
	}
	if text, failed := call(t, c, "explain", object{"query": "keys", "id": out.Hits[1].ID}, nil); failed || !strings.Contains(text, "rank 2,") || !strings.Contains(text, "\nrerank -") {
		t.Error(text)
	}
	broken := rerank.Func(func(context.Context, string, []string) ([]float64, error) {
		return nil, errors.New("http://10.0.0.7/rerank")
	})
	c = connect(t, engine.WithReranker(shelf(t), broken, 0), mcp.Options{})
	if text, failed := call(t, c, "search", object{"query": "keys"}, nil); !failed || strings.Contains(text, "10.0.0.7") || !strings.Contains(text, "reranker") {
		t.Error(text)
	}
}
