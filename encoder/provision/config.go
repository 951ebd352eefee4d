package provision

import (
	"encoding/json"
	"fmt"
	"io"

	"github.com/lexsem/lexsem/internal/regular"
)

// bertConfig is what the architecture needs of a checkpoint's config.json.
type bertConfig struct {
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

// activations maps hidden_act to the operator of ONNX Runtime that adds a
// bias and applies it: the exact GELU, or its tanh approximation.
var activations = map[string]string{
	"gelu":              "BiasGelu",
	"gelu_new":          "FastGelu",
	"gelu_fast":         "FastGelu",
	"gelu_pytorch_tanh": "FastGelu",
}

func loadConfig(path string) (bertConfig, error) {
	f, err := regular.Open(path)
	if err != nil {
		return bertConfig{}, err
	}
	defer f.Close()
	var c bertConfig
	if err := json.NewDecoder(io.LimitReader(f, 1<<20)).Decode(&c); err != nil {
		return c, fmt.Errorf("%w: %s: %w", ErrCheckpoint, path, err)
	}
	if err := c.check(); err != nil {
		return c, fmt.Errorf("%w: %s: %w", ErrCheckpoint, path, err)
	}
	return c, nil
}

func (c bertConfig) check() error {
	switch {
	case c.ModelType != "bert":
		return fmt.Errorf("model_type %q; only bert can be exported, use an ONNX file", c.ModelType)
	case c.IsDecoder:
		return fmt.Errorf("is_decoder is set; only encoders can be exported")
	case c.PositionEmbedding != "" && c.PositionEmbedding != "absolute":
		return fmt.Errorf("position_embedding_type %q; only absolute can be exported, use an ONNX file", c.PositionEmbedding)
	case activations[c.Activation] == "":
		return fmt.Errorf("hidden_act %q; only variants of gelu can be exported, use an ONNX file", c.Activation)
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
