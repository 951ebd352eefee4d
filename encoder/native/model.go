package native

import (
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"strconv"

	"github.com/lexsem/lexsem/internal/bert"
	"github.com/lexsem/lexsem/internal/onnxfile"
)

const (
	wordTable     = "embeddings.word_embeddings.weight"
	positionTable = "embeddings.position_embeddings.weight"
	typeTable     = "embeddings.token_type_embeddings.weight"
)

// norm is a layer normalisation.
type norm struct{ scale, shift []float32 }

// layer is a transformer layer: attention and feed-forward, each with a residual
// and a normalisation after it.
type layer struct {
	qkv       linear // d to 3·d: queries, keys and values side by side
	mix       linear // d to d, behind the attention
	mixNorm   norm
	inner     linear // d to the inner width
	outer     linear // and back
	outerNorm norm
}

// head is the masked-language-model head.
type head struct {
	dense linear
	norm  norm
	words rowTable  // [|V| × d]
	bias  []float32 // [|V|]
}

// model is the weights of a BERT encoder. It is not written to after load.
type model struct {
	d, heads, width  int // of states; number and width of heads
	inner            int
	vocab, positions int
	eps              float32
	tanh             bool      // the approximate GELU
	words            rowTable  // [|V| × d]
	places, kind     []float32 // [positions × d], [d]
	embedded         norm
	layers           []layer
	head             *head // nil where the model has none
}

// load reads the model in dir in the given precision. Memory is that of the
// weights.
func load(dir, precision string) (*model, error) {
	c, err := openCheckpoint(dir)
	if err != nil {
		return nil, err
	}
	c.int8 = precision == Int8
	m, err := c.model(dir)
	if err := errors.Join(err, c.Close()); err != nil {
		return nil, fmt.Errorf("%s: %w", dir, err)
	}
	return m, nil
}

func (c *checkpoint) model(dir string) (*model, error) {
	conf, err := c.config(filepath.Join(dir, fileConfig))
	if err != nil {
		return nil, err
	}
	m := &model{
		d: int(conf.HiddenSize), heads: int(conf.Heads), width: int(conf.HiddenSize / conf.Heads), inner: int(conf.Intermediate),
		vocab: int(conf.Vocab), positions: int(conf.Positions), eps: float32(conf.Eps), tanh: conf.Activation != bert.GELU,
		layers: make([]layer, conf.Layers),
	}
	if err := c.fits(m, int(conf.Types)); err != nil {
		return nil, err
	}
	m.words = c.rowTable(wordTable, m.vocab, m.d)
	m.places = c.table(positionTable, m.positions, m.d)
	m.kind = c.table(typeTable, int(conf.Types), m.d)[:m.d]
	m.embedded = c.norm("embeddings.LayerNorm", m.d)
	for i := range m.layers {
		c.layer(&m.layers[i], "encoder.layer."+strconv.Itoa(i)+".", m.d, m.inner)
	}
	if name := "cls.predictions.transform"; c.has(name + ".dense.weight") {
		m.head = c.head(name, m)
	}
	return m, c.err
}

// fits refuses a configuration that asks for more than the file has, before
// memory is made for it.
func (c *checkpoint) fits(m *model, types int) error {
	for _, t := range []struct {
		name string
		rows int
	}{{wordTable, m.vocab}, {positionTable, m.positions}, {typeTable, types}} {
		if s := c.shape(c.file(t.name)); len(s) != 2 || s[0] != int64(t.rows) || s[1] != int64(m.d) {
			return fmt.Errorf("%w: tensor %q has the shape %v, want [%d %d]", ErrModel, t.name, s, t.rows, m.d)
		}
	}
	for i := range m.layers {
		name := "encoder.layer." + strconv.Itoa(i) + ".intermediate.dense.bias"
		if s := c.shape(c.file(name)); len(s) != 1 || s[0] != int64(m.inner) {
			return fmt.Errorf("%w: tensor %q has the shape %v, want [%d]", ErrModel, name, s, m.inner)
		}
	}
	return nil
}

// norm reads a normalisation; checkpoints that were converted from the first
// implementation call scale and shift gamma and beta.
func (c *checkpoint) norm(name string, d int) norm {
	weight, bias := name+".weight", name+".bias"
	if !c.has(weight) && c.has(name+".gamma") {
		weight, bias = name+".gamma", name+".beta"
	}
	return norm{c.vector(weight, d), c.vector(bias, d)}
}

// matrix packs the matrices of the given names, each [out, in], as one whose
// rows are theirs one after the other.
func (c *checkpoint) matrix(in, out int, names ...string) product {
	p := c.product(in)
	if c.err != nil {
		return p
	}
	n := len(names) * out
	whole := make([]float32, n*in)
	if !c.transposed {
		for i, name := range names {
			c.read(whole[i*out*in:(i+1)*out*in], name, int64(out), int64(in))
		}
		p.PackNT(whole, n, in)
		return p
	}
	part := whole
	if len(names) > 1 {
		part = make([]float32, in*out)
	}
	for i, name := range names {
		if c.read(part, name, int64(in), int64(out)); len(names) > 1 {
			for r := range in {
				copy(whole[r*n+i*out:][:out], part[r*out:])
			}
		}
	}
	p.PackNN(whole, in, n)
	return p
}

func (c *checkpoint) linear(l *linear, name string, in, out int) {
	l.w = c.matrix(in, out, name+".weight")
	l.bias = c.vector(name+".bias", out)
}

func (c *checkpoint) layer(l *layer, name string, d, inner int) {
	if joined := name + "attention.qkv"; c.has(joined + ".weight") { // as our own export writes it
		c.linear(&l.qkv, joined, d, 3*d)
	} else {
		self := name + "attention.self."
		l.qkv.w = c.matrix(d, d, self+"query.weight", self+"key.weight", self+"value.weight")
		for _, part := range []string{"query", "key", "value"} {
			l.qkv.bias = append(l.qkv.bias, c.vector(self+part+".bias", d)...)
		}
	}
	c.linear(&l.mix, name+"attention.output.dense", d, d)
	l.mixNorm = c.norm(name+"attention.output.LayerNorm", d)
	c.linear(&l.inner, name+"intermediate.dense", d, inner)
	c.linear(&l.outer, name+"output.dense", inner, d)
	l.outerNorm = c.norm(name+"output.LayerNorm", d)
}

// head reads the masked-language-model head. Its last matrix is that of the word
// embeddings unless the checkpoint has one of its own.
func (c *checkpoint) head(name string, m *model) *head {
	h := &head{words: m.words}
	c.linear(&h.dense, name+".dense", m.d, m.d)
	h.norm = c.norm(name+".LayerNorm", m.d)
	if own := "cls.predictions.decoder.weight"; c.has(own) {
		h.words = c.rowTable(own, m.vocab, m.d)
	}
	bias := "cls.predictions.bias"
	if !c.has(bias) {
		bias = "cls.predictions.decoder.bias"
	}
	h.bias = c.vector(bias, m.vocab)
	return h
}

// config reads config.json, or where there is none, what the graph says.
func (c *checkpoint) config(path string) (bert.Config, error) {
	if g, ok := c.source.(graphFile); ok && !exists(path) {
		conf, err := c.infer(g)
		if err == nil {
			err = conf.Check()
		}
		if err != nil {
			return conf, fmt.Errorf("%w: no %s beside it, and its graph does not tell: %w", ErrModel, fileConfig, err)
		}
		return conf, nil
	}
	conf, err := bert.Load(path)
	if err != nil {
		return conf, unusable(err)
	}
	return conf, nil
}

// infer finds the configuration in a graph of basic operations.
func (c *checkpoint) infer(g graphFile) (bert.Config, error) {
	conf := bert.Config{ModelType: "bert", Activation: bert.GELU}
	for _, t := range []struct {
		name string
		rows *int64
	}{{wordTable, &conf.Vocab}, {positionTable, &conf.Positions}, {typeTable, &conf.Types}} {
		s := c.shape(c.file(t.name))
		if len(s) != 2 {
			return conf, fmt.Errorf("no table %q", t.name)
		}
		*t.rows, conf.HiddenSize = s[0], s[1]
	}
	for c.has("encoder.layer." + strconv.FormatInt(conf.Layers, 10) + ".output.dense.bias") {
		conf.Layers++
	}
	if s := c.shape(c.file("encoder.layer.0.intermediate.dense.bias")); len(s) == 1 {
		conf.Intermediate = s[0]
	}
	maker := map[string]onnxfile.Node{} // of a value
	for _, n := range g.Nodes {
		for _, out := range n.Outputs {
			maker[out] = n
		}
	}
	exact, width := false, int64(0)
	for _, n := range g.Nodes {
		switch {
		case n.Op == "Erf" || n.Op == "Gelu":
			exact = true
		case n.Op == "LayerNormalization":
			conf.Eps = float64(n.Floats["epsilon"])
		case n.Op == "Sqrt" && len(n.Inputs) == 1: // of variance + eps
			if eps := g.constant(maker[n.Inputs[0]]); maker[n.Inputs[0]].Op == "Add" && eps > 0 {
				conf.Eps = eps
			}
		case n.Op == "Softmax" && len(n.Inputs) > 0:
			w := g.headWidth(maker, n.Inputs[0])
			if w == 0 || width != 0 && w != width {
				return conf, fmt.Errorf("an attention whose scores are not divided by the root of %d", width)
			}
			width = w
		}
	}
	if !exact || width == 0 || conf.HiddenSize%width != 0 {
		return conf, fmt.Errorf("exact GELU: %v, width of a head: %d of %d", exact, width, conf.HiddenSize)
	}
	conf.Heads = conf.HiddenSize / width
	return conf, nil
}

// headWidth is the whole number by whose root the scores are divided of which a
// softmax is taken, with a mask added to them or without; 0 where there is none.
func (g graphFile) headWidth(maker map[string]onnxfile.Node, scores string) int64 {
	n := maker[scores]
	if n.Op == "Add" {
		for _, in := range n.Inputs {
			if op := maker[in].Op; op == "Div" || op == "Mul" {
				if w := g.headWidth(maker, in); w > 0 {
					return w
				}
			}
		}
		return 0
	}
	v := g.constant(n)
	if n.Op == "Mul" {
		v = 1 / v
	}
	if w := math.Round(v * v); (n.Op == "Div" || n.Op == "Mul") && w >= 1 && w < 1<<16 && math.Abs(v*v-w) < 1e-3 {
		return int64(w)
	}
	return 0
}

// constant is the one input of n that is a number, 0 where there is none.
func (g graphFile) constant(n onnxfile.Node) float64 {
	for _, name := range n.Inputs {
		one := make([]float32, 1)
		if r, err := g.Floats(name); err == nil && r.Size() == 4 && readFloats(r, one) == nil {
			return float64(one[0])
		}
	}
	return 0
}
