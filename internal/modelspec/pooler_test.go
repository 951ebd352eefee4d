package modelspec

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/lexsem/lexsem/encoder"
	"github.com/lexsem/lexsem/internal/pooling"
	"github.com/lexsem/lexsem/internal/safetensors/safetensorstest"
	"github.com/lexsem/lexsem/internal/testkit/encoders"
)

// denseFolder is a model's folder whose 2_Dense is of the given configuration.
func denseFolder(t *testing.T, config string, weight, bias []float32, out, in int) string {
	t.Helper()
	f := safetensorstest.New(nil)
	f.Add("linear.weight", weight, out, in)
	if bias != nil {
		f.Add("linear.bias", bias, out)
	}
	return write(t, map[string]string{"2_Dense/config.json": config, "2_Dense/model.safetensors": string(f.Bytes())})
}

func denseConfig(in, out int, activation string) string {
	return fmt.Sprintf(`{"in_features":%d,"out_features":%d,"bias":true,"activation_function":"torch.nn.modules.activation.%s"}`, in, out, activation)
}

// near reports whether a and b point the same way.
func near(a, b []float32) bool { return len(a) == len(b) && encoders.Cosine(a, b) > 1-1e-12 }

// Each way of pooling is its definition, before a Dense module whose bias makes
// lengths matter.
func TestPoolings(t *testing.T) {
	const d = 2
	states := []float32{1, -4, 2, 5, 3, 1, -1, 2}
	weight, bias := []float32{1, 2, -1, 0.5, 3, 1}, []float32{0.5, -0.25, 2}
	dir := denseFolder(t, denseConfig(d, 3, "Tanh"), weight, bias, 3, d)
	root := float32(2)
	for p, want := range map[pooling.Pooling][]float32{
		pooling.Mean: {5.0 / 4, 1}, pooling.CLS: {1, -4}, pooling.Last: {-1, 2}, pooling.Max: {3, 5},
		pooling.Weighted: {(1 + 4 + 9 - 4) / 10.0, (-4 + 10 + 3 + 8) / 10.0}, pooling.Sqrt: {5 / root, 4 / root},
	} {
		plain, err := NewPooler(dir, Spec{Pooling: p}, nil, d)
		if err != nil {
			t.Fatal(err)
		}
		got, ok := plain.Pool(encoder.Passage, states)
		same := make([]float32, d)
		if !ok || !near(got, want) || !p.Pool(same, states) || !slices.Equal(same, got) || plain.Dim() != d || plain.Name() != string(p) {
			t.Errorf("%s: %v, want the direction of %v", p, got, want)
		}
		with, err := NewPooler(dir, Spec{Pooling: p, Dense: []string{"2_Dense"}}, nil, d)
		if err != nil {
			t.Fatal(err)
		}
		through := make([]float32, 3)
		for o := range through {
			through[o] = float32(math.Tanh(float64(weight[2*o]*want[0] + weight[2*o+1]*want[1] + bias[o])))
		}
		if got, ok := with.Pool(encoder.Passage, states); !ok || !near(got, through) || with.Dim() != 3 {
			t.Errorf("%s through Dense: %v, want the direction of %v", p, got, through)
		}
	}
	if len(pooling.All) != 6 {
		t.Errorf("%d ways of pooling, 6 are tested", len(pooling.All))
	}
}

// Hidden states pool to the vector of the text wherever they are given.
func TestPoolerHidden(t *testing.T) {
	states := []float32{1, -4, 2, 5, 3, 1, -1, 2, 0, 3}
	for _, activation := range []string{"Identity", "Tanh", "ReLU", "GELU", "SiLU", "Sigmoid"} {
		dir := denseFolder(t, denseConfig(2, 3, activation), []float32{1, 2, -1, 0.5, 3, 1}, []float32{0.5, -0.25, 2}, 3, 2)
		for _, p := range pooling.All {
			for _, dense := range [][]string{nil, {"2_Dense"}} {
				k, err := NewPooler(dir, Spec{Pooling: p, Dense: dense}, nil, 2)
				if err != nil {
					t.Fatal(err)
				}
				want := dense == nil || p == pooling.CLS || p == pooling.Last || (p == pooling.Mean || p == pooling.Weighted) && activation == "Identity"
				if k.HasHidden() != want {
					t.Errorf("%s, %s, dense %v: hidden states %v, want %v", p, activation, dense, k.HasHidden(), want)
				}
				if !want {
					continue
				}
				v, ok := k.Pool(encoder.Query, states)
				pooled, hidden := make([]float32, k.Dim()), k.Hidden(states)
				if !ok || len(hidden) != 5*k.Dim() || !p.Pool(pooled, hidden) || !near(pooled, v) {
					t.Errorf("%s, %s, dense %v: states pool to %v, the vector is %v", p, activation, dense, pooled, v)
				}
				hidden[0] = 99
				if states[0] != 1 {
					t.Fatal("hidden states share memory with the model's")
				}
			}
		}
	}
}

// The tokens of a prompt are left out, by role, with those before them.
func TestPoolerLeavesPrompt(t *testing.T) {
	w := wordsAndSigns{}
	s := Spec{Pooling: pooling.Mean, LeavePrompt: true, QueryPrefix: "query: "}
	k, err := NewPooler("", s, w, 1)
	if err != nil {
		t.Fatal(err)
	}
	tokens := WithPrefix(w, s.QueryPrefix, "the cat", 0) // [CLS] query : the cat [SEP]
	states := []float32{-100, -100, -100, 7, -1, -1}     // one token more or less, and the sum has the other sign
	if len(tokens.IDs) != len(states) {
		t.Fatalf("%v", tokens)
	}
	if v, ok := k.Pool(encoder.Query, states); !ok || v[0] != 1 {
		t.Errorf("query: %v", v)
	}
	if v, ok := k.Pool(encoder.Passage, states); !ok || v[0] != -1 {
		t.Errorf("passage: %v", v)
	}
	if v, ok := k.Pool(encoder.Query, states[:2]); !ok || v[0] != -1 { // cut within the prompt
		t.Errorf("a text of the prompt alone: %v, %v", v, ok)
	}
	for p, want := range map[pooling.Pooling]float32{pooling.CLS: 4, pooling.Weighted: (4*4 + 5*5 - 6*7) / 15.0, pooling.Max: 5, pooling.Last: -7, pooling.Sqrt: 2 / float32(math.Sqrt(3))} {
		sum := make([]float32, 1)
		weight, ok := p.Sum(sum, []float32{9, 9, 9, 4, 5, -7}, 3)
		if got := float64(sum[0]) / weight; !ok || math.Abs(got-float64(want)) > 1e-6 {
			t.Errorf("%s from the fourth state on: %v, want %v", p, got, want)
		}
	}
	if k.Name() != "mean without the prompt" {
		t.Errorf("named %q", k.Name())
	}
}

func TestPoolerRefuses(t *testing.T) {
	weight, bias := make([]float32, 6), make([]float32, 3)
	good := denseConfig(2, 3, "Tanh")
	for _, c := range []struct {
		name, config string
		width        int
		text         string
	}{
		{"another width", good, 4, "gives 4"},
		{"an unknown activation", denseConfig(2, 3, "Softplus"), 2, "Softplus"},
		{"a residual without its weights", strings.Replace(good, "{", `{"use_residual":true,`, 1), 2, "residual.weight"},
		{"of tokens", strings.Replace(good, "{", `{"module_input_name":"token_embeddings",`, 1), 2, "token_embeddings"},
		{"no sizes", `{}`, 2, "0 features"},
		{"huge sizes", denseConfig(2, 1<<40, "Tanh"), 2, "features"},
		{"more than there is", denseConfig(2, 60000, "Tanh"), 2, "[3 2]"},
		{"damaged", `{`, 2, "config.json"},
	} {
		_, err := NewPooler(denseFolder(t, c.config, weight, bias, 3, 2), Spec{Pooling: pooling.Mean, Dense: []string{"2_Dense"}}, nil, c.width)
		if !errors.Is(err, ErrSpec) || !strings.Contains(err.Error(), c.text) {
			t.Errorf("%s: %v; want ErrSpec that says %q", c.name, err, c.text)
		}
	}
	spec := Spec{Pooling: pooling.Mean, Dense: []string{"2_Dense"}}
	if _, err := NewPooler(denseFolder(t, good, weight, nil, 3, 2), spec, nil, 2); !errors.Is(err, ErrSpec) || !strings.Contains(err.Error(), "linear.bias") {
		t.Errorf("no bias: %v", err)
	}
	if _, err := NewPooler(write(t, map[string]string{"2_Dense/config.json": good}), spec, nil, 2); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no weights: %v", err)
	}
	if _, err := NewPooler(t.TempDir(), spec, nil, 2); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no module: %v", err)
	}
	if _, err := NewPooler(write(t, map[string]string{"2_Dense/config.json": good, "2_Dense/model.safetensors": "nonsense"}), spec, nil, 2); !errors.Is(err, ErrSpec) {
		t.Errorf("damaged weights: %v", err)
	}
	inf := denseFolder(t, denseConfig(1, 1, "Identity"), []float32{math.MaxFloat32}, []float32{math.MaxFloat32}, 1, 1)
	k, err := NewPooler(inf, spec, nil, 1)
	if err != nil {
		t.Fatal(err)
	}
	if v, ok := k.Pool(encoder.Query, []float32{2}); ok {
		t.Errorf("infinite: pooled to %v", v)
	}
}
