package native

import (
	"errors"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/lexsem/lexsem/encoder"
	"github.com/lexsem/lexsem/encoder/encodertest"
	"github.com/lexsem/lexsem/internal/safetensors/safetensorstest"
)

const denseDim = 30

// sentenceFolder is m as sentence-transformers writes it, with a Dense module of
// the given activation to 7 dimensions.
func sentenceFolder(t *testing.T, m *encodertest.Tiny, pooling, activation string) (dir string, weight, bias []float32) {
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
	if _, err := e.Encode(t.Context(), encoder.Query, []string{"red"}, encoder.NeedHidden); !errors.Is(err, encoder.ErrNoHidden) {
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
		if c := cosine(o.Dense, want); !(c > 0.9999999) {
			t.Errorf("%q: cosine %v to the definition", texts[i], c)
		}
	}
	want := e.Tokenize(encoder.Query, "x").IDs
	if plain := open(t, folder(t, m, encoder.PoolMean), Options{}); !slices.Equal(plain.Tokenize(encoder.Query, "x").IDs, want) {
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

func cosine(a, b []float32) float64 {
	var ab, aa, bb float64
	for i := range a {
		x, y := float64(a[i]), float64(b[i])
		ab, aa, bb = ab+x*y, aa+x*x, bb+y*y
	}
	return ab / math.Sqrt(aa*bb)
}

func distance(a, b []float32) float64 {
	if len(a) != len(b) {
		return math.NaN()
	}
	far := 0.0
	for i := range a {
		far = max(far, math.Abs(float64(a[i])-float64(b[i])))
	}
	return far
}
