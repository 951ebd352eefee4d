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
	"github.com/lexsem/lexsem/engine/internal/fitting"
	"github.com/lexsem/lexsem/engine/internal/intake"
	"github.com/lexsem/lexsem/engine/internal/search"
	"github.com/lexsem/lexsem/engine/internal/state"
	"github.com/lexsem/lexsem/index"
	"github.com/lexsem/lexsem/internal/chunk"
	"github.com/lexsem/lexsem/internal/snapshot"
	"github.com/lexsem/lexsem/internal/train"
	"github.com/lexsem/lexsem/internal/vec"
	"github.com/lexsem/lexsem/modulate"
)

// fitDir holds the remains of an interrupted fit, in the database's folder: encoded queries and the state of
// the training.
const (
	fitDir   = "fit"
	fitState = "state"
)

// Fit trains a bridge on the stored documents, without labels. Queries that name no variant use the bridge
// afterwards, if it finds more held-out queries than local bridges do.
//
// Fit works on the state at its start. Reads and writes continue; another Fit waits. After a cancelled ctx or a kill
// the database is unchanged, and the same Fit continues where it stopped, to the same bridge. Cost: encoding the
// training queries, a few hundred a second and core, and two matrix products a batch.
func (e *Engine) Fit(ctx context.Context, o FitOptions) (_ FitReport, err error) {
	ctx, done, err := e.write(ctx)
	if err != nil {
		return FitReport{}, err
	}
	defer done(&err)
	if err := e.metric.Needs("a fit"); err != nil {
		return FitReport{}, err
	}
	switch {
	case e.vectorsOnly():
		return FitReport{}, fmt.Errorf("%w: a fit needs an encoder, and this database has none; rlr and rlr-local need no fit", ErrInvalid)
	case e.enc == nil:
		return FitReport{}, ErrNoEncoder
	case e.enc.VocabSize() == 0:
		return FitReport{}, fmt.Errorf("%w: a fit needs an encoder with a tokenizer, and %s has none; rlr and rlr-local need no fit", ErrInvalid, e.fp.Model)
	}
	select {
	case e.fits <- struct{}{}:
		defer func() { <-e.fits }()
	case <-ctx.Done():
		return FitReport{}, fmt.Errorf("waiting for another fit: %w", ctx.Err())
	}
	if err := e.probed(ctx)(); err != nil {
		return FitReport{}, err
	}
	// The closed form from which the fit starts includes all documents so far.
	if err := e.db.Flush(ctx); err != nil {
		return FitReport{}, err
	}
	ref := e.db.Acquire()
	defer ref.Release()
	defer snapshot.Guard(&err)()
	defer e.db.Repair(&err)
	c := fitting.NewCorpus(ref.Value)
	c.Images = e.images != nil
	if c.Images && e.images.words.Codebook() == nil {
		return FitReport{}, fmt.Errorf("%w: too few images for visual words yet; a fit needs some", ErrInvalid)
	}
	for i, id := range c.IDs {
		if c.Vector(i) == nil {
			return FitReport{}, fmt.Errorf("vector of chunk %d: %w", id, index.ErrCorrupt)
		}
	}
	options := train.Options{
		Stack: o.Variant, Sums: c.S.Sums,
		RLR:  e.rlr(),
		Seed: o.Seed, QueriesPerPassage: o.QueriesPerPassage, MaxQueries: o.MaxQueries,
		Epochs: o.Epochs, HardNegatives: c.HardNegatives, Seq: c.S.Seq,
		Progress: trainProgress(o.Progress),
	}
	if o.Update {
		b, err := base(c.S, o.Variant)
		if err != nil {
			return FitReport{}, err
		}
		at := slices.IndexFunc(c.IDs, func(id uint64) bool { return chunk.Ord(id) > b.Last })
		if at < 0 {
			return FitReport{Variant: b.Weights.Stack, File: b.File, Seq: b.Seq, Passages: b.Passages, Current: true}, nil
		}
		options.Stack, options.Base, options.Fresh, options.RLR = b.Weights.Stack, b.Weights, at, b.Weights.RLR
	}
	w, r, err := e.train(ctx, c, options)
	if err != nil {
		return FitReport{}, fitting.Error(err)
	}
	probes := probeScores(w)
	best, choice, err := e.choose(ctx, c, options.Seed, w)
	if err != nil {
		return FitReport{}, err
	}
	file, err := e.saveBridge(ctx, w, c.Last(), probes, best)
	if err != nil {
		return FitReport{}, err
	}
	e.tidyFit()
	return FitReport{
		Choice: choice, Default: e.standing(),
		Variant: w.Stack, File: file, Seq: w.Seq, Passages: r.Passages, Queries: r.Queries,
		Seconds: r.Took.Seconds(), FinalLoss: w.Loss, Probes: probes,
	}, nil
}

// trainProgress reports a trainer's steps; to may be nil.
func trainProgress(to func(Progress)) func(stage string, done, total int, loss float64) {
	return func(stage string, done, total int, loss float64) {
		if to != nil {
			to(Progress{Stage: stage, Done: done, Total: total, Loss: loss})
		}
	}
}

func probeScores(w *modulate.Weights) []ProbeScore {
	probes := make([]ProbeScore, len(w.Probes))
	for i, p := range w.Probes {
		probes[i] = ProbeScore(p)
	}
	return probes
}

// tidyFit removes the files of the fit, and the folder if it is then empty.
func (e *Engine) tidyFit() {
	dir := filepath.Join(e.dir, fitDir)
	vectors := filepath.Join(dir, e.fp.Digest()+".vectors")
	for _, path := range []string{filepath.Join(dir, fitState), vectors, vectors + ".lock", vectors + ".new"} {
		if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
			e.warn("what the fit kept was not removed", "error", err)
		}
	}
	if left, err := os.ReadDir(dir); err == nil && len(left) == 0 {
		if err := os.Remove(dir); err != nil {
			e.warn("what the fit kept was not removed", "error", err)
		}
	}
}

// base is the bridge that an update starts from: that of the variant, else the default one.
func base(st *state.State, variant string) (*state.Bridge, error) {
	name := cmp.Or(variant, st.Standard)
	if name == "" {
		return nil, fmt.Errorf("nothing to go on from: %w; fit without Update first", ErrNotFitted)
	}
	s, err := modulate.ParseStack(name)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrInvalid, err)
	}
	b := st.Bridges[s.Name()]
	switch {
	case b == nil:
		return nil, fmt.Errorf("update of variant %s: %w; fit without Update first", s.Name(), ErrNotFitted)
	case b.Err != nil:
		return nil, b.Err
	}
	return b, nil
}

// train runs the fit with its state and its encoded queries kept on disk. If these cannot be kept, it does
// not fail.
func (e *Engine) train(ctx context.Context, c *fitting.Corpus, o train.Options) (*modulate.Weights, *train.Report, error) {
	if e.images != nil { // a cache would keep their vectors, and not their tokens
		return train.Fit(ctx, c, e.resolving(c.S), o)
	}
	dir := filepath.Join(e.dir, fitDir)
	cache, err := encoder.NewCache(intake.Lent{Encoder: e.enc}, dir, encoder.CacheOptions{MaxBytes: 16 << 30, MaxStateBytes: -1}) // of queries, which have no states there
	if err != nil {
		e.warn("a fit that is interrupted will begin anew", "error", err)
		return train.Fit(ctx, c, e.enc, o)
	}
	o.Checkpoint = filepath.Join(dir, fitState)
	w, r, err := train.Fit(ctx, c, cache, o)
	if closeErr := cache.Close(); closeErr != nil {
		e.warn("encoded queries were not kept", "error", closeErr)
	}
	return w, r, err
}

// standing is Default for use inside a call.
func (e *Engine) standing() string {
	ref := e.db.Acquire()
	defer ref.Release()
	return search.Default(&ref.Value.Modulation, ModeHybrid)
}

// A query that names no variant gets the one of search.Default. On every corpus measured, local bridges find
// copied words better than any fitted bridge. The bound on their shift keeps questions in other words nearly
// unchanged (docs/method.md). So a fit compares its bridge with them, on probes drawn from the corpus; if
// they win, they continue to serve.

// VariantScore is the share of held-out queries, in [0, 1], whose first hit is the passage they were drawn from.
type VariantScore struct {
	Variant string  `json:"variant"`
	Found   float64 `json:"found"`
}

// choose measures the local bridges and a newly fitted bridge, which is not yet saved, on probes drawn from
// c. It returns the name of the better one; a tie goes to the local bridges. If there are no local bridges,
// they are built for this purpose.
func (e *Engine) choose(ctx context.Context, c *fitting.Corpus, seed uint64, fitted *modulate.Weights) (best string, scores []VariantScore, err error) {
	draw, enc := func(seed uint64) ([]string, []int, error) { return fitting.Probes(c, seed) }, e.enc
	if c.Images {
		draw, enc = c.ImageProbes, e.resolving(c.S)
	}
	texts, targets, err := draw(seed)
	if err != nil {
		return "", nil, err
	}
	s, err := e.db.WithLocal(ctx, c.S)
	if err != nil {
		return "", nil, err
	}
	need := encoder.NeedDense
	variants := []string{VariantLocal, fitted.Stack}
	plans := make([]search.Plan, len(variants))
	for i, v := range variants {
		scores = append(scores, VariantScore{Variant: v})
		if plans[i], err = search.Decide(&s.Modulation, search.Query{K: 1, Mode: ModeDense, Variant: v}, false); err != nil {
			return "", nil, err
		}
		need |= plans[i].Way.Need()
	}
	if plans[1].Way.With, err = modulate.NewStack(fitted.Stack, modulate.Parts{Sums: s.Sums, Weights: fitted, RLR: fitted.RLR}); err != nil {
		return "", nil, err
	}
	for at := 0; at < len(texts); at += encodeWindow {
		part := texts[at:min(at+encodeWindow, len(texts))]
		out, err := enc.Encode(ctx, encoder.Query, encoder.Texts(part...), need)
		if err != nil {
			return "", nil, fmt.Errorf("encoding probes: %w", err)
		}
		for i, o := range out {
			in := modulate.Input{Tokens: o.Tokens.Words(part[i]), Dense: o.Dense, Hidden: o.Hidden, Logits: o.Logits}
			for k, p := range plans {
				ok, err := e.findsFirst(ctx, s, p, in, c.Vector(targets[at+i]))
				if err != nil {
					return "", nil, err
				}
				if ok {
					scores[k].Found += 1 / float64(len(texts))
				}
			}
		}
	}
	best = variants[0]
	if scores[1].Found > scores[0].Found {
		best = variants[1]
	}
	return best, scores, nil
}

// findsFirst reports that a plan ranks a passage with the vector of target first.
func (e *Engine) findsFirst(ctx context.Context, s *state.State, p search.Plan, in modulate.Input, target []float32) (bool, error) {
	r := &search.Run{S: s, By: &s.Modulation, Plan: p, In: in}
	if err := r.Begin(ctx, nil, e.rlr(), func(string) {}); err != nil {
		return false, err
	}
	cs, _, err := r.Candidates(ctx, 1)
	if err != nil || len(cs) == 0 {
		return false, err
	}
	return vec.Dot(s.Vector(cs[0].Ord), target) > 0.99999, nil
}
