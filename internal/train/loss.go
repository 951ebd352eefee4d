package train

import (
	"math"

	"github.com/lexsem/lexsem/internal/fuse"
	"github.com/lexsem/lexsem/internal/vec"
	"github.com/lexsem/lexsem/modulate"
)

// forward holds what the backward pass needs from a block of queries; it belongs to one
// worker.
type forward struct {
	out, mid []float32 // [rows × d]
	norm     []float64 // [rows]
	score    []float32 // [rows × candidates]
	dout     []float32 // [rows × d]
	gain     []float64 // [rows] of fuse.Bound
	logits   []float64 // [rows × d] bounded
	z        []float64 // [d]
	shift    []float32 // [d]
}

func newForward(rows, dim, candidates int) *forward {
	return &forward{
		out: make([]float32, rows*dim), mid: make([]float32, rows*dim), norm: make([]float64, rows),
		score: make([]float32, rows*candidates), dout: make([]float32, rows*dim),
		gain: make([]float64, rows), logits: make([]float64, rows*dim),
		z: make([]float64, dim), shift: make([]float32, dim),
	}
}

// problem is the loss of a set of queries as a function of W:
//
//	L = mean_i −log softmax_j( cos(q_out,i , p_j) / τ )[target_i]
type problem struct {
	q          *queries
	projection *modulate.Projection
	shift      []modulate.Shifter
	tau        float64
	spread     float64   // of fuse.Bound
	even       []float32 // in place of every query vector, see Options.Alone; else nil
}

// block computes the losses of the queries rows against the candidates, where target[i]
// is the right one for rows[i], and writes their gradient with respect to z = W·w,
// multiplied by scale, into dz [len(rows) × d]. lex are the lexical vectors of rows.
func (p *problem) block(f *forward, rows []int32, lex []modulate.Lexical, c *candidates, target []int32, scale float64, dz []float32, loss []float64) {
	d := p.q.dim
	m, n := len(rows), c.n
	for i, r := range rows {
		p.forward(f, i, int(r), lex[i])
	}
	score := f.score[:m*n]
	c.scores.Mul(score, f.out[:m*d], m)
	for i := range rows {
		loss[i] = crossEntropy(score[i*n:(i+1)*n], int(target[i]), p.tau, scale)
	}
	c.gradient.Mul(f.dout[:m*d], score, m)
	for i := range rows {
		p.backward(f, i, dz[i*d:(i+1)*d])
	}
}

// backward reverses forward, from row i of f.dout to the gradient with respect to z.
func (p *problem) backward(f *forward, i int, dz []float32) {
	a, b := i*p.q.dim, (i+1)*p.q.dim
	fuse.FuseGrad(dz, f.dout[a:b], f.out[a:b], f.mid[a:b], f.norm[i])
	if f.gain[i] < 1 {
		fuse.BoundGrad(dz, f.logits[a:b], p.spread, f.gain[i])
	}
}

// forward computes q_out of query r with lexical vector w into row i of f, with the same
// steps as modulate.Modulator.Modulate.
func (p *problem) forward(f *forward, i, r int, w modulate.Lexical) {
	d := p.q.dim
	q := p.q.vector(r)
	if p.even != nil {
		q = p.even
	}
	var z []float64
	f.gain[i] = 1
	if len(w.IDs) > 0 {
		z = f.z
		clear(z)
		p.projection.AddLogits(z, w)
		f.gain[i] = fuse.Bound(z, p.spread)
		copy(f.logits[i*d:(i+1)*d], z)
	}
	var shift []float32
	if len(p.shift) > 0 {
		clear(f.shift)
		in := p.q.input(r, nil)
		for _, s := range p.shift {
			if s.AddShift(f.shift, in) {
				shift = f.shift
			}
		}
	}
	f.norm[i] = fuse.Fuse(f.out[i*d:(i+1)*d], f.mid[i*d:(i+1)*d], q, z, shift)
}

// crossEntropy returns −log softmax(score/τ)[target] in nats and replaces score by the
// gradient of this loss times scale.
func crossEntropy(score []float32, target int, tau, scale float64) float64 {
	top, f := vec.Max(score), 1/tau
	right := float64(score[target]-top) * f
	sum := vec.ExpSum(score, score, top, float32(f))
	vec.Scale(score, float32(scale*f/sum))
	score[target] -= float32(scale * f)
	return math.Log(sum) - right
}
