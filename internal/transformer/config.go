// Package transformer describes the architecture of an encoder, as the config.json of a checkpoint gives it.
// Start with [Load]. One [Config] serves all families; families.go maps each family to it. An unknown or
// damaged configuration is ErrConfig.
package transformer

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/lexsem/lexsem/internal/regular"
)

// Config describes an encoder.
type Config struct {
	ModelType    string
	HiddenSize   int64 // d, of a token's state
	Layers       int64
	Heads        int64 // of queries
	KVHeads      int64 // of keys and values; a divisor of Heads
	HeadWidth    int64
	Intermediate int64 // width of the feed-forward part
	Vocab        int64
	Types        int64 // rows of the table of token types; 0 for no table
	Positions    int64 // tokens that a text may have
	Places       bool  // whether there is a table of positions, of FirstPlace + Positions rows
	FirstPlace   int64 // row of a text's first token; the one before is that of padding
	Buckets      int64 // of distances, for which each head has a number that is added to scores; 0 for none
	Eps          float64
	RMS          bool   // root mean square normalisation instead of layer normalisation
	OnePlus      bool   // whether the weights of a normalisation are stored less 1
	Activation   string // one of the names below
	Gated        bool   // whether the activation is multiplied by a second product
	Scale        float64
	EmbedScale   float64 // what the embeddings of words are multiplied by
	Causal       bool    // whether a token sees those before it alone
	Attention    []Attention
}

// Attention holds the properties that differ between layers.
type Attention struct {
	Window int64   // greatest distance to a token that is seen; 0 for any
	Theta  float64 // base of the rotations of queries and keys by their position; 0 for none
	Slower float64 // what the rotations' frequencies are divided by
}

// Activations.
const (
	GELU     = "gelu"      // the exact one
	GELUTanh = "gelu_tanh" // its approximation by tanh
	SiLU     = "silu"
)

var activations = map[string]string{
	"gelu": GELU, "gelu_new": GELUTanh, "gelu_fast": GELUTanh, "gelu_pytorch_tanh": GELUTanh, "silu": SiLU, "swish": SiLU,
}

// ErrConfig is wrapped by every error about a configuration that is damaged or
// of another architecture.
var ErrConfig = errors.New("unusable configuration")

// Load reads and checks the config.json at path.
func Load(path string) (Config, error) {
	f, err := regular.Open(path)
	if err != nil {
		return Config{}, err
	}
	defer f.Close()
	var r raw
	if err := json.NewDecoder(io.LimitReader(f, 1<<20)).Decode(&r); err != nil {
		return Config{}, fmt.Errorf("%w: %s: %w", ErrConfig, path, err)
	}
	c, err := r.config()
	if err == nil {
		err = c.check()
	}
	if err != nil {
		return Config{}, fmt.Errorf("%s: %w: %w", path, ErrConfig, err)
	}
	return c, nil
}

// BERT completes and checks a configuration of the BERT family that has only sizes and activation.
func BERT(c Config) (Config, error) {
	c.ModelType, c.Places = "bert", true
	c.plain()
	return c, c.Check()
}

// plain sets the properties that most families share.
func (c *Config) plain() {
	c.KVHeads, c.EmbedScale = c.Heads, 1
	if c.Heads > 0 {
		c.HeadWidth = c.HiddenSize / c.Heads
	}
	c.Scale = float64(c.HeadWidth)
	if c.Layers > 0 && c.Layers <= maxLayers {
		c.Attention = make([]Attention, c.Layers)
	}
}

const maxLayers = 1 << 10

// Check returns an error that wraps ErrConfig if sizes in c are impossible.
func (c Config) Check() error {
	if err := c.check(); err != nil {
		return fmt.Errorf("%w: %w", ErrConfig, err)
	}
	return nil
}

func (c Config) check() error {
	for _, f := range []struct {
		name               string
		value, least, most int64
	}{
		{"hidden_size", c.HiddenSize, 1, 1 << 16}, {"num_hidden_layers", c.Layers, 1, maxLayers},
		{"num_attention_heads", c.Heads, 1, 1 << 10}, {"num_key_value_heads", c.KVHeads, 1, c.Heads},
		{"intermediate_size", c.Intermediate, 1, 1 << 18}, {"max_position_embeddings", c.Positions, 1, 1 << 20},
		{"type_vocab_size", c.Types, 0, 1 << 10}, {"vocab_size", c.Vocab, 1, 1 << 24}, {"pad_token_id", c.FirstPlace, 0, 1 << 20},
	} {
		if f.value < f.least || f.value > f.most {
			return fmt.Errorf("%s is %d, want %d to %d", f.name, f.value, f.least, f.most)
		}
	}
	switch {
	case c.HeadWidth < 1 || c.HeadWidth > 1<<12:
		return fmt.Errorf("head_dim is %d, want 1 to %d", c.HeadWidth, 1<<12)
	case c.Heads%c.KVHeads != 0:
		return fmt.Errorf("num_attention_heads %d is no multiple of num_key_value_heads %d", c.Heads, c.KVHeads)
	case !(c.Eps > 0 && c.Eps < 1):
		return fmt.Errorf("layer_norm_eps, norm_eps or rms_norm_eps is %v, want a number between 0 and 1", c.Eps)
	case !(c.Scale > 0 && c.Scale < 1<<20):
		return fmt.Errorf("scores are divided by the root of %v", c.Scale)
	case !slices.Contains([]string{GELU, GELUTanh, SiLU}, c.Activation):
		return fmt.Errorf("hidden_act %q is not known", c.Activation)
	case int64(len(c.Attention)) != c.Layers:
		return fmt.Errorf("%d layer_types for %d layers", len(c.Attention), c.Layers)
	}
	for i, a := range c.Attention {
		switch {
		case a.Window < 0 || a.Window > 1<<20:
			return fmt.Errorf("a window of %d tokens in layer %d", a.Window, i)
		case a.Theta != 0 && !(a.Theta >= 1 && a.Theta <= 1e12 && a.Slower > 0 && a.Slower <= 1e6):
			return fmt.Errorf("rotations of base %v with frequencies divided by %v in layer %d", a.Theta, a.Slower, i)
		case a.Theta != 0 && c.HeadWidth%2 != 0:
			return fmt.Errorf("head_dim is %d, and rotations need an even one", c.HeadWidth)
		}
	}
	return nil
}
