package native

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/lexsem/lexsem/internal/snapshot"
	"github.com/lexsem/lexsem/internal/transformer"
	"github.com/lexsem/lexsem/internal/vec"
)

// buffers are the memory of one batch, kept for the next one.
type buffers struct {
	x    []float32 // [tokens × d], the states
	y    []float32 // [tokens × the wider of d and heads·width]
	wide []float32 // [tokens × rowWidth]
	attention
	tables map[*turns]*turnTable
}

// attention is the memory of one head of one text.
type attention struct {
	keys, values vec.Packed
	scores       []float32 // [attentionRows × tokens, rounded up]
}

// attentionRows is how many queries of a text are scored together, so that their scores fit in the
// cache.
const attentionRows = 64

// forward computes the states of the last layer, [tokens × d], for the ids of all texts one after
// the other; text i ends before ends[i]. The states stay valid until the next call with b. It
// checks ctx before each layer, which takes MiniLM about 30 µs a token, and also within a layer if
// there are many tokens. types are the types of the tokens, nil for type 0; a model without types
// does not read them.
func (m *model) forward(ctx context.Context, b *buffers, ids, types []int32, ends []int) ([]float32, error) {
	n, d := len(ids), m.d
	lent, end, err := m.matrices(ctx, n)
	if err != nil {
		return nil, err
	}
	defer end()
	b.x, b.y, b.wide = vec.Grown(b.x, n*d), vec.Grown(b.y, n*max(d, m.heads*m.width)), vec.Grown(b.wide, n*m.rowWidth())
	if err := m.embed(b.x, ids, types, ends); err != nil {
		return nil, err
	}
	for i := range m.layers {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		l, err := lent.fill(&m.layers[i])
		if err != nil {
			return nil, err
		}
		if err := m.layer(ctx, b, l, n, ends); err != nil {
			return nil, err
		}
	}
	if m.last.scale != nil {
		m.normalize(b.x, b.x, m.last, d)
	}
	return b.x, nil
}

func (m *model) embed(x []float32, ids, types []int32, ends []int) (err error) {
	defer func() {
		if errors.Is(err, snapshot.ErrDamaged) { // which of a database is made anew
			err = fmt.Errorf("%w: its file was cut while it was open, or its disk fails; restore it and open it again: %v", ErrModel, err)
		}
	}()
	defer snapshot.Guard(&err)()
	d, i, kind := m.d, 0, m.kinds[:m.d]
	if m.types() < 2 {
		types = nil
	}
	for _, end := range ends {
		for place := m.first; i < end; i++ {
			row, at := x[i*d:i*d+d], m.zero[:d]
			word, err := m.words.row(int(ids[i]), row)
			if err != nil {
				return err
			}
			if len(m.layers) == 0 { // a static model
				continue
			}
			if m.places != nil {
				p := place
				if m.first > 0 && int(ids[i]) == m.first-1 { // padding stands nowhere
					p = m.first - 1
				} else {
					place++
				}
				at = m.places[p*d : p*d+d]
			}
			if m.embedded.scale != nil {
				if types != nil {
					kind = m.kinds[int(types[i])*d:][:d]
				}
				vec.AddNorm(row, word, at, kind, m.embedded.scale, m.embedded.shift, m.embedded.eps)
				continue
			}
			for k, v := range word {
				row[k] = v*m.word + at[k]
			}
		}
	}
	return nil
}

// stretch is how many tokens are multiplied between two looks at the context.
const stretch = 512

// multiply calls l.mul for one stretch after the other.
func multiply(ctx context.Context, l *linear, c []float32, ldc int, a []float32, lda, n int, then vec.Then) error {
	for from := 0; from < n; from += stretch {
		if from > 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		l.mul(c[from*ldc:], ldc, a[from*lda:], lda, min(stretch, n-from), then)
	}
	return nil
}

func (m *model) layer(ctx context.Context, b *buffers, l *layer, n int, ends []int) error {
	d, cols, heads := m.d, m.qkvWidth(), m.heads*m.width
	in := b.x
	if l.attentionIn.scale != nil {
		in = b.y[:n*d]
		m.normalize(in, b.x, l.attentionIn, d)
	}
	if err := multiply(ctx, &l.qkv, b.wide, cols, in, d, n, l.qkv.add); err != nil {
		return err
	}
	start := 0
	for _, end := range ends {
		qkv := b.wide[start*cols : end*cols]
		m.place(b, l, qkv, end-start)
		if err := m.attend(ctx, &b.attention, l, b.y[start*heads:end*heads], qkv, end-start); err != nil {
			return err
		}
		start = end
	}
	mixed := b.wide[:n*d] // queries, keys and values have done their work
	if err := multiply(ctx, &l.mix, mixed, d, b.y, heads, n, nil); err != nil {
		return err
	}
	m.join(b.x, mixed, &l.mix, l.attentionOut)

	in = b.x
	if l.feedIn.scale != nil {
		in = b.y[:n*d]
		m.normalize(in, b.x, l.feedIn, d)
	}
	cols = m.innerWidth()
	err := multiply(ctx, &l.inner, b.wide, cols, in, d, n, func(c []float32, ldc, rows, from, w int) {
		gate := max(0, min(w, m.inner-from)) // columns that are activated
		if gate > 0 {
			m.activate(c, ldc, rows, l.inner.of(from, gate, m.zero))
		}
		if gate < w {
			l.inner.add(c[gate:], ldc, rows, from+gate, w-gate)
		}
	})
	if err != nil {
		return err
	}
	if m.gated {
		for i := range n {
			row := b.wide[i*cols : (i+1)*cols]
			for k, v := range row[m.inner:] {
				row[k] *= v
			}
		}
	}
	y := b.y[:n*d]
	if err := multiply(ctx, &l.outer, y, d, b.wide, cols, n, nil); err != nil {
		return err
	}
	m.join(b.x, y, &l.outer, l.feedOut)
	return nil
}

// of is the bias of w columns from a given one; zero, a slice of zeros, serves a layer without
// bias.
func (l *linear) of(from, w int, zero []float32) []float32 {
	if l.bias == nil {
		return zero[:w]
	}
	return l.bias[from : from+w]
}

// add adds the bias to some columns of a product.
func (l *linear) add(c []float32, ldc, rows, from, w int) {
	if l.bias != nil {
		vec.AddRows(c, ldc, rows, l.bias[from:from+w])
	}
}

// join adds the output y of a part of a layer and its bias to the states x, row by row. Depending
// on the model, it normalises the sum or y. It writes to y.
func (m *model) join(x, y []float32, of *linear, out norm) {
	d := m.d
	bias := of.of(0, d, m.zero)
	if m.sums {
		for i := 0; i < len(x); i += d {
			row := x[i : i+d]
			vec.AddNorm(row, row, y[i:i+d], bias, out.scale, out.shift, out.eps)
		}
		return
	}
	of.add(y, d, len(y)/d, 0, d)
	if out.scale != nil {
		m.normalize(y, y, out, d)
	}
	vec.Axpy(x, 1, y)
}

// normalize writes the normalisation of the rows of x, of the given width, to dst,
// which may be x.
func (m *model) normalize(dst, x []float32, n norm, width int) {
	for i := 0; i < len(x); i += width {
		m.normalizeRow(dst[i:i+width], x[i:i+width], n)
	}
}

func (m *model) normalizeRow(dst, x []float32, n norm) {
	if n.shift != nil {
		vec.AddNorm(dst, x, m.zero[:len(x)], m.zero[:len(x)], n.scale, n.shift, n.eps)
		return
	}
	f := float32(1 / math.Sqrt(float64(vec.Dot(x, x)/float32(len(x)))+float64(n.eps)))
	for k, v := range x {
		dst[k] = v * f * n.scale[k]
	}
}

// attend writes the mix [n × heads·width] of one text's values into out; qkv is
// [n × qkvWidth].
func (m *model) attend(ctx context.Context, a *attention, l *layer, out, qkv []float32, n int) error {
	w, stride, heads := m.width, m.qkvWidth(), m.heads*m.width
	group := m.heads / m.kv
	for g := range m.kv {
		keys, values := heads+g*w, heads+(m.kv+g)*w
		packed := [2]int{-1, -1}
		for from := 0; from < n; from += attentionRows {
			if from%stretch == 0 && from > 0 && ctx.Err() != nil {
				return ctx.Err()
			}
			rows := min(attentionRows, n-from)
			lo, hi := 0, n
			if l.window > 0 {
				lo, _ = m.sees(l, from, n)
				_, hi = m.sees(l, from+rows-1, n)
			}
			if span := [2]int{lo, hi}; span != packed {
				a.keys.PackNTOf(qkv[lo*stride+keys:], stride, hi-lo, w)
				a.values.PackNNOf(qkv[lo*stride+values:], stride, hi-lo, w)
				packed = span
			}
			for h := g * group; h < (g+1)*group; h++ {
				m.attendRows(a, l, out[from*heads+h*w:], qkv[from*stride+h*w:], h, from, rows, lo, hi, n)
			}
		}
	}
	return nil
}

// sees returns the range [lo, hi) of tokens that token i of n attends to.
func (m *model) sees(l *layer, i, n int) (lo, hi int) {
	hi = n
	if l.window > 0 {
		lo, hi = max(0, i-l.window), min(n, i+l.window+1)
	}
	if m.causal {
		hi = i + 1
	}
	return lo, hi
}

// attendRows is attend for head h of some tokens; their keys and values from lo to hi are packed.
func (m *model) attendRows(a *attention, l *layer, mix, queries []float32, h, from, rows, lo, hi, n int) {
	w, stride, heads := m.width, m.qkvWidth(), m.heads*m.width
	cols := (hi - lo + 7) &^ 7 // rows of scores are filled up with what softmax makes 0
	a.scores = vec.Grown(a.scores, min(n, attentionRows)*cols)
	a.keys.MulOf(a.scores, cols, queries, stride, rows, nil)
	var sums [attentionRows]float32
	for i := range rows {
		row := a.scores[i*cols : (i+1)*cols]
		if m.distances != nil {
			vec.Axpy(row[:hi-lo], 1/m.score, m.distances[h][m.positions-1-(from+i)+lo:][:hi-lo])
		}
		first, last := m.sees(l, from+i, n)
		sums[i] = weigh(row, first-lo, last-lo, m.score)
	}
	a.values.MulOf(mix, heads, a.scores, cols, rows, nil)
	for i := range rows {
		vec.Scale(mix[i*heads:i*heads+w], 1/sums[i])
	}
}

// weigh replaces the scores from first to last by their exponentials, which are softmax
// numerators, and all others by 0. It returns the sum by which they must be divided. The largest
// score becomes 1.
func weigh(scores []float32, first, last int, f float32) float32 {
	top := vec.Max(scores[first:last])
	for i := range first {
		scores[i] = float32(math.Inf(-1))
	}
	for i := last; i < len(scores); i++ {
		scores[i] = float32(math.Inf(-1))
	}
	return float32(vec.ExpSum(scores, scores, top, f))
}

// activate adds bias to the rows of c and applies the model's activation.
func (m *model) activate(c []float32, ldc, rows int, bias []float32) {
	if m.activation == transformer.GELU {
		vec.AddGELURows(c, ldc, rows, bias)
		return
	}
	f := geluTanh
	if m.activation == transformer.SiLU {
		f = silu
	}
	for i := range rows {
		row := c[i*ldc : i*ldc+len(bias)]
		for j := range row {
			row[j] = f(row[j] + bias[j])
		}
	}
}

func geluTanh(x float32) float32 {
	y := float64(x)
	return float32(y / 2 * (1 + math.Tanh(math.Sqrt(2/math.Pi)*(y+0.044715*y*y*y))))
}

func silu(x float32) float32 { return float32(float64(x) / (1 + math.Exp(-float64(x)))) }

// logits computes the head on the state of a text's first token.
func (m *model) logits(first []float32) []float32 {
	h, d := m.head, m.d
	x := make([]float32, d)
	h.dense.mul(x, d, first, d, 1, nil)
	m.activate(x, d, 1, h.dense.of(0, d, m.zero))
	m.normalizeRow(x, x, h.norm)
	out := make([]float32, m.vocab)
	h.words.products(out, x)
	vec.AddRows(out, m.vocab, 1, h.bias)
	return out
}
