// Package ollama encodes by the models of an Ollama server. Start with [New], which makes no call to the
// server.
//
// The Encoder is safe for concurrent use. Encode returns all vectors, normalised and in the order of the
// texts, or an error. Calls that fail with status 429 or 5xx are tried again. A text that is too long for
// the model is an error; it is not cut. Errors of the server wrap encoder.ErrSource.
package ollama

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/lexsem/lexsem/encoder"
	"github.com/lexsem/lexsem/encoder/internal/remote"
	"github.com/lexsem/lexsem/internal/rest"
)

// DefaultURL is the default address of Ollama.
const DefaultURL = "http://127.0.0.1:11434"

// Options are the options of an encoder. Only Model is required, if the dimension of the model is
// known.
type Options struct {
	// Model is the model's name in Ollama, with or without a tag.
	Model string
	// Dim is the length of the vectors. 0 means that of the model, if it is known.
	Dim int
	// BaseURL is the address of the server. "" means the variable OLLAMA_HOST, else DefaultURL.
	BaseURL string
	// QueryPrefix and PassagePrefix are put before texts. If both are empty, the prefixes of the model's
	// training are used, if they are known.
	QueryPrefix, PassagePrefix string
	// BatchTexts is the maximum number of texts a call. 0 means 32.
	BatchTexts int
	// Concurrency is the number of calls at the same time. 0 means 2.
	Concurrency int
	// Retries is how often a call is repeated that got status 429 or 5xx, or no answer. 0 means 6, a
	// negative value means never.
	Retries int
	// Timeout bounds one attempt. 0 means five minutes, since the first call loads the model.
	Timeout time.Duration
	// TokenLimit is the maximum number of tokens of all calls together. 0 means no limit.
	TokenLimit int64
	// HTTP makes the calls. nil means a client that follows no redirects.
	HTTP *http.Client
}

// model holds known facts about a model, by its name without a tag.
type model struct {
	dim, tokens    int
	query, passage string
}

var models = map[string]model{
	"all-minilm":             {dim: 384, tokens: 256},
	"bge-m3":                 {dim: 1024, tokens: 8192},
	"embeddinggemma":         {dim: 768, tokens: 2048, query: "task: search result | query: ", passage: "title: none | text: "},
	"mxbai-embed-large":      {dim: 1024, tokens: 512, query: "Represent this sentence for searching relevant passages: "},
	"nomic-embed-text":       {dim: 768, tokens: 2048, query: "search_query: ", passage: "search_document: "},
	"snowflake-arctic-embed": {dim: 1024, tokens: 512, query: "Represent this sentence for searching relevant passages: "},
}

// batchTokens is the estimated maximum of tokens in one call.
const batchTokens = 32_000

// New returns the encoder of a model. It does not contact the server: a missing server or model is an
// error of Encode, which wraps encoder.ErrSource. Invalid options are an error that names them.
//
// Vectors are normalised. The encoder is safe for concurrent use. Encode splits its texts into calls,
// keeps their order, and returns all vectors or an error. The server is told not to cut texts: a text
// that is too long for the model is an error. The engine itself cuts texts beforehand, by an estimate.
func New(o Options) (encoder.Encoder, error) {
	name, tag, _ := strings.Cut(o.Model, ":")
	known := models[name]
	if tag != "" && tag != "latest" && o.Dim != 0 && o.Dim != known.dim {
		known = model{} // another size of the family
	}
	dim := cmp.Or(o.Dim, known.dim)
	switch {
	case o.Model == "":
		return nil, fmt.Errorf("ollama: no model; name one, such as nomic-embed-text")
	case dim < 1:
		return nil, fmt.Errorf("ollama: the dimension of model %q is not known here; give it", o.Model)
	case known.dim != 0 && dim != known.dim:
		return nil, fmt.Errorf("ollama: model %s gives vectors of %d numbers, not %d", o.Model, known.dim, dim)
	case o.BatchTexts < 0 || o.Concurrency < 0 || o.Concurrency > 1024 || o.TokenLimit < 0 || o.Timeout < 0:
		return nil, fmt.Errorf("ollama: batches of %d texts, %d calls at a time, %d tokens in all, %s a call; use positive numbers, at most 1,024 calls",
			o.BatchTexts, o.Concurrency, o.TokenLimit, o.Timeout)
	}
	base := cmp.Or(o.BaseURL, os.Getenv("OLLAMA_HOST"), DefaultURL)
	if !strings.Contains(base, "://") { // as Ollama's own variable may be
		base = "http://" + base
	}
	url, err := rest.CheckURL(base, "api/embed")
	if err != nil {
		return nil, fmt.Errorf("ollama: %w", err)
	}
	c := &client{model: o.Model, Client: rest.Client{
		Err:  encoder.ErrSource,
		URLs: []string{url}, Nobody: "start it with `ollama serve`, or set OLLAMA_HOST", Retries: o.Retries,
		Timeout: cmp.Or(o.Timeout, 5*time.Minute), HTTP: o.HTTP, Refusal: refusal,
	}}
	r := remote.Options{
		Name: "ollama:" + o.Model, Dim: dim, MaxTokens: known.tokens,
		QueryPrefix: known.query, PassagePrefix: known.passage,
		BatchTexts: cmp.Or(o.BatchTexts, 32), BatchTokens: batchTokens, Concurrency: cmp.Or(o.Concurrency, 2),
		TokenLimit: o.TokenLimit,
		Call:       func(ctx context.Context, texts []string) ([][]float32, int64, error) { return c.embed(ctx, texts, dim) },
		Refused:    rest.Refused,
	}
	if o.QueryPrefix != "" || o.PassagePrefix != "" {
		r.QueryPrefix, r.PassagePrefix = o.QueryPrefix, o.PassagePrefix
	}
	return remote.New(r), nil
}

type client struct {
	rest.Client
	model string
}

type request struct {
	Model    string   `json:"model"`
	Input    []string `json:"input"`
	Truncate bool     `json:"truncate"`
}

type answer struct {
	Embeddings [][]float32 `json:"embeddings"`
	Tokens     int64       `json:"prompt_eval_count"`
}

// embed makes one call.
func (c *client) embed(ctx context.Context, texts []string, dim int) ([][]float32, int64, error) {
	var out answer
	if err := c.Post(ctx, request{Model: c.model, Input: texts}, &out, remote.AnswerLimit(len(texts), dim)); err != nil {
		return nil, 0, err
	}
	return out.Embeddings, out.Tokens, nil
}

// refusal reads the body of an error.
func refusal(body []byte) (kind, reason string) {
	var e struct {
		Error string `json:"error"`
	}
	if json.Unmarshal(body, &e) != nil {
		return "", ""
	}
	return "", e.Error
}
