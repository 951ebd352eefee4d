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
	"github.com/lexsem/lexsem/encoder/tokenizer"
)

// window is the number of texts that are sorted and packed together. It
// bounds the memory of a call that is given very many; beyond a few thousand
// texts, sorting more of them together saves no padding worth having.
const window = 4096

// Encoder is an encoder.Encoder that runs an ONNX model. It is safe for
// concurrent use.
type Encoder struct {
	spec      encoder.Spec
	opts      Options
	tokenizer encoder.Tokenizer
	session   *session
	pooler    *encoder.Pooler
	print     encoder.Fingerprint
	slots     chan struct{} // one a running batch
	pool      sync.Pool     // of *buffers

	mu     sync.RWMutex // read-held by Encode, so that Close waits
	closed bool
}

var _ encoder.Encoder = (*Encoder)(nil)

// Open loads the model in dir, which holds model.onnx, tokenizer.json and a
// description (encoder.LoadSpec), and computes its fingerprint. With MiniLM it takes
// about 0.3 s, and the process stays below 200 MB while it encodes.
//
// Errors: wrapping encoder.ErrUnavailable where the library cannot be loaded,
// encoder.ErrSpec for a wrong description, encoder.ErrTokenizer for a tokenizer
// that cannot be followed, ErrModel for a model that cannot be run or has fewer
// words than the tokenizer, fs.ErrNotExist for a missing file.
func Open(ctx context.Context, dir string, o Options) (*Encoder, error) {
	o, err := o.withDefaults()
	if err != nil {
		return nil, fmt.Errorf("onnx options: %w", err)
	}
	spec, err := encoder.LoadSpec(dir)
	if err != nil {
		return nil, err
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
	s, err := openSession(filepath.Join(dir, "model.onnx"))
	if err != nil {
		return nil, err
	}
	pooler, err := encoder.NewPooler(dir, spec, tokenizer, s.dim)
	if err != nil {
		return nil, errors.Join(err, s.close())
	}
	e := &Encoder{
		spec: spec, opts: o, tokenizer: tokenizer, session: s, pooler: pooler,
		slots: make(chan struct{}, o.Workers),
		pool:  sync.Pool{New: func() any { return new(buffers) }},
	}
	if err := e.fits(); err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w", dir, err), e.Close())
	}
	if err := e.identify(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("probe the model in %s: %w", dir, err), e.Close())
	}
	return e, nil
}

// fits asks the model for the last id of the vocabulary: an embedding that is
// smaller refuses it.
func (e *Encoder) fits() error {
	last := int32(e.tokenizer.VocabSize() - 1)
	out := []encoder.Output{{Tokens: encoder.Tokens{IDs: []int32{last}}}}
	if err := e.runBatch(encoder.Passage, out, []int{0}, 0); err != nil {
		return fmt.Errorf("tokenizer.json has the id %d (%.100q), which the model does not take; fetch the model again: %w", last, e.tokenizer.Token(last), err)
	}
	return nil
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

// Close waits for running calls of Encode and frees the model. Encode answers
// encoder.ErrClosed afterwards; a second Close does so too.
func (e *Encoder) Close() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed {
		return encoder.ErrClosed
	}
	e.closed = true
	return e.session.close()
}

// Tokenize returns the tokens that Encode would feed to the model.
func (e *Encoder) Tokenize(role encoder.Role, text string) encoder.Tokens {
	return encoder.WithPrefix(e.tokenizer, e.spec.Prefix(role), text, e.spec.MaxTokens)
}

// Encode encodes texts in one role; see encoder.Encoder. With MiniLM a
// processor takes about 6,000 tokens a second (BenchmarkEncode). Cancelling takes
// effect between batches, so within about 0.2 s.
//
// Errors: encoder.ErrNoHidden for NeedHidden where Dense modules change vectors in a
// way in which states cannot follow (encoder.Pooler), encoder.ErrNoLogits for NeedLogits where the model has no output
// "logits" [batch, |V|], encoder.ErrClosed, ErrModel where the runtime refuses
// a batch, ctx's error.
func (e *Encoder) Encode(ctx context.Context, role encoder.Role, in []encoder.Input, need encoder.Need) ([]encoder.Output, error) {
	e.mu.RLock()
	defer e.mu.RUnlock()
	if e.closed {
		return nil, encoder.ErrClosed
	}
	if need&encoder.NeedLogits != 0 && e.session.vocab != e.tokenizer.VocabSize() {
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
	for _, batch := range pack(out, e.opts.BatchTokens) {
		if !acquire(ctx, e.slots) {
			break
		}
		wg.Go(func() {
			defer func() { <-e.slots }()
			if err := e.runBatch(role, out, batch, need); err != nil {
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

// pack returns the indices of out in batches of rows × longest ≤ limit, the
// rows of each of about equal length, the longest batches first, so that the
// last ones to run are short.
func pack(out []encoder.Output, limit int) [][]int {
	order := make([]int, len(out))
	for i := range order {
		order[i] = i
	}
	length := func(i int) int { return len(out[i].Tokens.IDs) }
	slices.SortStableFunc(order, func(a, b int) int { return length(b) - length(a) })
	var batches [][]int
	for len(order) > 0 {
		n := min(len(order), max(1, limit/max(1, length(order[0]))))
		batches = append(batches, order[:n])
		order = order[n:]
	}
	return batches
}

// runBatch encodes the texts at the indices batch, the first of which is the
// longest.
func (e *Encoder) runBatch(role encoder.Role, out []encoder.Output, batch []int, need encoder.Need) error {
	b := e.pool.Get().(*buffers)
	defer e.pool.Put(b)
	d := e.session.dim
	b.reset(len(batch), len(out[batch[0]].Tokens.IDs))
	for r, i := range batch {
		for c, id := range out[i].Tokens.IDs {
			b.ids[r*b.cols+c] = int64(id)
			b.mask[r*b.cols+c] = 1
		}
	}
	head := need&encoder.NeedLogits != 0
	if err := e.session.run(b, head); err != nil {
		return fmt.Errorf("%w: %w", ErrModel, err)
	}
	for r, i := range batch {
		first := r * b.cols * d
		states := b.states[first : first+len(out[i].Tokens.IDs)*d]
		if head {
			v := e.session.vocab
			out[i].Logits = slices.Clone(b.logits[r*v : (r+1)*v])
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
