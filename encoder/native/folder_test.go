package native

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/lexsem/lexsem/encoder"
	"github.com/lexsem/lexsem/encoder/encodertest"
	"github.com/lexsem/lexsem/internal/pooling"
	"github.com/lexsem/lexsem/internal/safetensors/safetensorstest"
	"github.com/lexsem/lexsem/internal/testkit/encoders"
)

const denseDim = 30

// sentenceFolder is m as sentence-transformers writes it, with a Dense module of
// the given activation to 7 dimensions.
func sentenceFolder(t *testing.T, m *encoders.Tiny, pooling, activation string) (dir string, weight, bias []float32) {
	t.Helper()
	dir = t.TempDir()
	m.Write(t, dir)
	rng := rand.New(rand.NewPCG(7, 7))
	for range denseDim * m.Hidden {
		weight = append(weight, float32(rng.NormFloat64()/8))
	}
	for range denseDim {
		bias = append(bias, float32(rng.NormFloat64()/8))
	}
	dense := safetensorstest.New(nil)
	dense.Add("linear.weight", weight, denseDim, m.Hidden)
	dense.Add("linear.bias", bias, denseDim)
	for name, text := range map[string]string{
		"modules.json": `[{"idx":0,"name":"0","path":"","type":"sentence_transformers.models.Transformer"},
			{"idx":1,"name":"1","path":"1_Pooling","type":"sentence_transformers.models.Pooling"},
			{"idx":2,"name":"2","path":"2_Dense","type":"sentence_transformers.models.Dense"},
			{"idx":3,"name":"3","path":"3_Normalize","type":"sentence_transformers.models.Normalize"}]`,
		"1_Pooling/config.json":             `{"word_embedding_dimension":40,"pooling_mode_` + pooling + `":true,"include_prompt":true}`,
		"2_Dense/config.json":               `{"in_features":40,"out_features":30,"bias":true,"activation_function":"torch.nn.modules.` + activation + `"}`,
		"2_Dense/model.safetensors":         string(dense.Bytes()),
		"sentence_bert_config.json":         `{"max_seq_length":100,"do_lower_case":false}`,
		"config_sentence_transformers.json": `{"prompts":{"query":"seek: ","document":"text: "},"default_prompt_name":null}`,
	} {
		path := filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	return dir, weight, bias
}

// A folder of sentence-transformers is opened as it is, and its vectors are those
// of its definition.
func TestSentenceTransformersFolder(t *testing.T) {
	m := large(8)
	dir, weight, bias := sentenceFolder(t, m, "mean_tokens", "activation.Tanh")
	e := open(t, dir, Options{})
	if f := e.Fingerprint(); e.Dim() != denseDim || f.Dim != denseDim || f.Pooling != "mean" || f.MaxTokens != 100 || f.QueryPrefix != "seek: " || f.PassagePrefix != "text: " || f.Model != filepath.Base(dir) {
		t.Errorf("%+v", f)
	}
	if _, err := e.Encode(t.Context(), encoder.Query, encoder.Texts("red"), encoder.NeedHidden); !errors.Is(err, encoder.ErrNoHidden) {
		t.Errorf("states behind an activation: %v, want ErrNoHidden", err)
	}
	texts := sentences()
	for i, o := range encode(t, e, encoder.Query, texts, encoder.NeedDense) {
		states := m.Forward(o.Tokens.IDs)
		want := make([]float32, denseDim)
		for k := range want {
			s := float64(bias[k])
			for j := range m.Hidden {
				mean := 0.0
				for at := j; at < len(states); at += m.Hidden {
					mean += states[at] / float64(len(states)/m.Hidden)
				}
				s += mean * float64(weight[k*m.Hidden+j])
			}
			want[k] = float32(math.Tanh(s))
		}
		if c := encoders.Cosine(o.Dense, want); !(c > 0.9999999) {
			t.Errorf("%q: cosine %v to the definition", texts[i], c)
		}
	}
	want := e.Tokenize(encoder.Query, "x").IDs
	if plain := open(t, folder(t, m, pooling.Mean), Options{}); !slices.Equal(plain.Tokenize(encoder.Query, "x").IDs, want) {
		t.Errorf("a query has the tokens %v", want)
	}
}

// Where states can follow the Dense modules the suite holds them to the vectors.
func TestConformanceOfAFolder(t *testing.T) {
	for _, pooling := range []string{"mean_tokens", "lasttoken"} {
		dir, _, _ := sentenceFolder(t, large(9), pooling, "linear.Identity")
		encodertest.Run(t, func(t *testing.T) encoder.Encoder { return open(t, dir, Options{}) })
	}
}

// randomFolder is a model of another family than BERT, with random weights for all
// words of letters, as sentence-transformers writes it.
func randomFolder(t *testing.T, config, pooling string, tensors map[string][]int) string {
	t.Helper()
	dir, _, _ := sentenceFolder(t, large(1), pooling, "linear.Identity") // for its tokenizer and modules
	rng := rand.New(rand.NewPCG(3, 4))
	f := safetensorstest.New(nil)
	put := func(name string, shape ...int) {
		n := 1
		for _, s := range shape {
			n *= s
		}
		x := make([]float32, n)
		for i := range x {
			x[i] = float32(rng.NormFloat64() / 4)
		}
		f.Add(name, x, shape...)
	}
	for _, name := range slices.Sorted(maps.Keys(tensors)) {
		if !strings.HasPrefix(name, "*") {
			put(name, tensors[name]...)
			continue
		}
		for i := range 2 {
			put("layers."+strconv.Itoa(i)+name[1:], tensors[name]...)
		}
	}
	config = strings.Replace(config, "{", fmt.Sprintf(`{"vocab_size":%d,"hidden_size":40,"num_hidden_layers":2,"num_attention_heads":4,"intermediate_size":52,"max_position_embeddings":120,`, len(encoders.Letters())), 1)
	if err := errors.Join(os.WriteFile(filepath.Join(dir, fileConfig), []byte(config), 0o644),
		os.WriteFile(filepath.Join(dir, fileSafetensors), f.Bytes(), 0o644)); err != nil {
		t.Fatal(err)
	}
	return dir
}

// Other families pass the suite, through Open.
func TestConformanceOfFamilies(t *testing.T) {
	words := len(encoders.Letters())
	for name, dir := range map[string]string{
		"qwen3": randomFolder(t, `{"model_type":"qwen3","num_key_value_heads":2,"head_dim":12,"hidden_act":"silu"}`, "lasttoken", map[string][]int{
			"embed_tokens.weight": {words, 40}, "norm.weight": {40}, "*.input_layernorm.weight": {40}, "*.post_attention_layernorm.weight": {40},
			"*.self_attn.q_proj.weight": {48, 40}, "*.self_attn.k_proj.weight": {24, 40}, "*.self_attn.v_proj.weight": {24, 40}, "*.self_attn.o_proj.weight": {40, 48},
			"*.self_attn.q_norm.weight": {12}, "*.self_attn.k_norm.weight": {12}, "*.mlp.gate_proj.weight": {52, 40}, "*.mlp.up_proj.weight": {52, 40}, "*.mlp.down_proj.weight": {40, 52},
		}),
		"modernbert": randomFolder(t, `{"model_type":"modernbert","local_attention":12,"layer_types":["full_attention","sliding_attention"]}`, "mean_tokens", map[string][]int{
			"embeddings.tok_embeddings.weight": {words, 40}, "embeddings.norm.weight": {40}, "final_norm.weight": {40}, "layers.1.attn_norm.weight": {40},
			"*.attn.Wqkv.weight": {120, 40}, "*.attn.Wo.weight": {40, 40}, "*.mlp_norm.weight": {40}, "*.mlp.Wi.weight": {104, 40}, "*.mlp.Wo.weight": {40, 52},
		}),
	} {
		t.Run(name, func(t *testing.T) {
			encodertest.Run(t, func(t *testing.T) encoder.Encoder { return open(t, dir, Options{}) })
			if _, err := open(t, dir, Options{}).Encode(t.Context(), encoder.Query, encoder.Texts("red"), encoder.NeedLogits); !errors.Is(err, encoder.ErrNoLogits) {
				t.Errorf("logits: %v, want ErrNoLogits", err)
			}
		})
	}
}
