package train

import (
	"context"
	"slices"

	"github.com/lexsem/lexsem/encoder"
	"github.com/lexsem/lexsem/internal/vec"
	"github.com/lexsem/lexsem/modulate"
)

// The values of Options.Side other than "", which stands for queries.
const (
	PassageSide = "passage"
	BothSides   = "both"
)

// sides is the additional state of the steps for Options.Side. The passages are rows of
// queries after the queries, and each step modulates all of them.
type sides struct {
	passages []int32
	rows     []int32    // those that a step modulates: its queries, where they are, and all passages
	all      forward    // of rows
	workers  []*forward // all, with room of each worker's own
	asked    vec.Packed // the queries of a step, [batch × d]
	plain    []float32  // those queries, where they are not modulated
	score    []float32  // [batch × passages]
	turned   [][]float32
}

// turnedRows is the number of passages whose gradients are computed together.
const turnedRows = 32

func (t *trainer) newSides() *sides {
	from, to := t.q.modulated()
	n, d := len(t.set.reps), t.q.dim
	most := n
	if from == 0 {
		most += t.o.Batch
	}
	s := &sides{all: *newForward(most, d, 0), plain: make([]float32, t.o.Batch*d), score: make([]float32, t.o.Batch*n)}
	for i := range n {
		s.passages = append(s.passages, int32(to-n+i))
	}
	for range t.o.Workers {
		f := s.all
		f.z, f.shift = make([]float64, d), make([]float32, d)
		s.workers = append(s.workers, &f)
		s.turned = append(s.turned, make([]float32, turnedRows*t.o.Batch))
	}
	return s
}

// rows returns the texts that a step over batch modulates.
func (t *trainer) rows(batch []int32) []int32 {
	if t.sides == nil {
		return batch
	}
	t.sides.rows = t.sides.rows[:0]
	if t.o.Side == BothSides {
		t.sides.rows = append(t.sides.rows, batch...)
	}
	t.sides.rows = append(t.sides.rows, t.sides.passages...)
	return t.sides.rows
}

// move modulates rows, whose lexical vectors are in t.lex, into t.sides.all.
func (t *trainer) move(ctx context.Context, rows []int32) error {
	return t.eachRow(ctx, len(rows), func(worker, i int) {
		t.forward(t.sides.workers[worker], i, int(rows[i]), t.lex[i])
	})
}

// sided computes the loss of a step with modulated passages, and its gradient with
// respect to z of each of rows: like block, but for both sides of the cosine.
func (t *trainer) sided(ctx context.Context, batch, rows, target []int32, scale float64) error {
	if err := t.move(ctx, rows); err != nil {
		return err
	}
	s, d, m, n := t.sides, t.q.dim, len(batch), len(t.sides.passages)
	first := len(rows) - n // of the passages
	queries := s.all.out[:first*d]
	if first == 0 {
		queries = s.plain[:m*d]
		for i, r := range batch {
			copy(queries[i*d:], t.q.vector(int(r)))
		}
	}
	if err := t.candidates.pack(ctx, s.all.out[first*d:len(rows)*d], n, d, t.o.Workers); err != nil {
		return err
	}
	s.asked.PackNN(queries, m, d)
	err := each(ctx, t.o.Workers, (m+leastRows-1)/leastRows, func(_, b int) {
		lo, hi := b*leastRows, min((b+1)*leastRows, m)
		score := s.score[lo*n : hi*n]
		t.candidates.scores.Mul(score, queries[lo*d:hi*d], hi-lo)
		for i := lo; i < hi; i++ {
			t.loss[i] = crossEntropy(s.score[i*n:(i+1)*n], int(target[i]), t.tau, scale)
		}
		if first > 0 {
			t.candidates.gradient.Mul(s.all.dout[lo*d:hi*d], score, hi-lo)
		}
	})
	if err != nil {
		return err
	}
	err = each(ctx, t.o.Workers, (n+turnedRows-1)/turnedRows, func(worker, b int) {
		lo, hi := b*turnedRows, min((b+1)*turnedRows, n)
		turned := s.turned[worker][:(hi-lo)*m]
		for j := lo; j < hi; j++ {
			for i := range m {
				turned[(j-lo)*m+i] = s.score[i*n+j]
			}
		}
		s.asked.Mul(s.all.dout[(first+lo)*d:(first+hi)*d], turned, hi-lo)
	})
	if err != nil {
		return err
	}
	return t.eachRow(ctx, len(rows), func(_, i int) { t.backward(&s.all, i, t.dz[i*d:(i+1)*d]) })
}

// eachRow calls f(worker, i) for every i below n.
func (t *trainer) eachRow(ctx context.Context, n int, f func(worker, i int)) error {
	const rows = 32 // a worker takes at a time
	return each(ctx, t.o.Workers, (n+rows-1)/rows, func(worker, b int) {
		for i := b * rows; i < min((b+1)*rows, n); i++ {
			f(worker, i)
		}
	})
}

// movedPassages returns the vectors of the distinct texts with the present weights.
func (t *trainer) movedPassages(ctx context.Context) ([]float32, error) {
	rows := t.sides.passages
	if err := t.weigh(ctx, rows); err != nil {
		return nil, err
	}
	if err := t.move(ctx, rows); err != nil {
		return nil, err
	}
	return slices.Clone(t.sides.all.out[:len(rows)*t.q.dim]), nil
}

// modulated returns the bounds of the modulated rows.
func (q *queries) modulated() (from, to int) {
	if q.side == PassageSide {
		from = q.len()
	}
	return from, q.len() + q.passages
}

// takePassages appends the distinct texts, encoded as passages, to the queries.
func (q *queries) takePassages(ctx context.Context, enc encoder.Encoder, stack modulate.Stack, b *modulate.Bridge, set *passages, o Options) error {
	q.passages = len(set.reps)
	return q.encode(ctx, enc, encoder.Passage, set.texts, true, stack, b, o)
}
