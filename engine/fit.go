package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/lexsem/lexsem/encoder"
	"github.com/lexsem/lexsem/engine/internal/chunk"
	"github.com/lexsem/lexsem/index"
	"github.com/lexsem/lexsem/modulate"
	"github.com/lexsem/lexsem/modulate/train"
	"github.com/lexsem/lexsem/store"
)

// fitDir holds what an interrupted fit left, below the database's folder:
// encoded queries and the state of the descent.
const fitDir = "fit"

// Fit fits a bridge on what is stored, without labels. Queries that name no
// variant get it from then on if it finds more of the queries of held-out
// probes than the local bridges do. It works on the state at its start;
// reading and writing go on meanwhile, another Fit waits. Cost: the encoding of
// the training queries (a few hundred a second and core) and two matrix
// products a batch. Cancelling ctx leaves the database as it was; the same Fit
// then, or after a kill, goes on from where it stopped, to the same bridge.
func (e *Engine) Fit(ctx context.Context, o FitOptions) (FitReport, error) {
	done, err := e.use()
	if err != nil {
		return FitReport{}, err
	}
	defer done()
	switch {
	case e.o.ReadOnly:
		return FitReport{}, ErrReadOnly
	case e.enc == nil:
		return FitReport{}, ErrNoEncoder
	}
	select {
	case e.fits <- struct{}{}:
		defer func() { <-e.fits }()
	case <-ctx.Done():
		return FitReport{}, fmt.Errorf("waiting for another fit: %w", ctx.Err())
	}
	c, err := e.corpus(ctx)
	if err != nil {
		return FitReport{}, err
	}
	defer c.view.Close()
	options := train.Options{
		Stack: o.Variant, Sums: c.sums.Sums,
		RLR:  modulate.RLROptions{Alpha: e.o.Alpha, Lambda: e.o.Lambda},
		Seed: o.Seed, QueriesPerPassage: o.QueriesPerPassage, MaxQueries: o.MaxQueries,
		Epochs: o.Epochs, HardNegatives: c.hardNegatives, Seq: c.view.Seq(),
		Progress: func(stage string, done, total int, loss float64) {
			if o.Progress != nil {
				o.Progress(Progress{Stage: stage, Done: done, Total: total, Loss: loss})
			}
		},
	}
	if o.Update {
		b, err := e.base(o.Variant)
		if err != nil {
			return FitReport{}, err
		}
		at := slices.IndexFunc(c.chunks, func(id uint64) bool { return chunk.Ord(id) > b.Last })
		if at < 0 {
			return FitReport{Variant: b.weights.Stack, File: b.File, Seq: b.Seq, Passages: b.Passages, Current: true}, nil
		}
		options.Stack, options.Base, options.Fresh, options.RLR = b.weights.Stack, b.weights, at, b.weights.RLR
	}
	w, r, err := e.train(ctx, c, options)
	if err != nil {
		for _, bad := range []error{train.ErrCorpus, train.ErrOptions, modulate.ErrUnknownVariant, modulate.ErrOptions} {
			if errors.Is(err, bad) {
				return FitReport{}, fmt.Errorf("%w: %w", ErrInvalid, err)
			}
		}
		return FitReport{}, err
	}
	probes := make([]ProbeScore, len(w.Probes))
	for i, p := range w.Probes {
		probes[i] = ProbeScore(p)
	}
	best, choice, err := e.choose(ctx, c, options.Seed, w)
	if err != nil {
		return FitReport{}, err
	}
	file, err := e.saveBridge(ctx, w, c.last(), probes, best)
	if err != nil {
		return FitReport{}, err
	}
	if err := os.RemoveAll(filepath.Join(e.dir, fitDir)); err != nil {
		e.warn("what the fit kept was not removed", "error", err)
	}
	return FitReport{
		Choice: choice, Default: best,
		Variant: w.Stack, File: file, Seq: w.Seq, Passages: r.Passages, Queries: r.Queries,
		Seconds: r.Took.Seconds(), FinalLoss: w.Loss, Probes: probes,
	}, nil
}

// base is the bridge that an update goes on from: that of the variant, else
// the default one.
func (e *Engine) base(variant string) (*bridge, error) {
	e.mu.RLock()
	defer e.mu.RUnlock()
	name := cmp.Or(variant, e.standard)
	if name == "" {
		return nil, fmt.Errorf("nothing to go on from: %w; run fit without update first", ErrNotFitted)
	}
	s, err := modulate.ParseStack(name)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrInvalid, err)
	}
	b := e.bridges[s.Name()]
	switch {
	case b == nil:
		return nil, fmt.Errorf("update of variant %s: %w; run fit without update first", s.Name(), ErrNotFitted)
	case b.err != nil:
		return nil, b.err
	}
	return b, nil
}

// train runs the fit with its state and its encoded queries kept on disk. That
// they cannot be kept does not fail it.
func (e *Engine) train(ctx context.Context, c *corpus, o train.Options) (*modulate.Weights, *train.Report, error) {
	dir := filepath.Join(e.dir, fitDir)
	cache, err := encoder.NewCache(lent{e.enc}, dir, encoder.CacheOptions{MaxBytes: 16 << 30})
	if err != nil {
		e.warn("a fit that is interrupted will begin anew", "error", err)
		return train.Fit(ctx, c, e.enc, o)
	}
	o.Checkpoint = filepath.Join(dir, "state")
	w, r, err := train.Fit(ctx, c, cache, o)
	if closeErr := cache.Close(); closeErr != nil {
		e.warn("encoded queries were not kept", "error", closeErr)
	}
	return w, r, err
}

// lent is an encoder that belongs to another: whoever is given it cannot close
// it.
type lent struct{ encoder.Encoder }

// Close does nothing.
func (lent) Close() error { return nil }

// corpus is the state of the database that a fit works on.
type corpus struct {
	e       *Engine
	view    *store.View
	chunks  []uint64 // ascending by document and chunk
	vectors []float32
	sums    *sums
	text    *store.Document // last read, of version textOf
	textOf  uint64
}

// corpus reads vectors and sums of the last commit; texts are read when asked
// for. The caller closes its view.
func (e *Engine) corpus(ctx context.Context) (*corpus, error) {
	view, err := e.st.Snapshot()
	if err != nil {
		return nil, err
	}
	n, d := view.Len(), e.fp.Dim
	c := &corpus{e: e, view: view, chunks: make([]uint64, 0, n), vectors: make([]float32, 0, n*d)}
	c.sums = &sums{dim: d, vocab: e.fp.VocabSize}
	if err := c.sums.reset(); err != nil {
		view.Close()
		return nil, err
	}
	f := feeder{parts: []part{c.sums}}
	err = view.Scan(ctx, 0, func(ord uint64, rows []store.Row) error {
		vs := chunksOfRows(nil, ord, rows)
		for i := range vs {
			c.chunks = append(c.chunks, vs[i].ord)
			c.vectors = append(c.vectors, vs[i].vector...)
			at := len(c.vectors) - d
			vs[i].vector, vs[i].tokens = c.vectors[at:at+d:at+d], slices.Clone(vs[i].tokens)
		}
		return f.add(vs...)
	})
	if err == nil {
		err = f.flush()
	}
	if err != nil {
		view.Close()
		return nil, err
	}
	return c, nil
}

func (c *corpus) Len() int { return len(c.chunks) }

// last is the highest ordinal.
func (c *corpus) last() uint64 {
	if len(c.chunks) == 0 {
		return 0
	}
	return chunk.Ord(c.chunks[len(c.chunks)-1])
}

// Text is the text of passage i as the encoder saw it.
func (c *corpus) Text(i int) (string, error) {
	id := c.chunks[i]
	if ord := chunk.Ord(id); c.text == nil || c.textOf != ord { // chunks of a document come one after the other
		d, err := c.view.Text(ord)
		if err != nil {
			return "", err
		}
		c.text, c.textOf = d, ord
	}
	row, err := chunkRow(c.text, id)
	if err != nil {
		return "", err
	}
	return chunkText(c.text, row), nil
}

func (c *corpus) Vector(i int) []float32 {
	d := c.e.fp.Dim
	return c.vectors[i*d : (i+1)*d]
}

// hardNegatives returns the passages at ranks [from, to) of the dense search.
func (c *corpus) hardNegatives(ctx context.Context, query []float32, from, to int) ([]int, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	c.e.mu.RLock()
	found, err := c.e.vectors.Search(nil, query, index.SearchOptions{K: to, Ef: to})
	c.e.mu.RUnlock()
	if err != nil {
		return nil, err
	}
	var out []int
	for _, n := range found[min(from, len(found)):] {
		if i, ok := slices.BinarySearchFunc(c.chunks, n.ID, chunk.Compare); ok { // else it came after the fit began
			out = append(out, i)
		}
	}
	return out, nil
}
