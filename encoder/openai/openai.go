// Package openai encodes by any server that answers POST /v1/embeddings as OpenAI does: OpenAI itself, and
// most servers of models and gateways. Start with [New], which makes no call to the server.
//
// The Encoder is safe for concurrent use. Encode returns all vectors, normalised and in the order of the texts, or
// an error. Calls that fail with status 429 or 5xx are tried again. If the server refuses a batch, this and later
// batches become smaller. A text that it refuses alone is cut, and the cut is counted. No error contains the key.
// Errors of the server wrap encoder.ErrSource.
package openai

import (
	"cmp"
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"os"
	"sync/atomic"
	"time"

	"github.com/lexsem/lexsem/encoder"
	"github.com/lexsem/lexsem/encoder/internal/remote"
	"github.com/lexsem/lexsem/internal/rest"
)

// DefaultURL is the address of OpenAI's own models.
const DefaultURL = "https://api.openai.com/v1"

// Options are the options of an encoder. Only Model is required, if the dimension of the model is
// known.
type Options struct {
	// Model is the model's name at the server.
	Model string
	// Dim is the length of the vectors. 0 means that of the model, which must then be one of OpenAI's. If a
	// model's vectors are longer, the server is asked for shorter ones (dimensions).
	Dim int
	// BaseURL is the address before /embeddings. "" means the variable OPENAI_BASE_URL, else
	// DefaultURL.
	BaseURL string
	// Key is the API key. If it is empty, KeyEnv names the environment variable that holds it; "" means
	// OPENAI_API_KEY. If there is no key, requests have none.
	Key, KeyEnv string
	// BatchTexts and BatchTokens bound one call; tokens are estimated. 0 means 64 texts and 100,000
	// tokens.
	BatchTexts, BatchTokens int
	// Concurrency is the number of calls at the same time. 0 means 8.
	Concurrency int
	// Retries is how often a call is repeated that got status 429 or 5xx, or no answer. 0 means 6, a
	// negative value means never.
	Retries int
	// Timeout bounds one attempt. 0 means a minute.
	Timeout time.Duration
	// TokenLimit is the maximum number of tokens of all calls together. 0 means no limit.
	TokenLimit int64
	// HTTP makes the calls. nil means a client that follows no redirects.
	HTTP *http.Client
}

// model holds the known properties of a model.
type model struct {
	dim     int
	shorter bool // can give shorter vectors
}

var models = map[string]model{
	"text-embedding-3-small": {1536, true},
	"text-embedding-3-large": {3072, true},
	"text-embedding-ada-002": {1536, false},
}

// maxTokens is the maximum number of tokens that OpenAI's models read.
const maxTokens = 8191

// New returns the encoder of a model. It does not contact the server: a wrong key or server is an error of
// Encode, which wraps encoder.ErrSource. Invalid options are an error that names them.
//
// Vectors are normalised. The encoder is safe for concurrent use. Encode splits its texts into calls, keeps
// their order, and returns all vectors or an error. If a text is too long for the model, the server's error
// is returned. The engine itself cuts texts beforehand, by an estimate.
func New(o Options) (encoder.Encoder, error) {
	known, ok := models[o.Model]
	dim := cmp.Or(o.Dim, known.dim)
	switch {
	case o.Model == "":
		return nil, fmt.Errorf("openai: no model; name one, such as text-embedding-3-small")
	case dim < 1:
		return nil, fmt.Errorf("openai: the dimension of model %q is not known here; give it", o.Model)
	case ok && (dim > known.dim || dim < known.dim && !known.shorter):
		return nil, fmt.Errorf("openai: model %s gives vectors of %d numbers, not %d", o.Model, known.dim, dim)
	case o.BatchTexts < 0 || o.BatchTexts > 2048 || o.BatchTokens < 0 || o.Concurrency < 0 || o.Concurrency > 1024 || o.TokenLimit < 0 || o.Timeout < 0:
		return nil, fmt.Errorf("openai: batches of %d texts and %d tokens, %d calls at a time, %d tokens in all, %s a call; use positive numbers, at most 2,048 texts and 1,024 calls",
			o.BatchTexts, o.BatchTokens, o.Concurrency, o.TokenLimit, o.Timeout)
	}
	url, err := rest.CheckURL(cmp.Or(o.BaseURL, os.Getenv("OPENAI_BASE_URL"), DefaultURL), "embeddings")
	if err != nil {
		return nil, fmt.Errorf("openai: %w", err)
	}
	key, hint, err := rest.Key(o.Key, o.KeyEnv, "OPENAI_API_KEY", "use the model")
	if err != nil {
		return nil, fmt.Errorf("openai: %w", err)
	}
	c := &client{model: o.Model, Client: rest.Client{
		Err:  encoder.ErrSource,
		URLs: []string{url}, Key: key, KeyHint: hint,
		Nobody: "check the network, and OPENAI_BASE_URL", Retries: o.Retries, Timeout: o.Timeout, HTTP: o.HTTP, Refusal: refusal,
		Passes: func(f *rest.Failure) bool { return f.Passing() && f.Kind != noMeans },
	}}
	if ok && dim < known.dim {
		c.dimensions.Store(int64(dim))
	}
	r := remote.Options{
		Name: "openai:" + o.Model, Dim: dim,
		BatchTexts: cmp.Or(o.BatchTexts, 64), BatchTokens: cmp.Or(o.BatchTokens, 100_000), Concurrency: cmp.Or(o.Concurrency, 8),
		TokenLimit: o.TokenLimit,
		Call:       func(ctx context.Context, texts []string) ([][]float32, int64, error) { return c.embed(ctx, texts, dim) },
		Refused:    rest.Refused,
	}
	if ok {
		r.MaxTokens = maxTokens
	}
	return remote.New(r), nil
}

type client struct {
	rest.Client
	model      string
	dimensions atomic.Int64 // that are asked for; 0 for the model's
}

type request struct {
	Model      string   `json:"model"`
	Input      []string `json:"input"`
	Encoding   string   `json:"encoding_format"`
	Dimensions int      `json:"dimensions,omitempty"`
}

type answer struct {
	Data []struct {
		Index     *int   `json:"index"`
		Embedding vector `json:"embedding"`
	} `json:"data"`
	Usage struct {
		Total int64 `json:"total_tokens"`
	} `json:"usage"`
}

// ask makes one call, for vectors of the given dimensions, or with 0 of the model's own.
func (c *client) ask(ctx context.Context, texts []string, dimensions int64, dim int) (out answer, err error) {
	in := request{Model: c.model, Input: texts, Encoding: "base64", Dimensions: int(dimensions)}
	return out, c.Post(ctx, in, &out, remote.AnswerLimit(len(texts), dim))
}

// embed makes one call.
func (c *client) embed(ctx context.Context, texts []string, dim int) ([][]float32, int64, error) {
	asked := c.dimensions.Load()
	out, err := c.ask(ctx, texts, asked, dim)
	if err == nil && asked == 0 && len(out.Data) > 0 && len(out.Data[0].Embedding) > dim { // it may give shorter ones
		long, charged := len(out.Data[0].Embedding), out.Usage.Total
		if out, err = c.ask(ctx, texts, int64(dim), dim); rest.Refused(err) {
			err = fmt.Errorf("%w: model %s gives vectors of %d numbers, and refuses to give %d: %v", encoder.ErrSource, c.model, long, dim, err)
		} else if err == nil {
			c.dimensions.Store(int64(dim))
			out.Usage.Total += charged
		}
	}
	if err != nil {
		return nil, 0, err
	}
	vectors := make([][]float32, len(out.Data))
	for i, d := range out.Data {
		at := i
		if d.Index != nil {
			at = *d.Index
		}
		if at < 0 || at >= len(vectors) || vectors[at] != nil {
			return nil, 0, fmt.Errorf("%w: vector %d of the answer is said to be that of text %d, of %d", encoder.ErrContract, i, at, len(vectors))
		}
		if vectors[at] = d.Embedding; d.Embedding == nil {
			vectors[at] = []float32{}
		}
	}
	return vectors, out.Usage.Total, nil
}

// vector is base64 of float32, as requested, or a list of numbers, which some servers always send.
type vector []float32

func (v *vector) UnmarshalJSON(b []byte) error {
	if len(b) == 0 || b[0] != '"' {
		return json.Unmarshal(b, (*[]float32)(v))
	}
	var raw []byte // which encoding/json reads as base64
	if err := json.Unmarshal(b, &raw); err != nil {
		return fmt.Errorf("a vector that is no base64: %w", err)
	}
	if len(raw)%4 != 0 {
		return fmt.Errorf("a vector of %d bytes, which are no float32 numbers", len(raw))
	}
	out := make(vector, len(raw)/4)
	for i := range out {
		out[i] = math.Float32frombits(binary.LittleEndian.Uint32(raw[4*i:]))
	}
	*v = out
	return nil
}

// noMeans is the error code of an account without credit; repeating the call does not help.
const noMeans = "insufficient_quota"

// refusal reads the body of an error. noMeans is the only code that it recognises.
func refusal(body []byte) (kind, reason string) {
	var e struct {
		Error json.RawMessage `json:"error"`
	}
	if json.Unmarshal(body, &e) != nil {
		return "", ""
	}
	var said struct {
		Message string          `json:"message"`
		Code    json.RawMessage `json:"code"`
	}
	if json.Unmarshal(e.Error, &said) != nil {
		if json.Unmarshal(e.Error, &reason) != nil {
			return "", ""
		}
		return "", reason
	}
	if string(said.Code) == `"`+noMeans+`"` {
		kind = noMeans
	}
	return kind, said.Message
}
