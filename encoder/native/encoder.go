package native

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"sync"

	"github.com/lexsem/lexsem/encoder"
	"github.com/lexsem/lexsem/encoder/tokenizer"
)

// window is the number of texts that are sorted and packed together. It
// bounds the memory of a call that is given very many.
const window = 4096

// leastBatch is the number of tokens below which texts are not spread over more
// workers: the weights would have to be read once more by each.
const leastBatch = 64

// Encoder is an encoder.Encoder that computes in Go. It is safe for concurrent
// use.
type Encoder struct {
	spec      encoder.Spec
	opts      Options
	tokenizer encoder.Tokenizer
	model     *model // nil after Close
	pooler    *encoder.Pooler
	print     encoder.Fingerprint
	slots     chan struct{} // one a running batch
	pool      sync.Pool     // of *buffers

	mu sync.RWMutex // read-held by Encode, so that Close waits
}

var _ encoder.Encoder = (*Encoder)(nil)

// Open loads the model in dir, which holds tokenizer.json, a description
// (encoder.LoadSpec) and the weights: model.safetensors, or several files that
// model.safetensors.index.json lists, with a config.json of one of
// transformer.Families; or a BERT as model.onnx, which without a config.json must be
// a graph of basic operations. Of the layers all weights must be float32, float16 or
// bfloat16. It takes MiniLM about 0.1 s, and memory of the size of the weights in
// float32, or a quarter with Int8.
//
// Errors: encoder.ErrSpec for a wrong description, encoder.ErrTokenizer for a
// tokenizer that cannot be followed, ErrModel for a model that
// cannot be run, fs.ErrNotExist for a missing file.
func Open(ctx context.Context, dir string, o Options) (*Encoder, error) {
	o, err := o.withDefaults()
	if err != nil {
		return nil, fmt.Errorf("native options: %w", err)
	}
	spec, err := encoder.LoadSpec(dir)
	if err != nil {
		return nil, err
	}
	if spec.Precision != FP32 {
		return nil, fmt.Errorf("%w: the weights of %s are stored as %s; only those of %s are run without ONNX Runtime", ErrModel, spec.Model, spec.Precision, FP32)
	}
	if o.Precision == Int8 {
		spec.Model, spec.Precision = spec.Model+Int8Suffix, Int8
	}
	if o.MaxTokens > 0 {
		spec.MaxTokens = o.MaxTokens
	}
	tokenizer, err := tokenizer.Load(filepath.Join(dir, "tokenizer.json"))
	if err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	m, err := load(ctx, dir, o.Precision)
	if err != nil {
		return nil, err
	}
	if spec.MaxTokens > m.positions || tokenizer.VocabSize() > m.vocab {
		return nil, fmt.Errorf("%w: %s: %d tokens a text and a vocabulary of %d, the model has %d positions and %d words",
			ErrModel, dir, spec.MaxTokens, tokenizer.VocabSize(), m.positions, m.vocab)
	}
	pooler, err := encoder.NewPooler(dir, spec, tokenizer, m.d)
	if err != nil {
		return nil, err
	}
	e := &Encoder{
		spec: spec, opts: o, tokenizer: tokenizer, model: m, pooler: pooler,
		slots: make(chan struct{}, o.Workers),
		pool:  sync.Pool{New: func() any { return new(buffers) }},
	}
	if err := e.identify(ctx); err != nil {
		return nil, fmt.Errorf("probe the model in %s: %w", dir, err)
	}
	return e, nil
}

// identify fills in the fingerprint.
func (e *Encoder) identify(ctx context.Context) error {
	out, err := e.Encode(ctx, encoder.Passage, encoder.Texts(encoder.ProbeTexts[:]...), encoder.NeedDense)
	if err != nil {
		return err
	}
	e.print = encoder.Fingerprint{
		Model: e.spec.Model, Precision: e.spec.Precision, Tokenizer: e.tokenizer.Digest(), Pooling: e.pooler.Name(),
		QueryPrefix: e.spec.QueryPrefix, PassagePrefix: e.spec.PassagePrefix,
		MaxTokens: e.spec.MaxTokens, Dim: e.Dim(), VocabSize: e.tokenizer.VocabSize(),
	}
	for i := range out {
		e.print.Probe[i] = out[i].Dense
	}
	return nil
}

// Dim returns d.
func (e *Encoder) Dim() int { return e.pooler.Dim() }

// VocabSize returns |V|.
func (e *Encoder) VocabSize() int { return e.tokenizer.VocabSize() }

// Token returns the vocabulary entry of id, or "" where there is none.
func (e *Encoder) Token(id int32) string { return e.tokenizer.Token(id) }

// Fingerprint identifies the vector space. The probe vectors are shared: do
// not write to them.
func (e *Encoder) Fingerprint() encoder.Fingerprint { return e.print }

// Close waits for running calls of Encode and lets go of the model. Encode
// answers encoder.ErrClosed afterwards; a second Close does so too.
func (e *Encoder) Close() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.model == nil {
		return encoder.ErrClosed
	}
	e.model = nil
	return nil
}

// Tokenize returns the tokens that Encode would feed to the model.
func (e *Encoder) Tokenize(role encoder.Role, text string) encoder.Tokens {
	return encoder.WithPrefix(e.tokenizer, e.spec.Prefix(role), text, e.spec.MaxTokens)
}

// Encode encodes texts in one role; see encoder.Encoder. Cancelling takes
// effect between the layers of a batch: with MiniLM and AVX-512 within 10 ms.
//
// Errors: encoder.ErrNoHidden for NeedHidden where Dense modules change vectors in a
// way in which states cannot follow (encoder.Pooler), encoder.ErrNoLogits for NeedLogits where the model has no
// masked-language-model head, encoder.ErrClosed, ErrModel where states cannot
// be pooled, ctx's error.
func (e *Encoder) Encode(ctx context.Context, role encoder.Role, in []encoder.Input, need encoder.Need) ([]encoder.Output, error) {
	e.mu.RLock()
	defer e.mu.RUnlock()
	if e.model == nil {
		return nil, encoder.ErrClosed
	}
	if need&encoder.NeedLogits != 0 && (e.model.head == nil || e.model.vocab != e.tokenizer.VocabSize()) {
		return nil, encoder.ErrNoLogits
	}
	if need&encoder.NeedHidden != 0 && !e.pooler.HasHidden() {
		return nil, encoder.ErrNoHidden
	}
	texts, err := encoder.TextsOf(in)
	if err != nil {
		return nil, err
	}
	out := make([]encoder.Output, len(texts))
	for start := 0; start < len(texts); start += window {
		end := min(start+window, len(texts))
		for i := start; i < end; i++ {
			if i%64 == 0 && ctx.Err() != nil {
				return nil, ctx.Err()
			}
			out[i].Tokens = e.Tokenize(role, texts[i])
		}
		if need != 0 {
			if err := e.encodeWindow(ctx, role, out[start:end], need); err != nil {
				return nil, err
			}
		}
	}
	return out, ctx.Err()
}

// encodeWindow runs the model over the tokens in out and fills in the rest.
func (e *Encoder) encodeWindow(ctx context.Context, role encoder.Role, out []encoder.Output, need encoder.Need) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var wg sync.WaitGroup
	for _, batch := range pack(out, e.opts) {
		if !acquire(ctx, e.slots) {
			break
		}
		wg.Go(func() {
			defer func() { <-e.slots }()
			if err := e.runBatch(ctx, role, out, batch, need); err != nil {
				cancel(err)
			}
		})
	}
	wg.Wait()
	return context.Cause(ctx)
}

// acquire takes a slot for one batch, or reports false once ctx is done.
func acquire(ctx context.Context, slots chan struct{}) bool {
	if ctx.Err() != nil {
		return false
	}
	select {
	case slots <- struct{}{}:
		return true
	case <-ctx.Done():
		return false
	}
}

// pack returns the indices of out in batches of at most o.BatchTokens tokens, or
// of fewer where that would leave workers idle. Texts go longest first, so that
// the last batches to run are short.
func pack(out []encoder.Output, o Options) [][]int {
	order, total := make([]int, len(out)), 0
	length := func(i int) int { return len(out[i].Tokens.IDs) }
	for i := range order {
		order[i] = i
		total += length(i)
	}
	limit := min(o.BatchTokens, max(leastBatch, (total+o.Workers-1)/o.Workers))
	slices.SortStableFunc(order, func(a, b int) int { return length(b) - length(a) })
	var batches [][]int
	for len(order) > 0 {
		n, tokens := 1, length(order[0])
		for n < len(order) && tokens+length(order[n]) <= limit {
			tokens += length(order[n])
			n++
		}
		batches = append(batches, order[:n])
		order = order[n:]
	}
	return batches
}

// runBatch encodes the texts at the indices batch.
func (e *Encoder) runBatch(ctx context.Context, role encoder.Role, out []encoder.Output, batch []int, need encoder.Need) error {
	b := e.pool.Get().(*buffers)
	defer e.pool.Put(b)
	var ids []int32
	ends := make([]int, len(batch))
	for r, i := range batch {
		ids = append(ids, out[i].Tokens.IDs...)
		ends[r] = len(ids)
	}
	all, err := e.model.forward(ctx, b, ids, ends)
	if err != nil {
		return err
	}
	start, d := 0, e.model.d
	for r, i := range batch {
		states := all[start*d : ends[r]*d]
		start = ends[r]
		if need&encoder.NeedLogits != 0 {
			out[i].Logits = e.model.logits(states[:d])
		}
		if need&encoder.NeedHidden != 0 {
			out[i].Hidden = e.pooler.Hidden(states)
		}
		if need&encoder.NeedDense != 0 {
			var ok bool
			if out[i].Dense, ok = e.pooler.Pool(role, states); !ok {
				return fmt.Errorf("%w: its states of a text of %d tokens cannot be pooled (infinite, not a number or all zero)",
					ErrModel, len(out[i].Tokens.IDs))
			}
		}
	}
	return nil
}
