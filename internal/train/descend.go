package train

import (
	"context"
	"fmt"
	"math"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/lexsem/lexsem/internal/fuse"
	"github.com/lexsem/lexsem/internal/vec"
	"github.com/lexsem/lexsem/modulate"
)

// Queries are processed in blocks of blockScores/candidates rows, so that the scores of a block, 1 MiB,
// fit into the cache. Blocks are not so small that reading the candidates takes longer than multiplying
// with them, nor so large that some cores have none. Neither the size of a block nor any sum depends on
// the number of workers, so the result does not either.
const (
	blockScores = 1 << 18
	leastRows   = 32
	mostRows    = 64
)

// descend fits W, p, and the heads of the bridge by Adam. key names the fit, so that it can continue from
// its own checkpoint. After each epoch the loss of m, which uses the fitted weights, is measured on the
// held-out probes. The weights of the best epoch are kept, and training ends after the first epoch that
// is worse than the one before. o.Steps ends the training as if its epoch were complete and the best. It
// returns its final place.
func descend(ctx context.Context, q *queries, set *passages, shift []modulate.Shifter, b *modulate.Bridge, p *modulate.Projection, held *heldOut, m modulate.Modulator, key string, o Options) (place, error) {
	t, err := newTrainer(ctx, q, set, shift, b, p, o)
	if err != nil {
		return place{}, err
	}
	if t.sides != nil {
		held.moved, held.plain = t.movedPassages, o.Side == PassageSide
	}
	total := t.adam.total
	now := place{Key: key}
	if o.Checkpoint != "" {
		from, ok, err := t.loadCheckpoint(o.Checkpoint, key)
		if err != nil {
			return now, fmt.Errorf("read the checkpoint %s: %w; delete it", o.Checkpoint, err)
		}
		if ok {
			now = from
		}
	}
	saver := checkpointer{o.Checkpoint, o.CheckpointEvery, time.Now()}
	order := make([]int32, q.len())
	for i := range order {
		order[i] = int32(i)
	}
	worse := func() bool { n := len(now.Held); return n > 1 && now.Held[n-1] > now.Held[n-2] }
	for epoch := range o.Epochs {
		rng := random(o.Seed, fmt.Sprint("epoch ", epoch), "")
		rng.Shuffle(len(order), func(i, j int) { order[i], order[j] = order[j], order[i] })
		if epoch < now.Epoch || worse() || now.stopped(o) && now.At == 0 {
			continue
		}
		for now.At < len(order) && !now.stopped(o) {
			if err := ctx.Err(); err != nil {
				return now, err
			}
			batch := order[now.At:min(now.At+o.Batch, len(order))]
			now.Step++
			loss, err := t.step(ctx, batch, now.Step)
			if err != nil {
				return now, err
			}
			if loss-loss != 0 {
				return now, fmt.Errorf("%w at step %d of %d; use a lower learning rate", errDiverged, now.Step, total)
			}
			now.At += len(batch)
			now.Sum += loss * float64(len(batch))
			now.Recent = append(now.Recent[max(0, len(now.Recent)+1-recentSteps):], recent{loss * float64(len(batch)), len(batch)})
			o.Progress("fit", now.Step, total, now.Sum/float64(now.At))
			if err := saver.after(t, now); err != nil {
				return now, err
			}
		}
		for r := range p.Tokens() {
			t.adam.settle(p.Rows(), r, now.Step)
		}
		loss, err := held.loss(ctx, set, m, o)
		if err != nil {
			return now, err
		}
		if now.Held = append(now.Held, loss); loss <= slices.Min(now.Held) || now.stopped(o) {
			now.Best = epoch + 1
			t.keep()
		}
		now.Losses = append(now.Losses, now.Sum/float64(now.At))
		now.Epoch, now.At, now.Sum = epoch+1, 0, 0
	}
	t.restore()
	return now, nil
}

// trainer holds the state that the steps share.
type trainer struct {
	problem
	o      Options
	set    *passages
	bridge *modulate.Bridge
	adam   *adam
	bias   *adam // nil where b = 0
	// learner trains the parameters from which w is made; it is nil if w is fixed.
	learner *learner
	sides   *sides             // nil where queries alone are modulated
	lex     []modulate.Lexical // of the batch
	mined   []int32            // [queries × o.Negatives] distinct texts; nil where all passages are candidates
	vectors []float32          // of the candidates of the step, where there are mined ones

	candidates candidates

	best [][]float32 // the weights of the best epoch, see fitted

	dz     []float32
	loss   []float64
	target []int32
	work   []*forward
	grads  [][]float32
	usesOf [][]use // by row of W: its uses in the batch
	used   []int32 // rows of W that the batch uses, in order of first use
}

// use is one occurrence of a token: the row of the batch and its weight in w.
type use struct {
	row    int32
	weight float32
}

func newTrainer(ctx context.Context, q *queries, set *passages, shift []modulate.Shifter, b *modulate.Bridge, p *modulate.Projection, o Options) (*trainer, error) {
	if err := touch(ctx, p, q, b); err != nil {
		return nil, err
	}
	total := (q.len() + o.Batch - 1) / o.Batch * o.Epochs
	t := &trainer{
		problem: problem{q: q, projection: p, shift: shift, tau: o.Tau, spread: spread(o)},
		o:       o, set: set, bridge: b, adam: newAdam(len(p.Tokens()), q.dim, total, o.LearningRate),
		usesOf: make([][]use, len(p.Tokens())),
	}
	most := o.Batch
	if o.Side != "" {
		t.sides = t.newSides()
		most = len(t.sides.all.norm)
	}
	t.lex, t.dz = make([]modulate.Lexical, most), make([]float32, most*q.dim)
	if o.Alone {
		t.even = fuse.Even(q.dim)
	}
	if o.Bias {
		if p.Bias() == nil { // a base may have one to go on from
			if err := p.SetBias(make([]float32, q.dim)); err != nil {
				return nil, err
			}
		}
		t.bias = newAdam(1, q.dim, total, o.LearningRate)
	}
	if learns(b) {
		t.learner = newLearner(q, b, total, q.length, most, o)
	}
	for _, x := range t.fitted() {
		t.best = append(t.best, make([]float32, len(x)))
	}
	return t, t.prepare(ctx)
}

// spread is the spread of fuse.Bound.
func spread(o Options) float64 {
	if math.IsInf(o.Spread, 1) {
		return 0
	}
	return o.Spread
}

// prepare chooses the candidates and allocates the memory of the steps.
func (t *trainer) prepare(ctx context.Context) error {
	d, n := t.q.dim, len(t.set.reps)
	most := n
	switch {
	case t.sides != nil: // each step has its own
	case n <= t.o.AllCandidates:
		all := make([]float32, 0, n*d)
		for _, i := range t.set.reps {
			all = append(all, t.set.corpus.Vector(i)...)
		}
		if err := t.candidates.pack(ctx, all, n, d, t.o.Workers); err != nil {
			return err
		}
	default:
		var err error
		if t.mined, err = mine(ctx, t.q, t.set, t.o); err != nil {
			return err
		}
		most = min(n, t.o.Batch*(1+t.o.Negatives))
	}
	t.loss = make([]float64, t.o.Batch)
	t.target = make([]int32, t.o.Batch)
	for range t.o.Workers {
		t.work = append(t.work, newForward(t.blockRows(most), d, most))
		t.grads = append(t.grads, make([]float32, d))
	}
	return nil
}

// blockRows is the number of queries processed at a time.
func (t *trainer) blockRows(candidates int) int {
	return min(max(leastRows, blockScores/candidates), mostRows, t.o.Batch)
}

// step makes step number on batch and returns its mean loss.
func (t *trainer) step(ctx context.Context, batch []int32, number int) (float64, error) {
	d := t.q.dim
	w := t.projection.Rows()
	moved := t.rows(batch)
	if err := t.weigh(ctx, moved); err != nil {
		return 0, err
	}
	t.collect(moved)
	err := t.eachUsed(ctx, func(_ int, r int32) { t.adam.settle(w, int(r), number-1) })
	if err != nil {
		return 0, err
	}
	target := t.target[:len(batch)]
	for i, r := range batch {
		target[i] = t.q.target[r]
	}
	if t.mined != nil {
		if err := t.gather(ctx, batch, target); err != nil {
			return 0, err
		}
	}
	scale := 1 / float64(len(batch))
	if t.sides != nil {
		err = t.sided(ctx, batch, moved, target, scale)
	} else {
		rows := t.blockRows(t.candidates.n)
		err = each(ctx, t.o.Workers, (len(batch)+rows-1)/rows, func(worker, b int) {
			lo := b * rows
			hi := min(lo+rows, len(batch))
			t.block(t.work[worker], batch[lo:hi], t.lex[lo:hi], &t.candidates, target[lo:hi], scale, t.dz[lo*d:hi*d], t.loss[lo:hi])
		})
	}
	if err != nil {
		return 0, err
	}
	if t.learner != nil {
		if err := t.learner.step(ctx, t, moved, number); err != nil {
			return 0, err
		}
	}
	err = t.eachUsed(ctx, func(worker int, r int32) {
		g := t.grads[worker]
		clear(g)
		for _, u := range t.usesOf[r] {
			vec.Axpy(g, u.weight, t.dz[int(u.row)*d:int(u.row+1)*d])
		}
		t.adam.apply(w, int(r), g, number)
	})
	if t.bias != nil {
		t.bias.apply(t.projection.Bias(), 0, t.biasGradient(len(moved)), number)
	}
	var sum float64
	for _, l := range t.loss[:len(batch)] {
		sum += l
	}
	return sum * scale, err
}

// biasGradient is dL/db = Σ dz over the n rows of the step that have a lexical vector: b is only added
// with W·w, and a query without tokens is unchanged.
func (t *trainer) biasGradient(n int) []float32 {
	d := t.q.dim
	g := t.grads[0]
	clear(g)
	for i := range n {
		if len(t.lex[i].IDs) > 0 {
			vec.Axpy(g, 1, t.dz[i*d:(i+1)*d])
		}
	}
	return g
}

// weigh makes the lexical vectors of batch.
func (t *trainer) weigh(ctx context.Context, batch []int32) error {
	if t.learner != nil {
		return t.learner.weigh(ctx, t.lex, batch)
	}
	if t.q.keeps == keepsNothing {
		return each(ctx, t.o.Workers, len(batch), func(_, i int) {
			t.lex[i] = t.bridge.Weigh(t.lex[i].Emptied(), t.q.input(int(batch[i]), nil))
		})
	}
	for i, r := range batch {
		t.lex[i] = t.q.lexical(int(r))
	}
	return nil
}

// collect lists the rows of W that batch uses, and their uses.
func (t *trainer) collect(batch []int32) {
	for _, r := range t.used {
		t.usesOf[r] = t.usesOf[r][:0]
	}
	t.used = t.used[:0]
	for i, w := range t.lex[:len(batch)] {
		for k, id := range w.IDs {
			r := t.projection.Slot(id)
			if r < 0 { // outside the restricted vocabulary
				continue
			}
			if len(t.usesOf[r]) == 0 {
				t.used = append(t.used, int32(r))
			}
			t.usesOf[r] = append(t.usesOf[r], use{int32(i), w.Weights[k]})
		}
	}
}

// eachUsed calls f(worker, r) for every row of W that the batch uses.
func (t *trainer) eachUsed(ctx context.Context, f func(worker int, r int32)) error {
	const rows = 32 // a worker takes at a time
	return each(ctx, t.o.Workers, (len(t.used)+rows-1)/rows, func(worker, b int) {
		for _, r := range t.used[b*rows : min((b+1)*rows, len(t.used))] {
			f(worker, r)
		}
	})
}

// each calls f(worker, i) for every i below n from that many goroutines and
// waits. It stops early, with ctx's error, when ctx is cancelled.
func each(ctx context.Context, workers, n int, f func(worker, i int)) error {
	var next atomic.Int64
	var wg sync.WaitGroup
	for w := range min(workers, n) {
		wg.Go(func() {
			for ctx.Err() == nil {
				i := int(next.Add(1)) - 1
				if i >= n {
					return
				}
				f(w, i)
			}
		})
	}
	wg.Wait()
	return ctx.Err()
}
