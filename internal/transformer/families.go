package transformer

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"slices"
)

// raw is a config.json with the fields of all families. Pointers are for keys that may be
// missing or null.
type raw struct {
	ModelType string `json:"model_type"`

	HiddenSize   int64    `json:"hidden_size"`
	Layers       int64    `json:"num_hidden_layers"`
	Heads        int64    `json:"num_attention_heads"`
	KVHeads      *int64   `json:"num_key_value_heads"`
	HeadWidth    *int64   `json:"head_dim"`
	Intermediate int64    `json:"intermediate_size"`
	Positions    int64    `json:"max_position_embeddings"`
	Types        int64    `json:"type_vocab_size"`
	Vocab        int64    `json:"vocab_size"`
	Pad          *int64   `json:"pad_token_id"`
	LayerEps     float64  `json:"layer_norm_eps"`
	NormEps      *float64 `json:"norm_eps"`
	RMSEps       *float64 `json:"rms_norm_eps"`
	Act          string   `json:"hidden_act"`
	Activation   string   `json:"hidden_activation"`

	PositionEmbedding string `json:"position_embedding_type"`
	IsDecoder         bool   `json:"is_decoder"`
	Buckets           *int64 `json:"relative_attention_num_buckets"`

	LayerTypes     []string        `json:"layer_types"`
	RopeTheta      *float64        `json:"rope_theta"`
	RopeScaling    *rope           `json:"rope_scaling"`
	RopeParameters json.RawMessage `json:"rope_parameters"` // what newer versions write for both

	// distilbert
	Dim             int64  `json:"dim"`
	HiddenDim       int64  `json:"hidden_dim"`
	NLayers         int64  `json:"n_layers"`
	NHeads          int64  `json:"n_heads"`
	PlainActivation string `json:"activation"`

	// nomic_bert
	NEmbd         int64    `json:"n_embd"`
	NLayer        int64    `json:"n_layer"`
	NHead         int64    `json:"n_head"`
	NInner        int64    `json:"n_inner"`
	NPositions    int64    `json:"n_positions"`
	Epsilon       float64  `json:"layer_norm_epsilon"`
	GateFunction  string   `json:"activation_function"`
	RotaryBase    *float64 `json:"rotary_emb_base"`
	RotaryPart    *float64 `json:"rotary_emb_fraction"`
	RotaryScale   *float64 `json:"rotary_emb_scale_base"`
	RotaryDynamic *float64 `json:"rotary_scaling_factor"`
	Interleaved   bool     `json:"rotary_emb_interleaved"`
	Prenorm       bool     `json:"prenorm"`
	ParallelBlock bool     `json:"parallel_block"`
	UseRMS        bool     `json:"use_rms_norm"`
	NomicCausal   bool     `json:"causal"`
	Experts       int64    `json:"num_experts"`
	MixtureEvery  int64    `json:"moe_every_n_layers"`

	// new, gte
	NormType  string `json:"layer_norm_type"`
	LogNScale bool   `json:"logn_attention_scale"`

	// modernbert
	LocalAttention int64    `json:"local_attention"`
	GlobalEvery    *int64   `json:"global_attn_every_n_layers"`
	GlobalTheta    *float64 `json:"global_rope_theta"`
	LocalTheta     *float64 `json:"local_rope_theta"`

	// gemma3_text, qwen3
	QueryScalar    *float64 `json:"query_pre_attn_scalar"`
	SlidingWindow  *int64   `json:"sliding_window"`
	SlidingEvery   *int64   `json:"sliding_window_pattern"`
	SlidingEvery2  *int64   `json:"_sliding_window_pattern"`
	Bidirectional  bool     `json:"use_bidirectional_attention"`
	IsCausal       *bool    `json:"is_causal"`
	LocalFrequency *float64 `json:"rope_local_base_freq"`
	Softcap        *float64 `json:"attn_logit_softcapping"`
	UseSliding     bool     `json:"use_sliding_window"`
	MaxWindow      *int64   `json:"max_window_layers"`
}

// families are the values of model_type that are known.
var families = map[string]func(raw, *Config) error{
	"bert": bert, "roberta": roberta, "xlm-roberta": roberta, "camembert": roberta, "distilbert": distilbert, "mpnet": mpnet,
	"nomic_bert": nomic, "new": gte, "gte": gte, "modernbert": modern, "gemma3_text": gemma, "qwen3": qwen,
}

// Families returns the values of model_type that are known, sorted.
func Families() []string {
	var out []string
	for name := range families {
		out = append(out, name)
	}
	slices.Sort(out)
	return out
}

func (r raw) config() (Config, error) {
	family, ok := families[r.ModelType]
	if !ok {
		return Config{}, fmt.Errorf("model_type %q is not known; known are %v; use an ONNX file", r.ModelType, Families())
	}
	c := Config{
		ModelType: r.ModelType, HiddenSize: r.HiddenSize, Layers: r.Layers, Heads: r.Heads, Intermediate: r.Intermediate,
		Vocab: r.Vocab, Types: r.Types, Positions: r.Positions, Eps: r.LayerEps, Activation: r.Act,
	}
	if r.ModelType == "distilbert" {
		c.HiddenSize, c.Layers, c.Heads, c.Intermediate, c.Activation = r.Dim, r.NLayers, r.NHeads, r.HiddenDim, r.PlainActivation
	}
	if r.ModelType == "nomic_bert" && r.HiddenSize == 0 { // as its makers write it
		c.HiddenSize, c.Layers, c.Heads, c.Intermediate, c.Positions = r.NEmbd, r.NLayer, r.NHead, r.NInner, r.NPositions
	}
	if r.IsDecoder {
		return c, fmt.Errorf("is_decoder is set; only encoders are known")
	}
	c.plain()
	if c.Heads > 0 && r.HeadWidth == nil && c.HiddenSize%c.Heads != 0 {
		return c, fmt.Errorf("hidden_size %d is no multiple of num_attention_heads %d", c.HiddenSize, c.Heads)
	}
	if err := family(r, &c); err != nil {
		return c, err
	}
	name, known := activations[c.Activation]
	if !known {
		return c, fmt.Errorf("hidden_act %q is not known; known are variants of gelu, and silu; use an ONNX file", c.Activation)
	}
	c.Activation = name
	return c, nil
}

// bert: a table of positions and one of types, normalisation after the sums.
func bert(r raw, c *Config) error {
	if r.PositionEmbedding != "" && r.PositionEmbedding != "absolute" {
		return fmt.Errorf("position_embedding_type %q; only absolute is known, use an ONNX file", r.PositionEmbedding)
	}
	if r.Types < 1 {
		return fmt.Errorf("type_vocab_size is %d, want 1 or more", r.Types)
	}
	c.Places = true
	return nil
}

// roberta counts positions from the one after that of padding.
func roberta(r raw, c *Config) error {
	pad := int64(1)
	if r.Pad != nil {
		pad = *r.Pad
	}
	if pad < 0 || pad >= c.Positions {
		return fmt.Errorf("pad_token_id is %d of %d positions", pad, c.Positions)
	}
	c.FirstPlace = pad + 1
	c.Positions -= c.FirstPlace
	return bert(r, c)
}

// distilbert has half the layers, and no token types.
func distilbert(_ raw, c *Config) error {
	c.Places, c.Types, c.Eps = true, 0, 1e-12
	return nil
}

// mpnet adds to each score a number that depends on the distance, and has no types.
func mpnet(r raw, c *Config) error {
	c.Buckets = 32
	if r.Buckets != nil && *r.Buckets != c.Buckets {
		return fmt.Errorf("relative_attention_num_buckets is %d; only %d is known", *r.Buckets, c.Buckets)
	}
	c.Places, c.Types, c.FirstPlace = true, 0, 2
	c.Positions -= c.FirstPlace
	return nil
}

// nomic rotates queries and keys, and has gates.
func nomic(r raw, c *Config) error {
	switch {
	case r.Prenorm || r.ParallelBlock || r.UseRMS || r.NomicCausal || r.Interleaved:
		return fmt.Errorf("one of prenorm, parallel_block, use_rms_norm, causal and rotary_emb_interleaved is set, which is not known")
	case r.Experts > 0 || r.MixtureEvery > 0:
		return fmt.Errorf("num_experts %d, moe_every_n_layers %d: a mixture of experts is not known", r.Experts, r.MixtureEvery)
	case r.RotaryPart != nil && *r.RotaryPart != 1:
		return fmt.Errorf("rotary_emb_fraction is %v; only 1 is known", *r.RotaryPart)
	case r.RotaryScale != nil || r.RotaryDynamic != nil:
		return fmt.Errorf("rotary_emb_scale_base or rotary_scaling_factor is set, which is not known")
	}
	if r.HiddenSize == 0 {
		c.Eps = r.Epsilon
		switch r.GateFunction {
		case "swiglu":
			c.Activation = "silu"
		case "geglu":
			c.Activation = "gelu"
		default:
			return fmt.Errorf("activation_function %q; known are swiglu and geglu", r.GateFunction)
		}
	}
	c.Gated = true
	theta := 1000.0
	if r.RotaryBase != nil {
		theta = *r.RotaryBase
	}
	return r.rotate(c, "", theta)
}

// gte rotates queries and keys, and has gates.
func gte(r raw, c *Config) error {
	switch {
	case r.PositionEmbedding != "" && r.PositionEmbedding != "rope":
		return fmt.Errorf("position_embedding_type %q; only rope is known for %s", r.PositionEmbedding, r.ModelType)
	case r.NormType != "" && r.NormType != "layer_norm":
		return fmt.Errorf("layer_norm_type %q; only layer_norm is known for %s", r.NormType, r.ModelType)
	case r.LogNScale:
		return fmt.Errorf("logn_attention_scale is set, which is not known")
	}
	c.Gated = true
	theta := 10000.0
	if r.ModelType == "gte" {
		theta = 160000
	}
	return r.rotate(c, "", theta)
}

// modern normalises before the parts of a layer; two of three layers see only a window.
func modern(r raw, c *Config) error {
	c.Gated, c.Types, c.Eps = true, 0, 1e-5
	if r.NormEps != nil {
		c.Eps = *r.NormEps
	}
	c.Activation = cmp.Or(r.Activation, "gelu")
	window := cmp.Or(r.LocalAttention, 128)
	if window < 2 {
		return fmt.Errorf("local_attention is %d", window)
	}
	every := or(r.GlobalEvery, 3)
	if every < 1 {
		return fmt.Errorf("global_attn_every_n_layers is %d", every)
	}
	types, err := r.kinds(c, func(i int64) bool { return i%every != 0 })
	if err != nil {
		return err
	}
	for i, sliding := range types {
		name, theta := full, or(r.GlobalTheta, 160000)
		if sliding {
			name, theta = slides, or(r.LocalTheta, 10000)
			c.Attention[i].Window = window / 2
		}
		if c.Attention[i].Theta, c.Attention[i].Slower, err = r.rope(c, name, theta); err != nil {
			return err
		}
	}
	return nil
}

// gemma normalises before and after the parts of a layer, and also queries and keys; five
// of six layers see only a window.
func gemma(r raw, c *Config) error {
	if r.Softcap != nil {
		return fmt.Errorf("attn_logit_softcapping is %v, which is not known", *r.Softcap)
	}
	if err := r.grouped(c, 256); err != nil {
		return err
	}
	c.OnePlus, c.Causal = true, !r.Bidirectional
	c.EmbedScale = math.Sqrt(float64(c.HiddenSize))
	c.Scale = 256
	if r.QueryScalar != nil {
		c.Scale = *r.QueryScalar
	}
	c.Activation = cmp.Or(r.Activation, "gelu_pytorch_tanh")
	every := or(r.SlidingEvery, or(r.SlidingEvery2, 6))
	if every < 1 {
		return fmt.Errorf("sliding_window_pattern is %d", every)
	}
	types, err := r.kinds(c, func(i int64) bool { return (i+1)%every != 0 })
	if err != nil {
		return err
	}
	window := or(r.SlidingWindow, 4096)
	if window < 2 {
		return fmt.Errorf("sliding_window is %d", window)
	}
	window-- // a causal window counts the token itself
	if r.Bidirectional {
		window = (window + 1) / 2 // half of it to either side
	}
	for i, sliding := range types {
		name, theta := full, or(r.RopeTheta, 1e6)
		plain := r
		if sliding {
			name, theta = slides, or(r.LocalFrequency, 10000)
			plain.RopeScaling = nil // which is of the others
			c.Attention[i].Window = window
		}
		if c.Attention[i].Theta, c.Attention[i].Slower, err = plain.rope(c, name, theta); err != nil {
			return err
		}
	}
	return nil
}

// qwen normalises before the parts of a layer, and also queries and keys; a token sees
// only earlier ones.
func qwen(r raw, c *Config) error {
	if err := r.grouped(c, 128); err != nil {
		return err
	}
	c.Causal, c.Scale = !r.Bidirectional && or(r.IsCausal, true), float64(c.HeadWidth)
	if !c.Causal && r.UseSliding {
		return fmt.Errorf("use_sliding_window is set where tokens see those after them, which is not known")
	}
	c.Activation = cmp.Or(r.Act, "silu")
	first := or(r.MaxWindow, 28)
	types, err := r.kinds(c, func(i int64) bool { return r.UseSliding && i >= first })
	if err != nil {
		return err
	}
	for i, sliding := range types {
		if sliding && r.UseSliding {
			window := or(r.SlidingWindow, 4096)
			if window < 2 {
				return fmt.Errorf("sliding_window is %d", window)
			}
			c.Attention[i].Window = window - 1
		}
	}
	return r.rotate(c, "", 10000)
}

// grouped sets the properties of families that were derived from decoders.
func (r raw) grouped(c *Config, width int64) error {
	c.RMS, c.Gated, c.Types, c.Eps = true, true, 0, 1e-6
	if r.RMSEps != nil {
		c.Eps = *r.RMSEps
	}
	c.HeadWidth = or(r.HeadWidth, width)
	c.KVHeads = or(r.KVHeads, c.Heads)
	return nil
}

// Values of layer_types.
const (
	full   = "full_attention"
	slides = "sliding_attention"
)

// kinds decides for each layer whether it sees only a window: by layer_types, else by the
// family's rule.
func (r raw) kinds(c *Config, rule func(i int64) bool) ([]bool, error) {
	out := make([]bool, len(c.Attention))
	if r.LayerTypes != nil && len(r.LayerTypes) != len(out) {
		return nil, fmt.Errorf("%d layer_types for %d layers", len(r.LayerTypes), c.Layers)
	}
	for i := range out {
		if out[i] = rule(int64(i)); r.LayerTypes == nil {
			continue
		}
		switch r.LayerTypes[i] {
		case full:
			out[i] = false
		case slides:
			out[i] = true
		default:
			return nil, fmt.Errorf("layer_types has %q; known are %s and %s", r.LayerTypes[i], full, slides)
		}
	}
	return out, nil
}

// rope describes the rotations.
type rope struct {
	Theta  *float64 `json:"rope_theta"`
	Type   string   `json:"rope_type"`
	Kind   string   `json:"type"`
	Factor float64  `json:"factor"`
	MixedB *float64 `json:"mixed_b"`
}

// rotate gives all layers the same rotations.
func (r raw) rotate(c *Config, name string, theta float64) error {
	theta, slower, err := r.rope(c, name, theta)
	for i := range c.Attention {
		c.Attention[i].Theta, c.Attention[i].Slower = theta, slower
	}
	return err
}

// rope returns the base of the rotations in layers of the given type, "" for all, and the
// divisor of their frequencies; theta is the family's default base.
func (r raw) rope(c *Config, name string, theta float64) (base, slower float64, err error) {
	p := r.RopeScaling
	if name == "" {
		theta = or(r.RopeTheta, theta)
	}
	if len(r.RopeParameters) > 0 && string(r.RopeParameters) != "null" {
		p = new(rope)
		var by map[string]json.RawMessage
		if err := json.Unmarshal(r.RopeParameters, &by); err != nil {
			return 0, 0, fmt.Errorf("rope_parameters: %w", err)
		}
		of := r.RopeParameters
		if part, ok := by[name]; ok {
			of = part
		}
		if err := json.Unmarshal(of, p); err != nil {
			return 0, 0, fmt.Errorf("rope_parameters: %w", err)
		}
	}
	if p == nil {
		return theta, 1, nil
	}
	theta = or(p.Theta, theta)
	kind := cmp.Or(p.Type, p.Kind, "default")
	switch {
	case kind == "default":
		return theta, 1, nil
	case kind == "linear":
		return theta, p.Factor, nil
	case kind == "ntk" && p.MixedB == nil && c.HeadWidth > 0:
		return theta * p.Factor, math.Pow(p.Factor, 2/float64(c.HeadWidth)), nil
	}
	return 0, 0, fmt.Errorf("rotations of type %q are not known; known are default, linear and ntk without mixed_b", kind)
}

func or[T any](p *T, otherwise T) T {
	if p == nil {
		return otherwise
	}
	return *p
}
