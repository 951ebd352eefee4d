package httpapi

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/lexsem/lexsem/encoder"
	"github.com/lexsem/lexsem/engine"
	stage "github.com/lexsem/lexsem/engine/rerank"
	"github.com/lexsem/lexsem/internal/testkit/reranktest"
)

// reranked is a client of a server whose reranker is r.
func reranked(t *testing.T, r engine.Reranker, o Options) *client {
	t.Helper()
	enc := encoder.NewHash(32)
	db := database(t, enc, engine.Options{Reranker: r})
	if _, err := db.Delete(t.Context(), []string{"keys", "backup", "docs/bees.md"}); err != nil {
		t.Fatal(err)
	}
	o.Encoder, o.Reranker = enc, r
	c := clientOf(t, db, o)
	c.want(c.ask("POST", "/v1/documents", `{"documents": [
		{"id": "long", "text": "signing keys are rotated by hand once a year, says the long handbook of the house, signing keys"},
		{"id": "short", "text": "keys and a year"}, {"id": "other", "text": "bread and keys"}]}`), 200, "")
	return c
}

// shorter prefers short texts.
var shorter = stage.Func(func(_ context.Context, _ string, texts []string) ([]float64, error) {
	out := make([]float64, len(texts))
	for i, t := range texts {
		out[i] = -float64(len(t))
	}
	return out, nil
})

func TestSearchReranked(t *testing.T) {
	c := reranked(t, shorter, Options{MaxRerank: 10})
	plain := c.ask("POST", "/v1/search", `{"query": "signing keys", "rerank": -1}`)
	if plain.at(t, "hits", 0, "id") != "long" || strings.Contains(plain.raw, "rerank") {
		t.Fatal(plain.raw)
	}
	for _, body := range []string{`{"query": "signing keys"}`, `{"query": "signing keys", "rerank": 10}`, `{"query": "signing keys", "mode": "lexical", "rerank": 3}`} {
		got := c.ask("POST", "/v1/search", body)
		if got.at(t, "hits", 0, "id") != "other" || got.at(t, "hits", 0, "rank") != 1.0 || got.at(t, "hits", 0, "rerank") != -14.0 || got.at(t, "reranked") != 3.0 {
			t.Error(body, got.raw)
		}
	}
	if got := c.ask("POST", "/v1/search", `{"query": "signing keys", "rerank": 1}`); got.at(t, "hits", 0, "id") != "long" || got.at(t, "reranked") != 1.0 || strings.Count(got.raw, `"rerank"`) != 1 {
		t.Error(got.raw)
	}
	got := c.ask("POST", "/v1/search/batch", `{"searches": [{"query": "signing keys"}, {"query": "signing keys", "rerank": -1}]}`)
	if got.at(t, "results", 0, "hits", 0, "id") != "other" || got.at(t, "results", 1, "hits", 0, "id") != "long" {
		t.Error(got.raw)
	}
	if got := c.ask("POST", "/v1/explain", `{"query": "signing keys", "id": "long"}`); got.at(t, "rank") != 3.0 || got.at(t, "rerank").(float64) > -50 || got.at(t, "reranked") != 3.0 {
		t.Error(got.raw)
	}
	c.want(c.ask("POST", "/v1/search", `{"query": "keys", "rerank": 11}`), 400, "invalid")
	c.want(c.ask("POST", "/v1/search", `{"query": "keys", "rerank": "yes"}`), 400, "invalid")
	none := newClient(t, Options{})
	none.want(none.ask("POST", "/v1/search", `{"query": "keys", "rerank": 3}`), 501, "no_reranker")
}

// A reranker that fails is told of without what it says of this machine.
func TestRerankerFails(t *testing.T) {
	c := reranked(t, stage.Func(func(context.Context, string, []string) ([]float64, error) {
		return nil, errors.New("POST http://10.0.0.7:8080/rerank: status 500")
	}), Options{})
	for path, body := range map[string]string{"/v1/search": `{"query": "keys"}`, "/v1/explain": `{"query": "keys", "id": "short"}`, "/v1/rerank": `{"query": "keys", "documents": ["a"]}`} {
		got := c.ask("POST", path, body)
		c.want(got, 502, "reranker")
		if strings.Contains(got.raw, "10.0.0.7") {
			t.Error(got.raw)
		}
	}
	c.want(c.ask("POST", "/v1/search", `{"query": "keys", "rerank": -1}`), 200, "")
}

// /v1/rerank is answered by the server's reranker, unless the encoder is asked for, and
// without an encoder, too.
func TestRerankByReranker(t *testing.T) {
	r := stage.Func(reranktest.Scores)
	c := reranked(t, r, Options{})
	for _, model := range []string{``, `, "model": "reranker"`, `, "model": "Reranker"`} {
		got := c.ask("POST", "/v1/rerank", `{"query": "rotate keys", "documents": ["bread", {"title": "rotate", "text": "the keys"}, "keys"], "return_documents": true`+model+`}`)
		if got.at(t, "results", 0, "index") != 1.0 || got.at(t, "results", 1, "index") != 2.0 || got.at(t, "results", 0, "relevance_score").(float64) < .99 ||
			got.at(t, "model") != "reranker" || strings.Contains(got.raw, "cosine") || got.at(t, "results", 2, "document", "text") != "bread" {
			t.Error(got.raw)
		}
	}
	if got := c.ask("POST", "/v1/rerank", `{"query": "rotate keys", "documents": ["bread", "keys"], "top_n": 1, "model": "reranker"}`); len(got.at(t, "results").([]any)) != 1 {
		t.Error(got.raw)
	}
	if got := c.ask("POST", "/v1/rerank", `{"query": "rotate keys", "documents": ["bread", "keys"], "model": "hash-32"}`); got.at(t, "results", 0, "cosine") == nil {
		t.Error(got.raw)
	}
	c.want(c.ask("POST", "/v1/rerank", `{"query": "a", "documents": ["b"], "model": "rerank-v3"}`), 404, "model_not_found")
	c.want(c.ask("POST", "/v1/rerank", `{"query": "a", "documents": [], "model": "reranker"}`), 400, "invalid")
	without := clientOf(t, database(t, nil, engine.Options{Dim: 3}), Options{Reranker: r})
	if got := without.ask("POST", "/v1/rerank", `{"query": "keys", "documents": ["bread", "keys"]}`); got.at(t, "results", 0, "index") != 1.0 {
		t.Error(got.raw)
	}
	without.want(without.ask("POST", "/v1/rerank", `{"query": "a", "documents": ["b"], "model": "m"}`), 501, "no_encoder")
}
