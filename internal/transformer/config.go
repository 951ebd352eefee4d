// Package transformer is the architecture of an encoder as a checkpoint's config.json gives it.
package transformer

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/lexsem/lexsem/internal/regular"
)

// Config is what the architecture needs of a checkpoint's config.json.
type Config struct {
	ModelType         string  `json:"model_type"`
	HiddenSize        int64   `json:"hidden_size"`
	Layers            int64   `json:"num_hidden_layers"`
	Heads             int64   `json:"num_attention_heads"`
	Intermediate      int64   `json:"intermediate_size"`
	Positions         int64   `json:"max_position_embeddings"`
	Types             int64   `json:"type_vocab_size"`
	Vocab             int64   `json:"vocab_size"`
	Eps               float64 `json:"layer_norm_eps"`
	Activation        string  `json:"hidden_act"`
	PositionEmbedding string  `json:"position_embedding_type"`
	IsDecoder         bool    `json:"is_decoder"`
}

// ErrConfig is wrapped by every error about a configuration that is damaged or
// of another architecture.
var ErrConfig = errors.New("unusable configuration")

// GELU is the exact one; the other activations are ways to compute its
// approximation by tanh.
const GELU = "gelu"

var activations = []string{GELU, "gelu_new", "gelu_fast", "gelu_pytorch_tanh"}

// Load reads and checks the config.json at path.
func Load(path string) (Config, error) {
	f, err := regular.Open(path)
	if err != nil {
		return Config{}, err
	}
	defer f.Close()
	var c Config
	if err := json.NewDecoder(io.LimitReader(f, 1<<20)).Decode(&c); err != nil {
		return c, fmt.Errorf("%w: %s: %w", ErrConfig, path, err)
	}
	if err := c.Check(); err != nil {
		return c, fmt.Errorf("%s: %w", path, err)
	}
	return c, nil
}

// Check returns an error that wraps ErrConfig unless c is a BERT encoder of
// sizes that can be.
func (c Config) Check() error {
	if err := c.check(); err != nil {
		return fmt.Errorf("%w: %w", ErrConfig, err)
	}
	return nil
}

func (c Config) check() error {
	switch {
	case c.ModelType != "bert":
		return fmt.Errorf("model_type %q; only bert is known, use an ONNX file", c.ModelType)
	case c.IsDecoder:
		return fmt.Errorf("is_decoder is set; only encoders are known")
	case c.PositionEmbedding != "" && c.PositionEmbedding != "absolute":
		return fmt.Errorf("position_embedding_type %q; only absolute is known, use an ONNX file", c.PositionEmbedding)
	case !slices.Contains(activations, c.Activation):
		return fmt.Errorf("hidden_act %q; only variants of gelu are known, use an ONNX file", c.Activation)
	case !(c.Eps > 0 && c.Eps < 1):
		return fmt.Errorf("layer_norm_eps %v", c.Eps)
	}
	for _, f := range []struct {
		name  string
		value int64
		most  int64
	}{
		{"hidden_size", c.HiddenSize, 1 << 16}, {"num_hidden_layers", c.Layers, 1 << 10},
		{"num_attention_heads", c.Heads, 1 << 10}, {"intermediate_size", c.Intermediate, 1 << 18},
		{"max_position_embeddings", c.Positions, 1 << 20}, {"type_vocab_size", c.Types, 1 << 10},
		{"vocab_size", c.Vocab, 1 << 24},
	} {
		if f.value < 1 || f.value > f.most {
			return fmt.Errorf("%s is %d, want 1 to %d", f.name, f.value, f.most)
		}
	}
	if c.HiddenSize%c.Heads != 0 {
		return fmt.Errorf("hidden_size %d is no multiple of num_attention_heads %d", c.HiddenSize, c.Heads)
	}
	return nil
}
