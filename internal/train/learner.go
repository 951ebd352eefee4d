package train

import (
	"context"
	"math"
	"slices"

	"github.com/lexsem/lexsem/internal/vec"
	"github.com/lexsem/lexsem/modulate"
)

// headRate is the learning rate of a head relative to that of W, for hidden states of
// length 1: Adam moves all of its d numbers together, and a weight moves by the sum.
const headRate = 0.05

// headDecay pulls a head towards its initial value: the share of the distance that a step
// removes, relative to the learning rate of the head.
const headDecay = 1

// learner trains the heads that make the lexical vectors of a bridge, from the gradient
// of the loss with respect to those vectors.
type learner struct {
	q      *queries
	bridge *modulate.Bridge
	o      Options
	heads  []*headFit // by part of the bridge, nil where it has nothing to learn
	from   [][]modulate.Origin
	slope  [][]float32 // dL/da of each entry of the batch
	states [][]float32 // [workers] room for hidden states
}

// headFit is the descent of one head.
type headFit struct {
	*modulate.Head
	u0, b0 []float32 // the start
	u, b   *adam
	usesOf [][]stateUse // by row
}

// stateUse is one hidden state that a row scored, and its dL/da.
type stateUse struct {
	query, state int32
	grad         float32
}

func newLearner(q *queries, b *modulate.Bridge, steps int, length float64, rows int, o Options) *learner {
	l := &learner{
		q: q, bridge: b, o: o, from: make([][]modulate.Origin, rows), slope: make([][]float32, rows),
		states: make([][]float32, o.Workers),
	}
	for _, h := range b.Heads() {
		if h == nil {
			l.heads = append(l.heads, nil)
			continue
		}
		rate := headRate * o.LearningRate
		l.heads = append(l.heads, &headFit{
			Head: h, u0: slices.Clone(h.U), b0: slices.Clone(h.B),
			u: newAdam(h.Rows(), q.dim, steps, rate/length), b: newAdam(h.Rows(), 1, steps, rate),
			usesOf: make([][]stateUse, h.Rows()),
		})
	}
	return l
}

// weigh makes the lexical vectors of batch with the present heads.
func (l *learner) weigh(ctx context.Context, lex []modulate.Lexical, batch []int32) error {
	return each(ctx, l.o.Workers, len(batch), func(worker, i int) {
		lex[i], l.from[i] = l.bridge.Trace(lex[i].Emptied(), l.from[i][:0], l.q.input(int(batch[i]), &l.states[worker]))
	})
}

// step updates the heads after the backward pass of t over batch, before W is updated.
func (l *learner) step(ctx context.Context, t *trainer, batch []int32, number int) error {
	if err := l.gradients(ctx, t, batch); err != nil {
		return err
	}
	for _, h := range l.heads {
		if h == nil {
			continue
		}
		const rows = 64 // a worker takes at a time
		err := each(ctx, l.o.Workers, (h.Rows()+rows-1)/rows, func(worker, b int) {
			for r := b * rows; r < min((b+1)*rows, h.Rows()); r++ {
				h.move(l.q, t.grads[worker], r, number)
			}
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// gradients computes dL/da = (dz · W_t) · dw/da for every score a of the batch and stores
// it with its row.
func (l *learner) gradients(ctx context.Context, t *trainer, batch []int32) error {
	d, w := l.q.dim, t.projection.Rows()
	err := each(ctx, l.o.Workers, len(batch), func(_, i int) {
		g := l.slope[i][:0]
		for k, id := range t.lex[i].IDs {
			o := l.from[i][k]
			if o.Part < 0 || o.Slope == 0 {
				g = append(g, 0)
				continue
			}
			s := t.projection.Slot(id)
			if s < 0 {
				g = append(g, 0)
				continue
			}
			g = append(g, o.Slope*vec.Dot(t.dz[i*d:(i+1)*d], w[s*d:(s+1)*d]))
		}
		l.slope[i] = g
	})
	if err != nil {
		return err
	}
	for i, query := range batch {
		for k, o := range l.from[i] {
			if g := l.slope[i][k]; g != 0 {
				h := l.heads[o.Part]
				h.usesOf[o.Row] = append(h.usesOf[o.Row], stateUse{query, o.State, g})
			}
		}
	}
	return nil
}

// gradient adds dL/dU_r = Σ dL/da · h to g and returns dL/db_r = Σ dL/da.
func (h *headFit) gradient(q *queries, g []float32, r int) (gb float32) {
	for _, u := range h.usesOf[r] {
		at := (q.tokenAt[u.query] + int(u.state)) * q.dim
		for i, x := range q.states[at : at+q.dim] {
			g[i] += u.grad * math.Float32frombits(uint32(x)<<16)
		}
		gb += u.grad
	}
	return gb
}

// move makes step number for row r; g is memory for its gradient. A row that was never
// used does not move.
func (h *headFit) move(q *queries, g []float32, r, number int) {
	if len(h.usesOf[r]) == 0 && h.b.last[r] == 0 {
		return
	}
	clear(g)
	gb := h.gradient(q, g, r)
	h.usesOf[r] = h.usesOf[r][:0]
	h.u.apply(h.U, r, g, number)
	h.b.apply(h.B, r, []float32{gb}, number)
	back := float32(headDecay * h.b.rate * (1 - float64(number-1)/float64(h.b.total)))
	u, u0 := h.U[r*q.dim:(r+1)*q.dim], h.u0[r*q.dim:(r+1)*q.dim]
	for i := range u {
		u[i] += back * (u0[i] - u[i])
	}
	h.B[r] += back * (h.b0[r] - h.B[r])
}
