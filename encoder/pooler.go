package encoder

import (
	"fmt"
	"math"
	"path/filepath"
	"slices"

	"github.com/lexsem/lexsem/internal/safetensors"
)

// Pooler turns the token states of a text into its vector: pooling, then the Dense modules of the
// model's folder. It is immutable and safe for concurrent use.
type Pooler struct {
	pooling Pooling
	leave   bool
	prompt  [2]int // tokens that are not pooled, by role
	layers  []dense
	width   int  // of a state
	late    bool // the layers stand before the pooling, and states have length 1
}

// dense is y = activate(x·Wᵀ + b) + r.
type dense struct {
	in, out  int
	weight   []float32 // [out × in]
	bias     []float32 // [out], nil for none
	activate func(float64) float64
	residual bool      // r is x, or x·Rᵀ; else 0
	remains  []float32 // R [out × in], nil for the identity
}

// The activations of Dense modules, by their names in PyTorch. Identity is nil.
var denseActivations = map[string]func(float64) float64{
	"Identity": nil,
	"Tanh":     math.Tanh,
	"ReLU":     func(x float64) float64 { return max(x, 0) },
	"GELU":     func(x float64) float64 { return x / 2 * (1 + math.Erf(x/math.Sqrt2)) },
	"SiLU":     func(x float64) float64 { return x / (1 + math.Exp(-x)) },
	"Sigmoid":  func(x float64) float64 { return 1 / (1 + math.Exp(-x)) },
}

// Most features that a Dense module may have, and modules that a folder.
const (
	maxFeatures = 1 << 16
	maxModules  = 64
)

// NewPooler reads the Dense modules listed in s from dir. States have the given width; t counts the
// tokens of a prefix. Errors wrap ErrSpec for a module that is damaged, does not fit or has an unknown
// kind, and fs.ErrNotExist for a missing one.
func NewPooler(dir string, s Spec, t Tokenizer, width int) (*Pooler, error) {
	p := &Pooler{pooling: s.Pooling, leave: s.LeavePrompt, width: width, late: s.Late != nil}
	if s.LeavePrompt {
		for _, r := range []Role{Passage, Query} {
			p.prompt[r] = promptTokens(t, s.Prefix(r))
		}
	}
	for _, name := range s.Dense {
		d, err := loadDense(filepath.Join(dir, filepath.FromSlash(name)), s.Late != nil)
		if err != nil {
			return nil, err
		}
		if d.in != p.Dim() {
			return nil, fmt.Errorf("%w: %s takes %d features, and what stands before it gives %d", ErrSpec, filepath.Join(dir, name), d.in, p.Dim())
		}
		p.layers = append(p.layers, d)
	}
	return p, nil
}

// promptTokens is the number of tokens of a prefix and of the special tokens before it.
func promptTokens(t Tokenizer, prefix string) int {
	if prefix == "" {
		return 0
	}
	k := t.Tokenize(prefix, 0)
	n := len(k.IDs)
	if n > 0 && k.Special[n-1] && k.Offsets[n-1] == (Span{}) { // what stands after a text
		n--
	}
	return n
}

// loadDense reads the module in dir. A Late model has it before the pooling, and of its first authors in its own file.
func loadDense(dir string, late bool) (dense, error) {
	var d dense
	wrong := func(format string, args ...any) (dense, error) {
		return dense{}, fmt.Errorf("%w: %s: %s", ErrSpec, dir, fmt.Sprintf(format, args...))
	}
	c := struct {
		In         int    `json:"in_features"`
		Out        int    `json:"out_features"`
		Bias       *bool  `json:"bias"`
		Activation string `json:"activation_function"`
		Residual   bool   `json:"use_residual"`
		From       string `json:"module_input_name"`
		To         string `json:"module_output_name"`
	}{Activation: "Tanh"}
	path := filepath.Join(dir, "config.json")
	if found, err := readJSON(path, &c); err != nil || !found {
		return d, missing(path, err)
	}
	f, err := safetensors.Open(filepath.Join(dir, "model.safetensors"))
	if err != nil {
		return d, unusableModule(err)
	}
	defer f.Close()
	if late && c.In == 0 && c.Out == 0 {
		if shape := f.Tensors["linear.weight"].Shape; len(shape) == 2 {
			c.Out, c.In, c.Bias, c.Activation = int(shape[0]), int(shape[1]), new(bool), "Identity"
		}
	}
	if c.In < 1 || c.In > maxFeatures || c.Out < 1 || c.Out > maxFeatures {
		return wrong("%d features in and %d out; want 1 to %d of each", c.In, c.Out, maxFeatures)
	}
	for _, name := range []string{c.From, c.To} {
		if name != "" && name != "sentence_embedding" && !(late && name == "token_embeddings") {
			return wrong("a Dense module of %q; only of the vector of a text is known", name)
		}
	}
	activate, ok := denseActivations[lastPart(c.Activation)]
	if !ok {
		return wrong("activation_function %q is not known; known are Identity, Tanh, ReLU, GELU, SiLU and Sigmoid", c.Activation)
	}
	d = dense{in: c.In, out: c.Out, activate: activate, residual: c.Residual}
	read := func(name string, shape ...int64) []float32 {
		if err != nil {
			return nil
		}
		if got := f.Tensors[name].Shape; !slices.Equal(got, shape) {
			err = fmt.Errorf("%w: %s: tensor %q has the shape %v, want %v", ErrSpec, dir, name, got, shape)
			return nil
		}
		var x []float32
		if x, err = f.Floats(name); err != nil {
			err = unusableModule(err)
		}
		return x
	}
	d.weight = read("linear.weight", int64(d.out), int64(d.in))
	if c.Bias == nil || *c.Bias {
		d.bias = read("linear.bias", int64(d.out))
	}
	if d.residual && d.in != d.out {
		d.remains = read("residual.weight", int64(d.out), int64(d.in))
	}
	return d, err
}

// Dim returns the length of the vectors.
func (p *Pooler) Dim() int {
	if n := len(p.layers); n > 0 {
		return p.layers[n-1].out
	}
	return p.width
}

// Name returns the name of the pooling in a Fingerprint.
func (p *Pooler) Name() string {
	if p.leave {
		return string(p.pooling) + " without the prompt"
	}
	return string(p.pooling)
}

// Pool returns the unit vector [Dim] of a text in a role, from its token states hidden [n × width], n
// ≥ 1. It returns false if Pooling.Pool would, or if the Dense modules give a vector that is not
// finite or has length zero.
func (p *Pooler) Pool(role Role, hidden []float32) ([]float32, bool) {
	if p.late {
		v := make([]float32, p.Dim())
		return v, p.pooling.Pool(v, p.Hidden(hidden))
	}
	v := make([]float32, p.width)
	weight, ok := p.pooling.sum(v, hidden, p.prompt[role])
	if !ok {
		return nil, false
	}
	if len(p.layers) > 0 {
		for i := range v {
			v[i] = float32(float64(v[i]) / weight)
		}
		v = p.project(v)
	}
	return v, normalize(v)
}

// project applies the Dense modules to x.
func (p *Pooler) project(x []float32) []float32 {
	for _, d := range p.layers {
		y := make([]float32, d.out)
		for o := range y {
			var s float64
			for i, w := range d.weight[o*d.in : (o+1)*d.in] {
				s += float64(w) * float64(x[i])
			}
			if d.bias != nil {
				s += float64(d.bias[o])
			}
			if d.activate != nil {
				s = d.activate(s)
			}
			switch {
			case d.remains != nil:
				for i, w := range d.remains[o*d.in : (o+1)*d.in] {
					s += float64(w) * float64(x[i])
				}
			case d.residual:
				s += float64(x[o])
			}
			y[o] = float32(s)
		}
		x = y
	}
	return x
}

// HasHidden reports whether there are states of width Dim that pool to the vector of the text. Without
// Dense modules these are the model's states. With Dense modules these are the model's states after
// the modules. The result is exact if pooling takes one token, or if it averages states and no module
// has an activation.
func (p *Pooler) HasHidden() bool {
	switch {
	case p.late, len(p.layers) == 0, p.pooling == PoolCLS, p.pooling == PoolLast:
		return true
	case p.pooling != PoolMean && p.pooling != PoolWeighted:
		return false
	}
	for _, d := range p.layers {
		if d.activate != nil {
			return false
		}
	}
	return true
}

// Hidden returns the states [n × Dim] for Output.Hidden, as a copy, from the model's own [n × width].
// HasHidden must be true.
func (p *Pooler) Hidden(states []float32) []float32 {
	if len(p.layers) == 0 {
		return slices.Clone(states)
	}
	out := make([]float32, 0, len(states)/p.width*p.Dim())
	for i := 0; i+p.width <= len(states); i += p.width {
		y := p.project(states[i : i+p.width])
		if p.late {
			normalize(y)
		}
		out = append(out, y...)
	}
	return out
}
