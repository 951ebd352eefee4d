//go:build cgo

package onnx_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/lexsem/lexsem/encoder"
	"github.com/lexsem/lexsem/encoder/onnx"
	"github.com/lexsem/lexsem/encoder/provision"
	"github.com/lexsem/lexsem/internal/safetensors/safetensorstest"
)

// tiny is a BERT with random weights and a forward pass of its own, in
// float64 and without any library: what the exported graph must compute.
type tiny struct {
	hidden, heads, layers, inner, positions int
	vocab                                   []string
	activation, prefix                      string
	weights                                 map[string][]float32
	shapes                                  map[string][]int
}

func newTiny(seed uint64, activation, prefix string) *tiny {
	m := &tiny{hidden: 12, heads: 3, layers: 2, inner: 20, positions: 16, activation: activation, prefix: prefix,
		vocab:   []string{"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "red", "green", "blue", "sky", "sea", "##s", "stone"},
		weights: map[string][]float32{}, shapes: map[string][]int{}}
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
	norm := func(name string) { put(name+".weight", 1, m.hidden); put(name+".bias", 0, m.hidden) }
	linear := func(name string, in, out int) { put(name+".weight", 0, out, in); put(name+".bias", 0, out) }
	put("embeddings.word_embeddings.weight", 0, len(m.vocab), m.hidden)
	put("embeddings.position_embeddings.weight", 0, m.positions, m.hidden)
	put("embeddings.token_type_embeddings.weight", 0, 2, m.hidden)
	norm("embeddings.LayerNorm")
	for l := range m.layers {
		p := fmt.Sprintf("encoder.layer.%d.", l)
		for _, n := range []string{"query", "key", "value"} {
			linear(p+"attention.self."+n, m.hidden, m.hidden)
		}
		linear(p+"attention.output.dense", m.hidden, m.hidden)
		norm(p + "attention.output.LayerNorm")
		linear(p+"intermediate.dense", m.hidden, m.inner)
		linear(p+"output.dense", m.inner, m.hidden)
		norm(p + "output.LayerNorm")
	}
	if prefix != "" { // a checkpoint that was trained as a masked language model
		linear("cls.predictions.transform.dense", m.hidden, m.hidden)
		norm("cls.predictions.transform.LayerNorm")
		put("cls.predictions.bias", 0, len(m.vocab))
	}
	return m
}

// nameInFile is what weight name is called in the checkpoint: behind the
// prefix, which the head does not have, and where there is one by the names of
// the first implementation.
func (m *tiny) nameInFile(name string) string {
	if m.prefix == "" {
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
	return m.prefix + name
}

// logits is the head on the first token's state.
func (m *tiny) logits(first []float64) []float64 {
	x := m.linear([][]float64{first}, "cls.predictions.transform.dense")
	for k := range x[0] {
		x[0][k] = m.activate(x[0][k])
	}
	x = m.normalize(x, nil, "cls.predictions.transform.LayerNorm")
	out := make([]float64, len(m.vocab))
	for t := range out {
		out[t] = float64(m.weights["cls.predictions.bias"][t])
		for k, v := range x[0] {
			out[t] += v * float64(m.weights["embeddings.word_embeddings.weight"][t*m.hidden+k])
		}
	}
	return out
}

// write puts the checkpoint, its configuration and a tokenizer into dir.
func (m *tiny) write(t *testing.T, dir string) {
	t.Helper()
	file := safetensorstest.New(map[string]string{"format": "pt"})
	for name, w := range m.weights {
		file.Add(m.nameInFile(name), w, m.shapes[name]...)
	}
	vocab := map[string]int{}
	for i, w := range m.vocab {
		vocab[w] = i
	}
	for name, b := range map[string][]byte{
		"model.safetensors": file.Bytes(),
		"config.json": mustJSON(t, map[string]any{"model_type": "bert", "hidden_size": m.hidden, "num_hidden_layers": m.layers,
			"num_attention_heads": m.heads, "intermediate_size": m.inner, "max_position_embeddings": m.positions,
			"type_vocab_size": 2, "vocab_size": len(m.vocab), "layer_norm_eps": 1e-12, "hidden_act": m.activation}),
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

func mustJSON(t *testing.T, v any) []byte {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func (m *tiny) linear(x [][]float64, name string) [][]float64 {
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
func (m *tiny) normalize(x, y [][]float64, name string) [][]float64 {
	scale, shift := m.weights[name+".weight"], m.weights[name+".bias"]
	out := make([][]float64, len(x))
	for i := range x {
		row, mean, variance := make([]float64, m.hidden), 0.0, 0.0
		for k := range row {
			row[k] = x[i][k]
			if y != nil {
				row[k] += y[i][k]
			}
			mean += row[k] / float64(m.hidden)
		}
		for _, v := range row {
			variance += (v - mean) * (v - mean) / float64(m.hidden)
		}
		for k, v := range row {
			row[k] = (v-mean)/math.Sqrt(variance+1e-12)*float64(scale[k]) + float64(shift[k])
		}
		out[i] = row
	}
	return out
}

func (m *tiny) activate(x float64) float64 {
	if m.activation == "gelu" {
		return x / 2 * (1 + math.Erf(x/math.Sqrt2))
	}
	return x / 2 * (1 + math.Tanh(math.Sqrt(2/math.Pi)*(x+0.044715*x*x*x)))
}

// forward returns the token states of ids.
func (m *tiny) forward(ids []int32) []float64 {
	table := func(name string, row int) []float32 { return m.weights[name][row*m.hidden : (row+1)*m.hidden] }
	x := make([][]float64, len(ids))
	for i, id := range ids {
		x[i] = make([]float64, m.hidden)
		for k := range x[i] {
			x[i][k] = float64(table("embeddings.word_embeddings.weight", int(id))[k]) +
				float64(table("embeddings.position_embeddings.weight", i)[k]) +
				float64(table("embeddings.token_type_embeddings.weight", 0)[k])
		}
	}
	x = m.normalize(x, nil, "embeddings.LayerNorm")
	size := m.hidden / m.heads
	for l := range m.layers {
		p := fmt.Sprintf("encoder.layer.%d.", l)
		q, key, v := m.linear(x, p+"attention.self.query"), m.linear(x, p+"attention.self.key"), m.linear(x, p+"attention.self.value")
		mixed := make([][]float64, len(x))
		for i := range x {
			mixed[i] = make([]float64, m.hidden)
			for h := range m.heads {
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

// An exported checkpoint computes what BERT computes, whatever its sizes,
// names and activation; and a folder with safetensors alone is enough.
func TestExportedGraph(t *testing.T) {
	library := provisioned(t).Library
	for i, c := range []struct{ activation, prefix string }{{"gelu", ""}, {"gelu_new", "bert."}} {
		t.Run(c.activation, func(t *testing.T) {
			m, dir := newTiny(uint64(i), c.activation, c.prefix), t.TempDir()
			m.write(t, dir)
			request := provision.Request{Model: dir, Library: library, CacheDir: t.TempDir(), Offline: true, Log: func(s string) { t.Log(s) }}
			r, err := provision.Ensure(t.Context(), request)
			if err != nil {
				t.Fatal(err)
			}
			e := open(t, r, onnx.Options{BatchTokens: 64})
			defer e.Close()
			if f := e.Fingerprint(); f.Pooling != "cls" || f.MaxTokens != m.positions || f.Dim != m.hidden {
				t.Errorf("pooling %s, limit %d, dimension %d; want cls, %d, %d", f.Pooling, f.MaxTokens, f.Dim, m.positions, m.hidden)
			}
			texts := []string{"", "red stones", "blue sky green sea unknown red red red blue", "sea"}
			out, err := e.Encode(t.Context(), encoder.Passage, texts, encoder.NeedHidden)
			if err != nil {
				t.Fatal(err)
			}
			for j, o := range out {
				want := m.forward(o.Tokens.IDs)
				if len(o.Hidden) != len(want) {
					t.Fatalf("%q: %d values, want %d", texts[j], len(o.Hidden), len(want))
				}
				for k := range want {
					if d := math.Abs(float64(o.Hidden[k]) - want[k]); !(d <= 2e-5) {
						t.Fatalf("%q: value %d is %v, want %v", texts[j], k, o.Hidden[k], want[k])
					}
				}
			}
			heads, err := e.Encode(t.Context(), encoder.Query, texts, encoder.NeedDense|encoder.NeedLogits)
			if c.prefix == "" {
				if !errors.Is(err, encoder.ErrNoLogits) {
					t.Errorf("logits of a model without a head: %v", err)
				}
			} else if err != nil {
				t.Fatal(err)
			}
			for j, o := range heads {
				want := m.logits(m.forward(o.Tokens.IDs)[:m.hidden])
				for k := range want {
					if d := math.Abs(float64(o.Logits[k]) - want[k]); len(o.Logits) != len(want) || !(d <= 5e-5) {
						t.Fatalf("%q: logit %d is %v, want %v", texts[j], k, o.Logits[k], want[k])
					}
				}
				if plain, err := e.Encode(t.Context(), encoder.Query, texts[j:j+1], encoder.NeedDense); err != nil || plain[0].Logits != nil || !(maxAbs(plain[0].Dense, o.Dense) < 1e-5) {
					t.Errorf("%q: the vector differs with logits and without, %v", texts[j], err)
				}
			}
			again, err := provision.Ensure(t.Context(), request)
			if err != nil || !again.From[1].Cached || again.ModelDir != r.ModelDir {
				t.Errorf("a second call gave %+v, %v; want the cached folder", again, err)
			}
		})
	}
}
