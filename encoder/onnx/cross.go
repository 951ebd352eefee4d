//go:build cgo

package onnx

import (
	"context"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"sync"

	ort "github.com/yalue/onnxruntime_go"

	"github.com/lexsem/lexsem/encoder"
	"github.com/lexsem/lexsem/encoder/tokenizer"
)

// CrossEncoder reads a query and a text together, and scores how well the text answers
// it: an engine.Reranker. It is safe for concurrent use.
type CrossEncoder struct {
	name    string
	opts    Options
	pairs   *encoder.Pairs
	session *session
	slots   chan struct{} // one a running batch
	pool    sync.Pool     // of *buffers

	mu     sync.RWMutex // read-held by Rerank, so that Close waits
	closed bool
}

// OpenCross loads the cross-encoder in dir, which holds model.onnx, with an output
// "logits" [batch, 1], and tokenizer.json. encoder.DescribeCross tells how long a pair
// may be.
//
// Errors: wrapping encoder.ErrUnavailable where the library cannot be loaded,
// encoder.ErrSpec for a wrong description, encoder.ErrTokenizer for a tokenizer that
// cannot be followed or does not tell how two texts are joined, ErrModel for a model that
// cannot be run or has fewer words than the tokenizer, fs.ErrNotExist for a missing file.
func OpenCross(ctx context.Context, dir string, o Options) (*CrossEncoder, error) {
	o, err := o.withDefaults()
	if err != nil {
		return nil, fmt.Errorf("onnx options: %w", err)
	}
	name, most, err := encoder.DescribeCross(dir)
	if err != nil {
		return nil, err
	}
	if o.MaxTokens > 0 {
		most = o.MaxTokens
	}
	t, err := tokenizer.Load(filepath.Join(dir, "tokenizer.json"))
	if err != nil {
		return nil, err
	}
	pairs, err := encoder.NewPairs(t, most)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", dir, err)
	}
	if err := load(o.Library); err != nil {
		return nil, err
	}
	s, err := openCrossSession(filepath.Join(dir, "model.onnx"))
	if err != nil {
		return nil, err
	}
	c := &CrossEncoder{
		name: name, opts: o, pairs: pairs, session: s,
		slots: make(chan struct{}, o.Workers),
		pool:  sync.Pool{New: func() any { return new(buffers) }},
	}
	last := int32(t.VocabSize() - 1) // an embedding that is smaller refuses it
	probe := []encoder.Output{{Tokens: encoder.Tokens{IDs: []int32{last}}}}
	if err := c.batch(make([]float64, 1), probe, [][]int32{{0}}, []int{0}); err != nil {
		return nil, errors.Join(fmt.Errorf("%s: tokenizer.json has the id %d (%.100q), which the model does not take; fetch the model again: %w", dir, last, t.Token(last), err), c.Close())
	}
	if err := ctx.Err(); err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return c, nil
}

// openCrossSession loads the model at path, whose one output that is asked for is the
// score of each row.
func openCrossSession(path string) (*session, error) {
	s, outs, err := readInputs(path)
	if err != nil {
		return nil, err
	}
	i := slices.IndexFunc(outs, func(o value) bool { return o.name == outputLogits && o.element == elementFloat && len(o.dims) == 2 })
	if i < 0 {
		return nil, fmt.Errorf("%w: %s has no output %s [batch, 1] of type float32: it is no cross-encoder", ErrModel, path, outputLogits)
	}
	if n := outs[i].dims[1]; n > 1 {
		return nil, fmt.Errorf("%w: %s classifies texts into %d labels; a cross-encoder that ranks has one", ErrModel, path, n)
	}
	s.logits, s.vocab = outputLogits, 1
	s.s, err = s.start(s.logits)
	return s, err
}

// runScores runs the batch in b and leaves a score a row in b.logits.
func (s *session) runScores(b *buffers) error {
	in, err := s.bind(b)
	if err != nil {
		return err
	}
	defer destroy(in)
	b.logits = slices.Grow(b.logits[:0], b.rows)[:b.rows]
	out, err := ort.NewTensor(ort.NewShape(int64(b.rows), 1), b.logits)
	if err != nil {
		return fmt.Errorf("output %s: %w", s.logits, err)
	}
	defer out.Destroy() // which keeps b.logits alive until here
	return s.s.Run(in, []ort.Value{out})
}

// Name is that of the folder, or what its lexsem-model.json says.
func (c *CrossEncoder) Name() string { return c.name }

// Rerank implements engine.Reranker: the model's own score (its logit) of each text. A
// pair that is too long is cut, the longer part first. Cancelling takes effect between
// batches. Errors: encoder.ErrClosed, ErrModel where the runtime refuses a batch or the
// model gives no finite score, ctx's error.
func (c *CrossEncoder) Rerank(ctx context.Context, query string, texts []string) ([]float64, error) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	if c.closed {
		return nil, encoder.ErrClosed
	}
	return c.pairs.Score(ctx, query, texts, c.window)
}

// window runs the model over pairs, in batches beside each other.
func (c *CrossEncoder) window(ctx context.Context, scores []float64, pairs []encoder.Output, types [][]int32) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var wg sync.WaitGroup
	for _, batch := range pack(pairs, c.opts.BatchTokens) {
		if !acquire(ctx, c.slots) {
			break
		}
		wg.Go(func() {
			defer func() { <-c.slots }()
			if err := c.batch(scores, pairs, types, batch); err != nil {
				cancel(err)
			}
		})
	}
	wg.Wait()
	return context.Cause(ctx)
}

// batch scores the pairs at the indices batch, the first of which is the longest.
func (c *CrossEncoder) batch(scores []float64, pairs []encoder.Output, types [][]int32, batch []int) error {
	b := c.pool.Get().(*buffers)
	defer c.pool.Put(b)
	b.reset(len(batch), len(pairs[batch[0]].Tokens.IDs))
	for r, i := range batch {
		for col, id := range pairs[i].Tokens.IDs {
			at := r*b.cols + col
			b.ids[at], b.mask[at], b.types[at] = int64(id), 1, int64(types[i][col])
		}
	}
	if err := c.session.runScores(b); err != nil {
		return fmt.Errorf("%w: %w", ErrModel, err)
	}
	for r, i := range batch {
		if scores[i] = float64(b.logits[r]); math.IsNaN(scores[i]) || math.IsInf(scores[i], 0) {
			return fmt.Errorf("%w: its score of a pair of %d tokens is %v", ErrModel, len(pairs[i].Tokens.IDs), scores[i])
		}
	}
	return nil
}

// Close waits for running calls of Rerank and frees the model. Rerank answers
// encoder.ErrClosed afterwards; a second Close does so too.
func (c *CrossEncoder) Close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return encoder.ErrClosed
	}
	c.closed = true
	return c.session.close()
}
