package encoders

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/lexsem/lexsem/internal/safetensors/safetensorstest"
)

// Tiny is a BERT with random weights and its own forward pass in float64, without any library. It
// gives the expected results for encoders of the same files.
type Tiny struct {
	Hidden, Heads, Layers, Inner, Positions int
	Vocab                                   []string // special tokens of BERT first
	Activation                              string   // hidden_act of config.json
	Prefix                                  string   // prefix of weight names in the file; if not "", the file also has a masked-language-model head
	BFloat16                                bool     // Write rounds the weights to two bytes
	weights                                 map[string][]float32
	shapes                                  map[string][]int
}

// TinySpecials are the first words of a Tiny's vocabulary.
var TinySpecials = []string{"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"}

// Letters is a vocabulary for a Tiny in which all ASCII words can be written, one of them as a single token.
func Letters() []string {
	v := append(slices.Clone(TinySpecials), "word")
	for c := '!'; c <= '~'; c++ {
		if c < 'A' || c > 'Z' {
			v = append(v, string(c), "##"+string(c))
		}
	}
	return v
}

// NewTiny draws the weights. Defaults of zero fields: states of 12 numbers, 3 heads, 2 layers, 16
// positions, a dozen words, the exact GELU.
func NewTiny(seed uint64, t Tiny) *Tiny {
	m := &t
	for _, f := range []struct {
		to    *int
		value int
	}{{&m.Hidden, 12}, {&m.Heads, 3}, {&m.Layers, 2}, {&m.Inner, 20}, {&m.Positions, 16}} {
		if *f.to == 0 {
			*f.to = f.value
		}
	}
	if m.Vocab == nil {
		m.Vocab = append(slices.Clone(TinySpecials), "red", "green", "blue", "sky", "sea", "##s", "stone")
	}
	m.Activation = cmp.Or(m.Activation, "gelu")
	m.weights, m.shapes = map[string][]float32{}, map[string][]int{}
	rng := rand.New(rand.NewPCG(seed, 1))
	put := func(name string, mean float64, shape ...int) {
		n := 1
		for _, s := range shape {
			n *= s
		}
		w := make([]float32, n)
		for i := range w {
			w[i] = float32(mean + 0.4*rng.NormFloat64())
		}
		m.weights[name], m.shapes[name] = w, shape
	}
	norm := func(name string) { put(name+".weight", 1, m.Hidden); put(name+".bias", 0, m.Hidden) }
	linear := func(name string, in, out int) { put(name+".weight", 0, out, in); put(name+".bias", 0, out) }
	put("embeddings.word_embeddings.weight", 0, len(m.Vocab), m.Hidden)
	put("embeddings.position_embeddings.weight", 0, m.Positions, m.Hidden)
	put("embeddings.token_type_embeddings.weight", 0, 2, m.Hidden)
	norm("embeddings.LayerNorm")
	for l := range m.Layers {
		p := fmt.Sprintf("encoder.layer.%d.", l)
		for _, n := range []string{"query", "key", "value"} {
			linear(p+"attention.self."+n, m.Hidden, m.Hidden)
		}
		linear(p+"attention.output.dense", m.Hidden, m.Hidden)
		norm(p + "attention.output.LayerNorm")
		linear(p+"intermediate.dense", m.Hidden, m.Inner)
		linear(p+"output.dense", m.Inner, m.Hidden)
		norm(p + "output.LayerNorm")
	}
	if m.Prefix != "" { // a checkpoint that was trained as a masked language model
		linear("cls.predictions.transform.dense", m.Hidden, m.Hidden)
		norm("cls.predictions.transform.LayerNorm")
		put("cls.predictions.bias", 0, len(m.Vocab))
	}
	return m
}

// nameInFile is the name of a weight in the checkpoint: after the prefix, which the head does not
// have, and if the checkpoint is old with the names of the first implementation.
func (m *Tiny) nameInFile(name string) string {
	if m.Prefix == "" {
		return name
	}
	if at, ok := strings.CutSuffix(name, "LayerNorm.weight"); ok {
		name = at + "LayerNorm.gamma"
	} else if at, ok := strings.CutSuffix(name, "LayerNorm.bias"); ok {
		name = at + "LayerNorm.beta"
	}
	if strings.HasPrefix(name, "cls.") {
		return name
	}
	return m.Prefix + name
}

// Each calls f for each weight, by its PyTorch name, in no particular order.
func (m *Tiny) Each(f func(name string, w []float32, shape []int)) {
	for name, w := range m.weights {
		f(name, w, m.shapes[name])
	}
}

// Logits returns the output of the head on the first token's state.
func (m *Tiny) Logits(first []float64) []float64 {
	x := m.linear([][]float64{first}, "cls.predictions.transform.dense")
	for k := range x[0] {
		x[0][k] = m.activate(x[0][k])
	}
	x = m.normalize(x, nil, "cls.predictions.transform.LayerNorm")
	out := make([]float64, len(m.Vocab))
	for t := range out {
		out[t] = float64(m.weights["cls.predictions.bias"][t])
		for k, v := range x[0] {
			out[t] += v * float64(m.weights["embeddings.word_embeddings.weight"][t*m.Hidden+k])
		}
	}
	return out
}

// Write writes the checkpoint, its configuration and a tokenizer into dir.
func (m *Tiny) Write(t *testing.T, dir string) {
	t.Helper()
	file := safetensorstest.New(map[string]string{"format": "pt"})
	for name, w := range m.weights {
		add := file.Add
		if m.BFloat16 {
			add = file.AddBF16
			for i, v := range w {
				w[i] = math.Float32frombits(math.Float32bits(v) &^ 0xffff)
			}
		}
		add(m.nameInFile(name), w, m.shapes[name]...)
	}
	vocab := map[string]int{}
	for i, w := range m.Vocab {
		vocab[w] = i
	}
	for name, b := range map[string][]byte{
		"model.safetensors": file.Bytes(),
		"config.json": mustJSON(t, map[string]any{"model_type": "bert", "hidden_size": m.Hidden, "num_hidden_layers": m.Layers,
			"num_attention_heads": m.Heads, "intermediate_size": m.Inner, "max_position_embeddings": m.Positions,
			"type_vocab_size": 2, "vocab_size": len(m.Vocab), "layer_norm_eps": 1e-12, "hidden_act": m.Activation}),
		"1_Pooling/config.json": mustJSON(t, map[string]any{"pooling_mode_cls_token": true, "pooling_mode_mean_tokens": false}),
		"tokenizer.json": mustJSON(t, map[string]any{
			"version":       "1.0",
			"normalizer":    map[string]any{"type": "BertNormalizer", "clean_text": true, "handle_chinese_chars": true, "strip_accents": nil, "lowercase": true},
			"pre_tokenizer": map[string]any{"type": "BertPreTokenizer"},
			"post_processor": map[string]any{"type": "BertProcessing",
				"sep": []any{"[SEP]", 3}, "cls": []any{"[CLS]", 2}},
			"model": map[string]any{"type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##",
				"max_input_chars_per_word": 100, "vocab": vocab}}),
	} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, b, 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// WriteSplade writes m, whose Prefix is not "", as SparseEncoder of sentence-transformers writes it.
func (m *Tiny) WriteSplade(t *testing.T, dir, activation string) {
	t.Helper()
	m.Write(t, dir)
	const kind = `"type":"sentence_transformers.sparse_encoder.models.`
	for name, text := range map[string]string{
		"modules.json":              `[{"path":"",` + kind + `MLMTransformer"},{"path":"1_Pooling",` + kind + `SpladePooling"}]`,
		"1_Pooling/config.json":     `{"pooling_strategy":"max","activation_function":"` + activation + `"}`,
		"sentence_bert_config.json": fmt.Sprintf(`{"max_seq_length":%d}`, m.Positions),
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func mustJSON(t *testing.T, v any) []byte {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func (m *Tiny) linear(x [][]float64, name string) [][]float64 {
	w, b := m.weights[name+".weight"], m.weights[name+".bias"]
	out := make([][]float64, len(x))
	for i, row := range x {
		out[i] = make([]float64, len(b))
		for o := range b {
			out[i][o] = float64(b[o])
			for k, v := range row {
				out[i][o] += v * float64(w[o*len(row)+k])
			}
		}
	}
	return out
}

// normalize returns the layer normalisation of x + y.
func (m *Tiny) normalize(x, y [][]float64, name string) [][]float64 {
	scale, shift := m.weights[name+".weight"], m.weights[name+".bias"]
	out := make([][]float64, len(x))
	for i := range x {
		row, mean, variance := make([]float64, m.Hidden), 0.0, 0.0
		for k := range row {
			row[k] = x[i][k]
			if y != nil {
				row[k] += y[i][k]
			}
			mean += row[k] / float64(m.Hidden)
		}
		for _, v := range row {
			variance += (v - mean) * (v - mean) / float64(m.Hidden)
		}
		for k, v := range row {
			row[k] = (v-mean)/math.Sqrt(variance+1e-12)*float64(scale[k]) + float64(shift[k])
		}
		out[i] = row
	}
	return out
}

func (m *Tiny) activate(x float64) float64 {
	if m.Activation == "gelu" {
		return x / 2 * (1 + math.Erf(x/math.Sqrt2))
	}
	return x / 2 * (1 + math.Tanh(math.Sqrt(2/math.Pi)*(x+0.044715*x*x*x)))
}

// Forward returns the token states of ids.
func (m *Tiny) Forward(ids []int32) []float64 {
	table := func(name string, row int) []float32 { return m.weights[name][row*m.Hidden : (row+1)*m.Hidden] }
	x := make([][]float64, len(ids))
	for i, id := range ids {
		x[i] = make([]float64, m.Hidden)
		for k := range x[i] {
			x[i][k] = float64(table("embeddings.word_embeddings.weight", int(id))[k]) +
				float64(table("embeddings.position_embeddings.weight", i)[k]) +
				float64(table("embeddings.token_type_embeddings.weight", 0)[k])
		}
	}
	x = m.normalize(x, nil, "embeddings.LayerNorm")
	size := m.Hidden / m.Heads
	for l := range m.Layers {
		p := fmt.Sprintf("encoder.layer.%d.", l)
		q, key, v := m.linear(x, p+"attention.self.query"), m.linear(x, p+"attention.self.key"), m.linear(x, p+"attention.self.value")
		mixed := make([][]float64, len(x))
		for i := range x {
			mixed[i] = make([]float64, m.Hidden)
			for h := range m.Heads {
				weights, sum := make([]float64, len(x)), 0.0
				for j := range x {
					dot := 0.0
					for k := h * size; k < (h+1)*size; k++ {
						dot += q[i][k] * key[j][k]
					}
					weights[j] = math.Exp(dot / math.Sqrt(float64(size)))
					sum += weights[j]
				}
				for j := range x {
					for k := h * size; k < (h+1)*size; k++ {
						mixed[i][k] += weights[j] / sum * v[j][k]
					}
				}
			}
		}
		x = m.normalize(m.linear(mixed, p+"attention.output.dense"), x, p+"attention.output.LayerNorm")
		f := m.linear(x, p+"intermediate.dense")
		for i := range f {
			for k := range f[i] {
				f[i][k] = m.activate(f[i][k])
			}
		}
		x = m.normalize(m.linear(f, p+"output.dense"), x, p+"output.LayerNorm")
	}
	var flat []float64
	for _, row := range x {
		flat = append(flat, row...)
	}
	return flat
}
