package httpapi

import (
	"context"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"net/http"
	"strings"
	"time"

	"github.com/lexsem/lexsem/encoder"
	"github.com/lexsem/lexsem/engine"
)

// embeddingsRequest is the request body of OpenAI's API, with the additional field
// input_type of other APIs.
type embeddingsRequest struct {
	Input          texts  `json:"input"`
	Model          string `json:"model"`
	EncodingFormat string `json:"encoding_format"`
	Dimensions     *int   `json:"dimensions"`
	InputType      string `json:"input_type"`
}

// texts is one text or an array of texts.
type texts []string

// UnmarshalJSON implements json.Unmarshaler.
func (t *texts) UnmarshalJSON(raw []byte) error {
	var one string
	if json.Unmarshal(raw, &one) == nil && raw[0] == '"' {
		*t = texts{one}
		return nil
	}
	var many []string
	if err := json.Unmarshal(raw, &many); err == nil && many != nil {
		*t = many
		return nil
	}
	var tokens []json.RawMessage
	if json.Unmarshal(raw, &tokens) == nil && len(tokens) > 0 && len(tokens[0]) > 0 && strings.ContainsRune("[0123456789", rune(tokens[0][0])) {
		return invalid("input", "input holds token ids of another model's tokenizer; send texts, as OpenAIEmbeddings of LangChain does with check_embedding_ctx_length=False")
	}
	return invalid("input", "input is neither a text nor an array of texts")
}

type embeddingsAnswer struct {
	Object string      `json:"object"` // "list"
	Data   []embedding `json:"data"`
	Model  string      `json:"model"`
	Usage  usage       `json:"usage"`
}

type embedding struct {
	Object string `json:"object"` // "embedding"
	Index  int    `json:"index"`
	// Embedding is an array of numbers, or the base64 of its float32 in little-endian
	// order.
	Embedding any `json:"embedding"`
	Truncated int `json:"truncated_tokens,omitempty"` // beyond the model's limit, which the vector knows nothing of
}

type usage struct {
	PromptTokens int `json:"prompt_tokens"` // special ones included; 0 where the encoder has no tokenizer
	TotalTokens  int `json:"total_tokens"`
}

// embeddings answers with the vectors of texts. Without input_type texts count as
// passages: clients of this API embed documents by the thousand and do not know roles. A
// model name followed by a variant, "NAME+rlr", requests query vectors, which this
// database modulates. Passages of such a model are plain vectors, as in the database, so
// one index serves every variant.
func embeddings(ctx context.Context, c *call, in *embeddingsRequest) (embeddingsAnswer, error) {
	var none embeddingsAnswer
	name, variant, err := c.s.model(in.Model)
	if err != nil {
		return none, err
	}
	role, err := roleOf(in.InputType, variant != "")
	if err != nil {
		return none, err
	}
	switch {
	case in.EncodingFormat != "" && in.EncodingFormat != "float" && in.EncodingFormat != "base64":
		return none, invalid("encoding_format", "encoding_format is %.40q; use float or base64", in.EncodingFormat)
	case in.Dimensions != nil && *in.Dimensions != c.s.o.Encoder.Dim():
		return none, invalid("dimensions", "dimensions is %d, but vectors of %s have %d; leave it out", *in.Dimensions, name, c.s.o.Encoder.Dim())
	}
	if err := c.s.checkTexts("input", in.Input); err != nil {
		return none, err
	}
	out, err := c.encode(ctx, role, in.Input)
	if err != nil {
		return none, err
	}
	a := embeddingsAnswer{Object: "list", Data: make([]embedding, len(out)), Model: name}
	if variant != "" {
		a.Model += "+" + variant
	}
	for i, o := range out {
		vector := o.Dense
		if variant != "" && role == encoder.Query {
			c.sees(in.Input[i])
			if vector, _, err = c.db.Vector(ctx, engine.Query{Text: in.Input[i], Vector: vector, Variant: variant, Plain: true}); err != nil {
				return none, err
			}
		}
		a.Data[i] = embedding{Object: "embedding", Index: i, Embedding: vector, Truncated: o.Tokens.Truncated}
		if in.EncodingFormat == "base64" {
			a.Data[i].Embedding = inBase64(vector)
		}
		a.Usage.PromptTokens += len(o.Tokens.IDs)
	}
	a.Usage.TotalTokens = a.Usage.PromptTokens
	return a, nil
}

// inBase64 is a vector as float32 in little-endian order, in base64.
func inBase64(v []float32) string {
	raw := make([]byte, 0, 4*len(v))
	for _, x := range v {
		raw = binary.LittleEndian.AppendUint32(raw, math.Float32bits(x))
	}
	return base64.StdEncoding.EncodeToString(raw)
}

// model returns the name of the encoder, and the requested variant.
func (s *Server) model(asked string) (name, variant string, err error) {
	if s.o.Encoder == nil {
		return "", "", engine.ErrNoEncoder
	}
	name = s.o.Encoder.Fingerprint().Model
	variant, err = variantOf(asked, name)
	return name, variant, err
}

// variantOf is the variant in a requested model name: the name of the encoder, in any
// case, optionally followed by "+VARIANT". "" also means that encoder.
func variantOf(asked, name string) (string, error) {
	if len(asked) < len(name) || !strings.EqualFold(asked[:len(name)], name) {
		if asked == "" {
			return "", nil
		}
		return "", unknownModel(asked, name)
	}
	rest := asked[len(name):]
	if rest == "" {
		return "", nil
	}
	variant, ok := strings.CutPrefix(rest, "+")
	if !ok || variant == "" {
		return "", unknownModel(asked, name)
	}
	return strings.ToLower(variant), nil
}

func unknownModel(asked, name string) error {
	return &Error{Status: http.StatusNotFound, Code: "model_not_found", Param: "model",
		Message: fmt.Sprintf("unknown model %.100q; this server has %s, and %s+VARIANT for modulated queries", asked, name, name)}
}

// roleOf returns the role named by an input_type.
func roleOf(kind string, modulated bool) (encoder.Role, error) {
	switch strings.ToLower(kind) {
	case "":
		if modulated {
			return encoder.Query, nil
		}
		return encoder.Passage, nil
	case "query", "search_query", "retrieval.query":
		return encoder.Query, nil
	case "passage", "document", "search_document", "retrieval.passage":
		return encoder.Passage, nil
	}
	return 0, invalid("input_type", "input_type is %.40q; use query or passage", kind)
}

// checkTexts refuses texts that have no vector, and more texts than allowed.
func (s *Server) checkTexts(param string, texts []string) error {
	if n := len(texts); n < 1 || n > s.o.MaxTexts {
		return invalid(param, "%d texts; send 1 to %d", n, s.o.MaxTexts)
	}
	for i, t := range texts {
		if strings.TrimSpace(t) == "" {
			return invalid(fmt.Sprintf("%s[%d]", param, i), "text %d is empty; leave it out", i)
		}
	}
	return nil
}

// encode calls the encoder, checks its vectors, and counts the texts.
func (c *call) encode(ctx context.Context, role encoder.Role, texts []string) ([]encoder.Output, error) {
	enc := c.s.o.Encoder
	begin := time.Now()
	out, err := enc.Encode(ctx, role, encoder.Texts(texts...), encoder.NeedDense)
	if err == nil && len(out) != len(texts) {
		err = fmt.Errorf("%w: %d outputs for %d texts", encoder.ErrContract, len(out), len(texts))
	}
	tokens := 0
	for i := range out {
		if err == nil {
			err = encoder.CheckDense(out[i].Dense, enc.Dim())
		}
		tokens += len(out[i].Tokens.IDs)
	}
	if err != nil {
		if ctx.Err() != nil && !errors.Is(err, ctx.Err()) {
			err = errors.Join(ctx.Err(), err)
		}
		return nil, fmt.Errorf("encoding: %w", err)
	}
	c.s.metrics.encoded(role, len(texts), tokens, time.Since(begin))
	c.x.notes = append(c.x.notes, slog.Int("texts", len(texts)), slog.Int("tokens", tokens))
	return out, nil
}

type modelsAnswer struct {
	Object string  `json:"object"` // "list"
	Data   []model `json:"data"`
}

type model struct {
	ID      string `json:"id"`
	Object  string `json:"object"` // "model"
	Created int64  `json:"created"`
	OwnedBy string `json:"owned_by"`
}

// models lists the encoder, and its variants for queries that are available now.
func models(ctx context.Context, c *call) (modelsAnswer, error) {
	out := modelsAnswer{Object: "list", Data: []model{}}
	if c.s.o.Encoder == nil {
		return out, nil
	}
	name := c.s.o.Encoder.Fingerprint().Model
	st, err := c.db.Stats(ctx)
	if err != nil {
		return out, err
	}
	names := []string{name, name + "+rlr"}
	for _, b := range st.Bridges {
		names = append(names, name+"+"+b.Variant)
	}
	for _, n := range names {
		out.Data = append(out.Data, model{ID: n, Object: "model", OwnedBy: "lexsem"})
	}
	return out, nil
}

// oneModel describes one of the models that models lists.
func oneModel(ctx context.Context, c *call) (model, error) {
	asked := c.r.PathValue("id")
	name, _, err := c.s.model("")
	if err != nil {
		return model{}, err
	}
	all, err := models(ctx, c)
	if err != nil {
		return model{}, err
	}
	for _, m := range all.Data {
		if strings.EqualFold(m.ID, asked) {
			return m, nil
		}
	}
	return model{}, unknownModel(asked, name)
}
