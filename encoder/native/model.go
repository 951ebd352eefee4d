package native

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"path/filepath"
	"slices"
	"strconv"

	"github.com/lexsem/lexsem/internal/onnxfile"
	"github.com/lexsem/lexsem/internal/regular"
	"github.com/lexsem/lexsem/internal/transformer"
	"github.com/lexsem/lexsem/internal/vec"
)

// The tables of BERT, which identify a graph without a config.json.
const (
	wordTable     = "embeddings.word_embeddings.weight"
	positionTable = "embeddings.position_embeddings.weight"
	typeTable     = "embeddings.token_type_embeddings.weight"
)

// norm is a layer normalisation, or one by the root mean square, which has no shift.
// Without a scale it does nothing.
type norm struct {
	scale, shift []float32
	eps          float32
}

// layer is a transformer layer: attention and feed-forward, each with a residual and
// normalisations before or after it.
type layer struct {
	attentionIn, attentionOut norm
	qkv                       linear // d to (heads + 2·kv)·width: queries, keys and values side by side
	queries, keys             norm   // of a head
	mix                       linear // heads·width to d, after the attention
	feedIn, feedOut           norm
	inner                     linear // d to the inner width, or twice that: the gate, and what it is multiplied by
	outer                     linear // the inner width to d
	window                    int    // greatest distance to a token that is seen, 0 for any
	turns                     *turns // of queries and keys, nil for none
}

// head is the masked-language-model head.
type head struct {
	dense linear
	norm  norm
	words rowTable  // [|V| × d]
	bias  []float32 // [|V|]
}

// model is the weights of an encoder. It is not written to after load.
type model struct {
	d, heads, kv, width int // of states; number of heads of queries, of keys and values; width of heads
	inner               int // width of the feed-forward part
	vocab, positions    int
	first               int     // row of places for the first token; the one before is that of padding
	score, word         float32 // what scores and word embeddings are multiplied by
	activation          string
	gated, causal       bool
	sums                bool        // the normalisations after the parts are of the sum with what went in
	words               rowTable    // [|V| × d]
	places, kinds       []float32   // [first + positions × d] or nil, [types × d]: of tokens of each type
	distances           [][]float32 // [heads][2·positions − 1], what is added to scores by distance; nil for none
	zero                []float32   // as many as a row of any product has
	embedded, last      norm
	layers              []layer
	head                *head     // nil where the model has none
	file                io.Closer // of words or matrices that lie there, else nil
	unread              *unread   // nil where all matrices are in memory from the start
}

// rowWidth is the maximum number of values that a product computes for a token.
func (m *model) rowWidth() int { return max(m.qkvWidth(), m.innerWidth(), m.d) }

// types is the number of token types that the model distinguishes.
func (m *model) types() int { return len(m.kinds) / m.d }

func (m *model) qkvWidth() int { return (m.heads + 2*m.kv) * m.width }

func (m *model) innerWidth() int {
	if m.gated {
		return 2 * m.inner
	}
	return m.inner
}

// load reads the model in dir. It takes the memory of the weights.
// It looks at ctx before each layer.
func load(ctx context.Context, dir string, o Options) (*model, error) {
	c, err := openCheckpoint(dir)
	if err != nil {
		return nil, err
	}
	c.int8, c.brief = o.Precision == Int8, o.Late && o.Precision != Int8
	m, err := c.model(ctx, dir)
	return m, c.finish(m, dir, err)
}

// finish closes the file unless the model reads words from it.
func (c *checkpoint) finish(m *model, dir string, err error) error {
	if err == nil && (m.words.stored != nil || m.unread != nil) {
		m.file = c.source
		return nil
	}
	if err := errors.Join(err, c.Close()); err != nil {
		return fmt.Errorf("%s: %w", dir, err)
	}
	return nil
}

func (c *checkpoint) model(ctx context.Context, dir string) (*model, error) {
	conf, err := c.config(filepath.Join(dir, fileConfig))
	if err != nil {
		return nil, err
	}
	n := named[conf.ModelType]
	if c.transposed && conf.ModelType != "bert" {
		return nil, fmt.Errorf("%w: of model_type %s only %s is read, not %s", ErrModel, conf.ModelType, fileSafetensors, fileONNX)
	}
	c.find(n)
	m := &model{
		d: int(conf.HiddenSize), heads: int(conf.Heads), kv: int(conf.KVHeads), width: int(conf.HeadWidth), inner: int(conf.Intermediate),
		vocab: int(conf.Vocab), positions: int(conf.Positions), first: int(conf.FirstPlace),
		score: float32(1 / math.Sqrt(conf.Scale)), word: float32(conf.EmbedScale),
		activation: conf.Activation, gated: conf.Gated, causal: conf.Causal, sums: n.sums, layers: make([]layer, conf.Layers),
	}
	withHead := n.head.dense != "" && c.has(n.head.dense+".weight") && (c.has(n.head.bias) || c.has(n.head.words+".bias"))
	if withHead && !c.has(n.head.words+".weight") { // which multiplies by all words
		m.words = c.rowTable(n.words+".weight", m.vocab, m.d)
	} else {
		m.words = c.storedRows(n.words+".weight", m.vocab, m.d)
	}
	if conf.Places {
		m.places = c.table(n.places+".weight", m.first+m.positions, m.d)
	}
	if conf.Types > 0 && n.kinds != "" {
		m.kinds = c.table(n.kinds+".weight", int(conf.Types), m.d)
	}
	if conf.Buckets > 0 {
		m.distances = c.distances(n.distances, m, int(conf.Buckets))
	}
	m.embedded = c.norm(n, n.embedded, m.d, conf)
	m.last = c.norm(n, n.last, m.d, conf)
	all := map[transformer.Attention]*turns{}
	c.later = c.brief
	for i := range m.layers {
		if c.err == nil {
			c.err = ctx.Err()
		}
		a := conf.Attention[i]
		m.layers[i].window = int(a.Window)
		if a.Window = 0; a.Theta != 0 && all[a] == nil {
			all[a] = newTurns(a, m.width)
		}
		m.layers[i].turns = all[a]
		c.layer(&m.layers[i], n, n.layer+strconv.Itoa(i)+".", i, m, conf)
	}
	if c.later {
		c.later, m.unread = false, &unread{turn: make(chan struct{}, 1)}
	}
	if withHead {
		m.head = c.head(n, m, conf)
	}
	if c.err == nil { // now the sizes are those of weights that are there
		m.zero = make([]float32, m.rowWidth())
		if m.kinds == nil {
			m.kinds = m.zero[:m.d]
		}
	}
	return m, c.err
}

// norm reads a normalisation; checkpoints that were converted from the first
// implementation call scale and shift gamma and beta.
func (c *checkpoint) norm(n names, name string, d int, conf transformer.Config) norm {
	if name == "" {
		return norm{}
	}
	weight, bias := name+".weight", name+".bias"
	if !c.has(weight) && c.has(name+".gamma") {
		weight, bias = name+".gamma", name+".beta"
	}
	out := norm{scale: c.vector(weight, d), eps: float32(conf.Eps)}
	switch {
	case conf.RMS:
	case n.biases || c.has(bias):
		out.shift = c.vector(bias, d)
	default:
		out.shift = make([]float32, len(out.scale))
	}
	if conf.OnePlus {
		for i := range out.scale {
			out.scale[i]++
		}
	}
	return out
}

// part is one of the matrices [out, in] that are stacked in a product.
type part struct {
	name string
	out  int
	swap bool // whether the halves are put the other way round
}

// linear reads the matrices of the given parts as one product.
func (c *checkpoint) linear(l *linear, n names, in int, parts ...part) {
	total := 0
	for _, p := range parts {
		shape := []int64{int64(p.out), int64(in)}
		if c.transposed {
			slices.Reverse(shape)
		}
		if !c.want(p.name+".weight", shape...) {
			return
		}
		total += p.out
	}
	at := 0
	for _, p := range parts {
		if name := p.name + ".bias"; n.biases || c.has(name) {
			if l.bias == nil {
				l.bias = make([]float32, total)
			}
			copy(l.bias[at:], c.vector(name, p.out))
			if p.swap {
				swap(l.bias[at : at+p.out])
			}
		}
		at += p.out
	}
	l.read = func(w product) error { return c.pack(w, total, in, parts) }
	switch l.w = c.product(in); {
	case c.err != nil:
	case c.later:
		l.w = nil
		c.err = c.readable(parts)
	default:
		c.err = l.read(l.w)
	}
}

// readable reports an error if the matrices are of a type that is not read.
func (c *checkpoint) readable(parts []part) error {
	if _, ok := c.source.(*packed); ok { // whose types are known
		return nil
	}
	for _, p := range parts {
		if _, err := c.reader(c.file(p.name + ".weight")); err != nil {
			return unusable(err)
		}
	}
	return nil
}

// pack reads the matrices of the given parts into w, one below the other. Calls must not overlap.
func (c *checkpoint) pack(w product, total, in int, parts []part) error {
	c.scratch = vec.Grown(c.scratch, 2*total*in)
	whole, at := c.scratch[:total*in], 0
	for _, p := range parts {
		dst := whole[at*in : (at+p.out)*in]
		if c.transposed && len(parts) > 1 {
			dst = c.scratch[total*in:][:in*p.out]
		}
		if err := c.floats(c.file(p.name+".weight"), dst); err != nil {
			return unusable(err)
		}
		if c.transposed && len(parts) > 1 {
			for r := range in {
				copy(whole[r*total+at:][:p.out], dst[r*p.out:])
			}
		}
		if p.swap {
			swap(dst)
		}
		at += p.out
	}
	if c.transposed {
		w.PackNN(whole, in, total)
	} else {
		w.PackNT(whole, total, in)
	}
	return nil
}

// swap exchanges the halves of x.
func swap(x []float32) {
	half := len(x) / 2
	for i := range half {
		x[i], x[half+i] = x[half+i], x[i]
	}
}

// layer reads layer i; its names begin with name.
func (c *checkpoint) layer(l *layer, n names, name string, i int, m *model, conf transformer.Config) {
	of := func(short string) string {
		if short == "" {
			return ""
		}
		return name + short
	}
	if !n.firstBare || i > 0 {
		l.attentionIn = c.norm(n, of(n.attentionIn), m.d, conf)
	}
	heads, pairs := m.heads*m.width, m.kv*m.width
	qkv := n.qkv
	if joined := "attention.qkv"; conf.ModelType == "bert" && c.has(of(joined)+".weight") { // as our own export writes it
		qkv = []string{joined}
	}
	if len(qkv) == 1 {
		c.linear(&l.qkv, n, m.d, part{name: of(qkv[0]), out: m.qkvWidth()})
	} else {
		c.linear(&l.qkv, n, m.d, part{name: of(qkv[0]), out: heads}, part{name: of(qkv[1]), out: pairs}, part{name: of(qkv[2]), out: pairs})
	}
	l.queries, l.keys = c.norm(n, of(n.queries), m.width, conf), c.norm(n, of(n.keys), m.width, conf)
	c.linear(&l.mix, n, heads, part{name: of(n.mix), out: m.d})
	l.attentionOut = c.norm(n, of(n.attentionOut), m.d, conf)
	l.feedIn = c.norm(n, of(n.feedIn), m.d, conf)
	if len(n.inner) == 1 {
		c.linear(&l.inner, n, m.d, part{name: of(n.inner[0]), out: m.innerWidth(), swap: n.fused == gateLast})
	} else {
		c.linear(&l.inner, n, m.d, part{name: of(n.inner[0]), out: m.inner}, part{name: of(n.inner[1]), out: m.inner})
	}
	c.linear(&l.outer, n, m.inner, part{name: of(n.outer), out: m.d})
	l.feedOut = c.norm(n, of(n.feedOut), m.d, conf)
}

// distances reads the position bias of each head, a row for each bucket of distances, and
// expands it to one number for each distance.
func (c *checkpoint) distances(name string, m *model, buckets int) [][]float32 {
	table := c.table(name+".weight", buckets, m.heads)
	if table == nil {
		return nil
	}
	out := make([][]float32, m.heads)
	for h := range out {
		out[h] = make([]float32, 2*m.positions-1)
		for i := range out[h] {
			out[h][i] = table[bucket(i-(m.positions-1), buckets)*m.heads+h]
		}
	}
	return out
}

// bucket is the row for a key at the given distance after the query. Each side has half
// of the rows. Half of a side's rows stand for single distances, the others for ranges
// that grow geometrically up to 128 (Raffel et al. 2020, T5).
func bucket(distance, buckets int) int {
	half, base := buckets/2, 0
	if distance > 0 {
		base = half
	} else {
		distance = -distance
	}
	exact := half / 2
	if distance < exact {
		return base + distance
	}
	far := exact + int(math.Log(float64(distance)/float64(exact))/math.Log(128/float64(exact))*float64(half-exact))
	return base + min(far, half-1)
}

// head reads the masked-language-model head. Its last matrix is that of the word
// embeddings unless the checkpoint has one of its own.
func (c *checkpoint) head(n names, m *model, conf transformer.Config) *head {
	h := &head{words: m.words}
	c.linear(&h.dense, n, m.d, part{name: n.head.dense, out: m.d})
	h.norm = c.norm(n, n.head.norm, m.d, conf)
	if own := n.head.words + ".weight"; c.has(own) {
		h.words = c.rowTable(own, m.vocab, m.d)
	}
	bias := n.head.bias
	if !c.has(bias) {
		bias = n.head.words + ".bias"
	}
	h.bias = c.vector(bias, m.vocab)
	return h
}

// config reads config.json or, if it does not exist, derives the configuration from the
// file of weights.
func (c *checkpoint) config(path string) (transformer.Config, error) {
	if p, ok := c.source.(*packed); ok {
		return p.conf, nil
	}
	if g, ok := c.source.(graphFile); ok && !regular.Exists(path) {
		c.find(bertNames)
		conf, err := c.infer(g)
		if err == nil {
			conf, err = transformer.BERT(conf)
		}
		if err != nil {
			return conf, fmt.Errorf("%w: no %s beside it, and its graph does not tell: %w", ErrModel, fileConfig, err)
		}
		return conf, nil
	}
	conf, err := transformer.Load(path)
	if err != nil {
		return conf, unusable(err)
	}
	return conf, nil
}

// infer finds the configuration in a graph of basic operations.
func (c *checkpoint) infer(g graphFile) (transformer.Config, error) {
	conf := transformer.Config{Activation: transformer.GELU}
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

// headWidth is the width of a head, derived from the graph: its root divides the scores
// before the softmax, with or without an added mask. It is 0 if the graph shows no such
// number.
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

// constant is the first input of n that is a single number, 0 if there is none.
func (g graphFile) constant(n onnxfile.Node) float64 {
	for _, name := range n.Inputs {
		one := make([]float32, 1)
		if r, err := g.Floats(name); err == nil && r.Size() == 4 && readFloats(r, one) == nil {
			return float64(one[0])
		}
	}
	return 0
}
