package native

import (
	"context"
	"math"

	"github.com/lexsem/lexsem/internal/vec"
)

// buffers are the memory of one batch, kept for the next one.
type buffers struct {
	x    []float32 // [tokens × d], the states
	y    []float32 // [tokens × d]
	wide []float32 // [tokens × max(3·d, inner)]
	attention
}

// attention is the memory of one head of one text.
type attention struct {
	keys, values vec.Packed
	scores       []float32 // [attentionRows × tokens, rounded up]
}

// attentionRows is how many queries of a text are scored together, so that the
// scores stay in the cache.
const attentionRows = 64

func grown(s []float32, n int) []float32 {
	if cap(s) < n {
		return make([]float32, n)
	}
	return s[:n]
}

// forward computes the states of the last layer, [tokens × d], for the ids of
// all texts one after the other; text i ends before ends[i]. The states stay
// valid until the next call with b. It looks at ctx before each layer, which
// takes MiniLM about 30 µs a token.
func (m *model) forward(ctx context.Context, b *buffers, ids []int32, ends []int) ([]float32, error) {
	n, d := len(ids), m.d
	b.x, b.y, b.wide = grown(b.x, n*d), grown(b.y, n*d), grown(b.wide, n*max(3*d, m.inner))
	m.embed(b.x, ids, ends)
	for i := range m.layers {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		m.layer(b, &m.layers[i], n, ends)
	}
	return b.x, nil
}

func (m *model) embed(x []float32, ids []int32, ends []int) {
	d, i := m.d, 0
	for _, end := range ends {
		for place := 0; i < end; i, place = i+1, place+1 {
			row := x[i*d : i*d+d]
			vec.AddNorm(row, m.words.row(int(ids[i]), row), m.places[place*d:place*d+d], m.kind, m.embedded.scale, m.embedded.shift, m.eps)
		}
	}
}

func (m *model) layer(b *buffers, l *layer, n int, ends []int) {
	d := m.d
	l.qkv.w.MulOf(b.wide, 3*d, b.x, d, n, func(c []float32, ldc, rows, from, w int) {
		vec.AddRows(c, ldc, rows, l.qkv.bias[from:from+w])
	})
	start := 0
	for _, end := range ends {
		m.attend(&b.attention, b.y[start*d:end*d], b.wide[start*3*d:end*3*d], end-start)
		start = end
	}
	mixed := b.wide[:n*d] // queries, keys and values have done their work
	l.mix.w.Mul(mixed, b.y, n)
	m.residual(b.x, mixed, l.mix.bias, l.mixNorm)
	l.inner.w.MulOf(b.wide, m.inner, b.x, d, n, func(c []float32, ldc, rows, from, w int) {
		m.activate(c, ldc, rows, l.inner.bias[from:from+w])
	})
	l.outer.w.Mul(b.y, b.wide[:n*m.inner], n)
	m.residual(b.x, b.y, l.outer.bias, l.outerNorm)
}

// residual makes x the normalisation of x + y + bias, row by row.
func (m *model) residual(x, y, bias []float32, n norm) {
	for i := 0; i < len(x); i += m.d {
		row := x[i : i+m.d]
		vec.AddNorm(row, row, y[i:i+m.d], bias, n.scale, n.shift, m.eps)
	}
}

// attend writes the mix [n × d] of one text's values into out; qkv is [n × 3·d].
func (m *model) attend(a *attention, out, qkv []float32, n int) {
	d, w := m.d, m.width
	cols := (n + 7) &^ 7 // rows of scores are filled up with what softmax makes 0
	a.scores = grown(a.scores, min(n, attentionRows)*cols)
	f := float32(1 / math.Sqrt(float64(w)))
	for h := 0; h < d; h += w {
		a.keys.PackNTOf(qkv[d+h:], 3*d, n, w)
		a.values.PackNNOf(qkv[2*d+h:], 3*d, n, w)
		for from := 0; from < n; from += attentionRows {
			rows := min(attentionRows, n-from)
			a.keys.MulOf(a.scores, cols, qkv[from*3*d+h:], 3*d, rows, nil)
			mix := out[from*d+h:]
			var sums [attentionRows]float32
			for i := range rows {
				sums[i] = weigh(a.scores[i*cols:(i+1)*cols], n, f)
			}
			a.values.MulOf(mix, d, a.scores, cols, rows, nil)
			for i := range rows {
				vec.Scale(mix[i*d:i*d+w], 1/sums[i])
			}
		}
	}
}

// weigh makes of the first n scores their softmax before the division by its
// sum, which it returns. The score of the largest becomes 1.
func weigh(scores []float32, n int, f float32) float32 {
	top := vec.Max(scores[:n])
	for i := n; i < len(scores); i++ {
		scores[i] = float32(math.Inf(-1))
	}
	return float32(vec.ExpSum(scores, scores, top, f))
}

// activate adds bias to the rows of c and applies the model's GELU.
func (m *model) activate(c []float32, ldc, rows int, bias []float32) {
	if !m.tanh {
		vec.AddGELURows(c, ldc, rows, bias)
		return
	}
	for i := range rows {
		row := c[i*ldc : i*ldc+len(bias)]
		for j := range row {
			y := float64(row[j] + bias[j])
			row[j] = float32(y / 2 * (1 + math.Tanh(math.Sqrt(2/math.Pi)*(y+0.044715*y*y*y))))
		}
	}
}

// logits computes the head on the state of a text's first token.
func (m *model) logits(first []float32) []float32 {
	h, d := m.head, m.d
	x, zero := make([]float32, d), make([]float32, d)
	h.dense.w.Mul(x, first, 1)
	m.activate(x, d, 1, h.dense.bias)
	vec.AddNorm(x, x, zero, zero, h.norm.scale, h.norm.shift, m.eps)
	out := make([]float32, m.vocab)
	h.words.products(out, x)
	vec.AddRows(out, m.vocab, 1, h.bias)
	return out
}
