//go:build cgo

package onnx

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"sync"

	"github.com/lexsem/lexsem/encoder"
	"github.com/lexsem/lexsem/encoder/internal/frame"
	"github.com/lexsem/lexsem/encoder/tokenizer"
	"github.com/lexsem/lexsem/internal/modelspec"
)

// Encoder is an encoder.Encoder that runs an ONNX model. It is safe for
// concurrent use. With MiniLM a processor takes about 6,000 tokens a second (BenchmarkEncode).
// Cancelling a call takes effect between batches, so within about 0.2 s.
type Encoder struct{ *frame.Encoder }

// Open loads the model in dir (model.onnx, tokenizer.json and a description, see modelspec.LoadSpec) and
// computes its fingerprint. With MiniLM it takes about 0.3 s, and the process stays below 200 MB while
// it encodes.
//
// Errors: encoder.ErrUnavailable if the library cannot be loaded; modelspec.ErrSpec for a wrong
// description; encoder.ErrTokenizer for a tokenizer that cannot be followed; ErrModel for a model that
// cannot be run or has fewer words than the tokenizer; fs.ErrNotExist for a missing file.
func Open(ctx context.Context, dir string, o Options) (*Encoder, error) {
	o, err := o.withDefaults()
	if err != nil {
		return nil, fmt.Errorf("onnx options: %w", err)
	}
	spec, err := modelspec.LoadSpec(dir)
	if err != nil {
		return nil, err
	}
	if spec.Splade != nil {
		return nil, fmt.Errorf("%w: %s is a SparseEncoder, which only `--backend native` runs", ErrModel, dir)
	}
	if o.MaxTokens > 0 {
		spec.MaxTokens = o.MaxTokens
	}
	tokenizer, err := tokenizer.Load(filepath.Join(dir, "tokenizer.json"))
	if err != nil {
		return nil, err
	}
	if err := load(o.Library); err != nil {
		return nil, err
	}
	known := frame.OpenProbes(ctx, o.Probes, dir, o.Library, spec)
	s, err := findStates(filepath.Join(dir, "model.onnx"))
	if err != nil {
		return nil, err
	}
	r := newRunner(s)
	if !known.Known() || !o.Late {
		if err := s.first(); err != nil {
			return nil, err
		}
	}
	if !known.Known() {
		if err := r.fits(ctx, tokenizer); err != nil {
			return nil, errors.Join(fmt.Errorf("%s: %w", dir, err), r.Close())
		}
	}
	e, err := frame.New(ctx, frame.Config{
		Dir: dir, Spec: spec, Tokenizer: tokenizer, Model: r, Dim: s.dim,
		Logits: s.vocab == tokenizer.VocabSize(), Packing: o.packing(), Workers: o.Workers, ErrModel: ErrModel, Probes: known,
	})
	if err != nil {
		return nil, errors.Join(err, r.Close())
	}
	return &Encoder{e}, nil
}

func (o Options) packing() frame.Packing { return frame.Packing{Tokens: o.BatchTokens, Padded: true} }

// runner runs a session on batches.
type runner struct {
	*session
	pool sync.Pool // of *buffers
}

func newRunner(s *session) *runner {
	return &runner{session: s, pool: sync.Pool{New: func() any { return new(buffers) }}}
}

// fits runs the model on the last id of the vocabulary: a smaller embedding refuses it.
func (r *runner) fits(ctx context.Context, t encoder.Tokenizer) error {
	last := int32(t.VocabSize() - 1)
	probe := []encoder.Output{{Tokens: encoder.Tokens{IDs: []int32{last}}}}
	var err error
	if r.output == "" { // of a cross-encoder
		err = r.Score(ctx, make([]float64, 1), probe, [][]int32{{0}}, []int{0})
	} else {
		err = r.Run(ctx, probe, []int{0}, false, func(int, []float32, []float32) error { return nil })
	}
	if err != nil {
		return fmt.Errorf("tokenizer.json has the id %d (%.100q), which the model does not take; fetch the model again: %w", last, t.Token(last), err)
	}
	return nil
}

// with calls run with the tokens of a batch, padded to the length of its first text, which is the
// longest.
func (r *runner) with(texts []encoder.Output, types [][]int32, batch []int, run func(*buffers) error) error {
	b := r.pool.Get().(*buffers)
	defer r.pool.Put(b)
	b.reset(len(batch), len(texts[batch[0]].Tokens.IDs))
	for row, i := range batch {
		for col, id := range texts[i].Tokens.IDs {
			at := row*b.cols + col
			b.ids[at], b.mask[at] = int64(id), 1
			if types != nil {
				b.types[at] = int64(types[i][col])
			}
		}
	}
	return run(b)
}

// Run implements frame.Model.
func (r *runner) Run(_ context.Context, texts []encoder.Output, batch []int, logits bool, give func(text int, states, logits []float32) error) error {
	return r.with(texts, nil, batch, func(b *buffers) error {
		if err := r.run(b, logits); err != nil {
			return fmt.Errorf("%w: %w", ErrModel, err)
		}
		for row, i := range batch {
			var first []float32
			if logits {
				first = slices.Clone(b.logits[row*r.vocab : (row+1)*r.vocab])
			}
			at := row * b.cols * r.dim
			if err := give(i, b.states[at:at+len(texts[i].Tokens.IDs)*r.dim], first); err != nil {
				return err
			}
		}
		return nil
	})
}

// Score implements frame.Scorer.
func (r *runner) Score(_ context.Context, scores []float64, pairs []encoder.Output, types [][]int32, batch []int) error {
	return r.with(pairs, types, batch, func(b *buffers) error {
		if err := r.runScores(b); err != nil {
			return fmt.Errorf("%w: %w", ErrModel, err)
		}
		for row, i := range batch {
			scores[i] = float64(b.logits[row])
		}
		return nil
	})
}

// Close frees the session.
func (r *runner) Close() error { return r.close() }
