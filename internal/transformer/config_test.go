package transformer

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// sound are configurations of each family as its makers publish them, with small
// sizes.
var sound = map[string]string{
	"bert":         `{"model_type":"bert","hidden_size":8,"num_hidden_layers":3,"num_attention_heads":2,"intermediate_size":16,"max_position_embeddings":32,"type_vocab_size":2,"vocab_size":30,"layer_norm_eps":1e-12,"hidden_act":"gelu","pad_token_id":0}`,
	"roberta":      `{"model_type":"roberta","hidden_size":8,"num_hidden_layers":3,"num_attention_heads":2,"intermediate_size":16,"max_position_embeddings":34,"type_vocab_size":1,"vocab_size":30,"layer_norm_eps":1e-5,"hidden_act":"gelu","pad_token_id":1,"position_embedding_type":"absolute"}`,
	"distilbert":   `{"model_type":"distilbert","dim":8,"hidden_dim":16,"n_layers":3,"n_heads":2,"max_position_embeddings":32,"vocab_size":30,"activation":"gelu"}`,
	"mpnet":        `{"model_type":"mpnet","hidden_size":8,"num_hidden_layers":3,"num_attention_heads":2,"intermediate_size":16,"max_position_embeddings":34,"vocab_size":30,"layer_norm_eps":1e-5,"hidden_act":"gelu","relative_attention_num_buckets":32}`,
	"nomic_bert":   `{"model_type":"nomic_bert","n_embd":8,"n_layer":3,"n_head":2,"n_inner":16,"n_positions":32,"layer_norm_epsilon":1e-12,"activation_function":"swiglu","vocab_size":30,"type_vocab_size":2,"rotary_emb_base":1000,"rotary_emb_fraction":1.0,"rotary_emb_interleaved":false,"rotary_emb_scale_base":null,"rotary_scaling_factor":null,"prenorm":false,"causal":false}`,
	"new":          `{"model_type":"new","hidden_size":8,"num_hidden_layers":3,"num_attention_heads":2,"intermediate_size":16,"max_position_embeddings":32,"type_vocab_size":0,"vocab_size":30,"layer_norm_eps":1e-12,"hidden_act":"gelu","position_embedding_type":"rope","rope_theta":500000,"rope_scaling":{"type":"ntk","factor":2.0},"layer_norm_type":"layer_norm","logn_attention_scale":false}`,
	"modernbert":   `{"model_type":"modernbert","hidden_size":8,"num_hidden_layers":3,"num_attention_heads":2,"intermediate_size":16,"max_position_embeddings":32,"vocab_size":30,"norm_eps":1e-5,"hidden_activation":"gelu","local_attention":16,"global_attn_every_n_layers":2,"global_rope_theta":160000.0,"local_rope_theta":10000.0}`,
	"gemma3_text":  `{"model_type":"gemma3_text","hidden_size":8,"num_hidden_layers":3,"num_attention_heads":2,"num_key_value_heads":1,"head_dim":6,"intermediate_size":16,"max_position_embeddings":32,"vocab_size":30,"rms_norm_eps":1e-6,"hidden_activation":"gelu_pytorch_tanh","query_pre_attn_scalar":5,"sliding_window":8,"_sliding_window_pattern":3,"use_bidirectional_attention":true,"rope_theta":1000000.0,"rope_local_base_freq":10000.0,"rope_scaling":null,"attn_logit_softcapping":null}`,
	"qwen3":        `{"model_type":"qwen3","hidden_size":8,"num_hidden_layers":3,"num_attention_heads":2,"num_key_value_heads":1,"head_dim":6,"intermediate_size":16,"max_position_embeddings":32,"vocab_size":30,"rms_norm_eps":1e-6,"hidden_act":"silu","rope_theta":1000000,"rope_scaling":null,"use_sliding_window":false,"sliding_window":null}`,
	"qwen3 window": `{"model_type":"qwen3","hidden_size":8,"num_hidden_layers":3,"num_attention_heads":2,"head_dim":6,"intermediate_size":16,"max_position_embeddings":32,"vocab_size":30,"use_sliding_window":true,"sliding_window":9,"max_window_layers":1}`,
}

func loadText(t testing.TB, text string) (Config, error) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "config.json")
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return Load(path)
}

func TestLoad(t *testing.T) {
	layers := func(a ...Attention) []Attention { return a }
	same := func(a Attention) []Attention { return layers(a, a, a) }
	base := Config{HiddenSize: 8, Layers: 3, Heads: 2, KVHeads: 2, HeadWidth: 4, Intermediate: 16, Vocab: 30, Positions: 32,
		Eps: 1e-12, Activation: GELU, Scale: 4, EmbedScale: 1}
	decoder := base
	decoder.KVHeads, decoder.HeadWidth, decoder.Scale, decoder.RMS, decoder.Gated, decoder.Eps, decoder.Causal, decoder.Activation = 1, 6, 6, true, true, 1e-6, true, SiLU
	for name, change := range map[string]func(c *Config){
		"bert": func(c *Config) { c.Types, c.Places, c.Attention = 2, true, same(Attention{}) },
		"roberta": func(c *Config) {
			c.Types, c.Places, c.FirstPlace, c.Eps, c.Attention = 1, true, 2, 1e-5, same(Attention{})
		},
		"distilbert": func(c *Config) { c.Places, c.Attention = true, same(Attention{}) },
		"mpnet": func(c *Config) {
			c.Places, c.FirstPlace, c.Buckets, c.Eps, c.Attention = true, 2, 32, 1e-5, same(Attention{})
		},
		"nomic_bert": func(c *Config) {
			c.Types, c.Gated, c.Activation, c.Attention = 2, true, SiLU, same(Attention{Theta: 1000, Slower: 1})
		},
		"new": func(c *Config) {
			c.Gated, c.Attention = true, same(Attention{Theta: 1e6, Slower: math.Sqrt2})
		},
		"modernbert": func(c *Config) {
			global := Attention{Theta: 160000, Slower: 1}
			c.Gated, c.Eps, c.Attention = true, 1e-5, layers(global, Attention{8, 10000, 1}, global)
		},
		"gemma3_text": func(c *Config) {
			*c = decoder
			c.OnePlus, c.Causal, c.Scale, c.EmbedScale, c.Activation = true, false, 5, math.Sqrt(8), GELUTanh
			local := Attention{4, 10000, 1}
			c.Attention = layers(local, local, Attention{0, 1e6, 1})
		},
		"qwen3": func(c *Config) { *c = decoder; c.Attention = same(Attention{Theta: 1e6, Slower: 1}) },
		"qwen3 window": func(c *Config) {
			*c = decoder
			near := Attention{8, 10000, 1}
			c.KVHeads, c.Attention = 2, layers(Attention{0, 10000, 1}, near, near)
		},
	} {
		want := base
		change(&want)
		want.ModelType, _, _ = strings.Cut(name, " ")
		got, err := loadText(t, sound[name])
		if err != nil || fmt.Sprintf("%+v", got) != fmt.Sprintf("%+v", want) {
			t.Errorf("%s: %v\n%+v, want\n%+v", name, err, got, want)
		}
	}
}

func TestRotationsByVersion(t *testing.T) {
	with := func(family, key string) (Config, error) {
		return loadText(t, strings.Replace(sound[family], "{", "{"+key+",", 1))
	}
	for _, c := range []struct {
		family, key string
		layer       int
		want        Attention
	}{
		{"qwen3", `"rope_parameters":{"rope_type":"default","rope_theta":5000}`, 0, Attention{0, 5000, 1}},
		{"qwen3", `"rope_parameters":null`, 0, Attention{0, 1e6, 1}},
		{"gemma3_text", `"rope_parameters":{"full_attention":{"rope_type":"linear","factor":8,"rope_theta":7},"sliding_attention":{"rope_theta":9}}`, 2, Attention{0, 7, 8}},
		{"gemma3_text", `"rope_parameters":{"full_attention":{"rope_type":"linear","factor":8,"rope_theta":7},"sliding_attention":{"rope_theta":9}}`, 0, Attention{4, 9, 1}},
		{"gemma3_text", `"layer_types":["full_attention","sliding_attention","full_attention"]`, 0, Attention{0, 1e6, 1}},
		{"modernbert", `"layer_types":["sliding_attention","full_attention","full_attention"]`, 0, Attention{8, 10000, 1}},
		{"nomic_bert", `"rope_parameters":{"rope_theta":77.0,"rope_type":"default"}`, 1, Attention{0, 77, 1}},
	} {
		got, err := with(c.family, c.key)
		if err != nil || got.Attention[c.layer] != c.want {
			t.Errorf("%s with %s: %v, layer %d %+v, want %+v", c.family, c.key, err, c.layer, got.Attention, c.want)
		}
	}
}

func TestCausal(t *testing.T) {
	for key, want := range map[string]bool{`"is_causal":false`: false, `"use_bidirectional_attention":true`: false, `"is_causal":true`: true} {
		got, err := loadText(t, strings.Replace(sound["qwen3"], "{", "{"+key+",", 1))
		if err != nil || got.Causal != want {
			t.Errorf("%s: causal %v, %v", key, got.Causal, err)
		}
	}
}

// What is not built is refused by its name.
func TestLoadRefuses(t *testing.T) {
	for _, c := range []struct{ family, old, new, text string }{
		{"bert", `"bert"`, `"gpt2"`, `model_type "gpt2" is not known; known are [bert camembert`},
		{"bert", `{`, `{"is_decoder":true,`, "is_decoder"},
		{"bert", `{`, `{"position_embedding_type":"relative_key",`, "relative_key"},
		{"bert", `"gelu"`, `"relu"`, `hidden_act "relu"`},
		{"bert", `"num_attention_heads":2`, `"num_attention_heads":3`, "no multiple"},
		{"bert", `"num_attention_heads":2`, `"num_attention_heads":0`, "num_attention_heads"},
		{"bert", `"num_hidden_layers":3`, `"num_hidden_layers":1025`, "num_hidden_layers"},
		{"bert", `"hidden_size":8`, `"hidden_size":1000000`, "hidden_size"},
		{"bert", `"type_vocab_size":2`, `"type_vocab_size":0`, "type_vocab_size"},
		{"bert", `1e-12`, `0`, "layer_norm_eps"},
		{"roberta", `"pad_token_id":1`, `"pad_token_id":40`, "pad_token_id"},
		{"roberta", `"pad_token_id":1`, `"pad_token_id":-2`, "pad_token_id"},
		{"roberta", `:34`, `:2`, "max_position_embeddings"},
		{"mpnet", `_buckets":32`, `_buckets":64`, "relative_attention_num_buckets"},
		{"nomic_bert", `"prenorm":false`, `"prenorm":true`, "prenorm"},
		{"nomic_bert", `"causal":false`, `"causal":true`, "causal"},
		{"nomic_bert", `"rotary_emb_fraction":1.0`, `"rotary_emb_fraction":0.5`, "rotary_emb_fraction"},
		{"nomic_bert", `"rotary_emb_interleaved":false`, `"rotary_emb_interleaved":true`, "rotary_emb_interleaved"},
		{"nomic_bert", `"rotary_scaling_factor":null`, `"rotary_scaling_factor":2`, "rotary_scaling_factor"},
		{"nomic_bert", `{`, `{"num_experts":8,"moe_every_n_layers":2,`, "experts"},
		{"nomic_bert", `swiglu`, `gelu_new`, "gelu_new"},
		{"new", `"rope"`, `"absolute"`, `"absolute"`},
		{"new", `"layer_norm"`, `"rms_norm"`, "rms_norm"},
		{"new", `"logn_attention_scale":false`, `"logn_attention_scale":true`, "logn_attention_scale"},
		{"new", `"factor":2.0`, `"factor":2.0,"mixed_b":0.6`, "mixed_b"},
		{"new", `"ntk"`, `"yarn"`, `"yarn"`},
		{"new", `"factor":2.0`, `"factor":-2.0`, "rotations"},
		{"new", `500000`, `0.2`, "rotations"},
		{"modernbert", `"local_attention":16`, `"local_attention":1`, "local_attention"},
		{"modernbert", `_layers":2`, `_layers":0`, "global_attn_every_n_layers"},
		{"modernbert", `{`, `{"layer_types":["full_attention"],`, "1 layer_types for 3 layers"},
		{"modernbert", `{`, `{"layer_types":["full_attention","full_attention","linear_attention"],`, "linear_attention"},
		{"gemma3_text", `"attn_logit_softcapping":null`, `"attn_logit_softcapping":50`, "attn_logit_softcapping"},
		{"gemma3_text", `"sliding_window":8`, `"sliding_window":0`, "sliding_window"},
		{"gemma3_text", `"rope_scaling":null`, `"rope_scaling":{"rope_type":"llama3","factor":8}`, "llama3"},
		{"gemma3_text", `"head_dim":6`, `"head_dim":5`, "head_dim"},
		{"gemma3_text", `"query_pre_attn_scalar":5`, `"query_pre_attn_scalar":0`, "root of 0"},
		{"qwen3", `"num_key_value_heads":1`, `"num_key_value_heads":0`, "num_key_value_heads"},
		{"qwen3", `"num_key_value_heads":1`, `"num_key_value_heads":3`, "num_key_value_heads"},
		{"qwen3", `"rope_scaling":null`, `"rope_scaling":{"type":"yarn","factor":4}`, "yarn"},
		{"qwen3", `{`, `{"rope_parameters":7,`, "rope_parameters"},
		{"qwen3", `"hidden_size":8`, `"hidden_size":"8"`, "hidden_size"},
		{"qwen3 window", `{`, `{"is_causal":false,`, "use_sliding_window"},
	} {
		text := strings.Replace(sound[c.family], c.old, c.new, 1)
		if text == sound[c.family] {
			t.Fatalf("%s does not hold %s", c.family, c.old)
		}
		if _, err := loadText(t, text); !errors.Is(err, ErrConfig) || !strings.Contains(err.Error(), c.text) {
			t.Errorf("%s with %s: %v; want ErrConfig that says %q", c.family, c.new, err, c.text)
		}
	}
	if _, err := Load(filepath.Join(t.TempDir(), "config.json")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no file: %v", err)
	}
}

// FuzzLoad reads anything: what is taken passes its own check.
func FuzzLoad(f *testing.F) {
	for _, text := range sound {
		f.Add(text)
	}
	f.Add(`{"model_type":"modernbert","num_hidden_layers":1e9}`)
	f.Add(`{"model_type":"gemma3_text","sliding_window":-9223372036854775808,"num_attention_heads":-1}`)
	f.Add(`{"model_type":"mpnet","max_position_embeddings":-9223372036854775808}`)
	f.Fuzz(func(t *testing.T, text string) {
		c, err := loadText(t, text)
		if err != nil {
			if !errors.Is(err, ErrConfig) {
				t.Fatal(err)
			}
			return
		}
		if err := c.Check(); err != nil || int64(len(c.Attention)) != c.Layers {
			t.Fatalf("%+v: %v", c, err)
		}
	})
}
