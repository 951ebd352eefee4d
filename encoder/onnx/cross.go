//go:build cgo

package onnx

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"

	ort "github.com/yalue/onnxruntime_go"

	"github.com/lexsem/lexsem/encoder/internal/frame"
)

// CrossEncoder reads a query and a text together, and scores how well the text answers
// it: an engine.Reranker. It is safe for concurrent use. Cancelling takes effect between batches.
type CrossEncoder struct{ *frame.CrossEncoder }

// OpenCross loads the cross-encoder in dir: tokenizer.json and model.onnx, with an output "logits"
// [batch, 1]. The length of a pair is that of modelspec.DescribeCross.
//
// Errors: encoder.ErrUnavailable if the library cannot be loaded; modelspec.ErrSpec for a wrong
// description; encoder.ErrTokenizer for a tokenizer that cannot be followed or does not say how two
// texts are joined; ErrModel for a model that cannot be run or has fewer words than the tokenizer;
// fs.ErrNotExist for a missing file.
func OpenCross(ctx context.Context, dir string, o Options) (*CrossEncoder, error) {
	o, err := o.withDefaults()
	if err != nil {
		return nil, fmt.Errorf("onnx options: %w", err)
	}
	p, err := frame.LoadPair(dir, o.MaxTokens)
	if err != nil {
		return nil, err
	}
	if err := load(o.Library); err != nil {
		return nil, err
	}
	s, err := openCrossSession(filepath.Join(dir, "model.onnx"))
	if err != nil {
		return nil, err
	}
	r := newRunner(s)
	if err := r.fits(ctx, p.Tokenizer); err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w", dir, err), r.Close())
	}
	if err := ctx.Err(); err != nil {
		return nil, errors.Join(err, r.Close())
	}
	return &CrossEncoder{frame.NewCross(p, r, o.packing(), o.Workers, ErrModel)}, nil
}

// openCrossSession loads the model at path. It requests only the output that has the score of each row.
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

// runScores runs the batch in b. The scores, one for each row, are then in b.logits.
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
