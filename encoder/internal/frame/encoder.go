package frame

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/lexsem/lexsem/encoder"
	"github.com/lexsem/lexsem/internal/modelspec"
)

// window is the number of texts that are sorted and packed together. It bounds the memory of a large call;
// sorting more than a few thousand texts together saves almost nothing.
const window = 4096

// Model turns tokens into states. It may be called by several goroutines.
type Model interface {
	// Run runs the model over the tokens of one batch, and calls give with the states of each text, [tokens ×
	// d]. With logits it also passes those of the first token, [|V|], which the caller may keep. States are
	// valid only until give returns.
	Run(ctx context.Context, texts []encoder.Output, batch []int, logits bool, give func(text int, states, logits []float32) error) error
	// Close frees the model. It is not called during other calls, and is the last call.
	Close() error
}

// Config holds the parts of an Encoder.
type Config struct {
	Dir       string // of the model
	Spec      modelspec.Spec
	Tokenizer encoder.Tokenizer
	Model     Model
	Dim       int  // of states
	Logits    bool // whether the model has a masked-language-model head over the tokenizer's vocabulary
	Packing   Packing
	Workers   int
	ErrModel  error // wrapped where states cannot be pooled
	Probes    Probes
}

// Encoder is an encoder.Encoder that runs a model.
type Encoder struct {
	c      Config
	pooler *modelspec.Pooler
	tokens func(encoder.Role, string) encoder.Tokens
	print  encoder.Fingerprint
	slots  Slots

	queries []float32 // of each token the logit in a query (WeighQueries), or nil

	mu     sync.RWMutex // read-held by Encode, so that Close waits
	closed bool
}

var _ encoder.Encoder = (*Encoder)(nil)

// New makes an encoder of a model, which Close closes, and computes its fingerprint. After an error the
// model stays open.
func New(ctx context.Context, c Config) (*Encoder, error) {
	pooler, err := modelspec.NewPooler(c.Dir, c.Spec, c.Tokenizer, c.Dim)
	if err != nil {
		return nil, err
	}
	tokens, err := c.Spec.Tokens(c.Tokenizer)
	if err != nil {
		return nil, err
	}
	e := &Encoder{c: c, pooler: pooler, tokens: tokens, slots: NewSlots(c.Workers)}
	if err := e.identify(ctx); err != nil {
		return nil, fmt.Errorf("probe the model in %s: %w", c.Dir, err)
	}
	return e, nil
}

// identify fills in the fingerprint.
func (e *Encoder) identify(ctx context.Context) error {
	spec := e.c.Spec
	e.print = encoder.Fingerprint{
		Model: spec.Model, Precision: spec.Precision, Tokenizer: e.c.Tokenizer.Digest(), Pooling: e.pooler.Name(),
		QueryPrefix: spec.Before(encoder.Query), PassagePrefix: spec.Before(encoder.Passage),
		MaxTokens: spec.MaxTokens, Dim: e.Dim(), VocabSize: e.VocabSize(),
	}
	if p := e.c.Probes.vectors; p != nil && !slices.ContainsFunc(p[:], func(v []float32) bool { return len(v) != e.Dim() }) {
		e.print.Probe = *p
		return nil
	}
	out, err := e.Encode(ctx, encoder.Passage, encoder.Texts(encoder.ProbeTexts[:]...), encoder.NeedDense)
	if err != nil {
		return err
	}
	for i := range out {
		e.print.Probe[i] = out[i].Dense
	}
	e.c.Probes.save(e.print.Probe)
	return nil
}

// WeighQueries gives queries the logits of their tokens in a table, [|V|], in place of the model's. It is not called
// beside other calls.
func (e *Encoder) WeighQueries(logits []float32) { e.queries = logits }

// Dim returns d, the dimension of vectors.
func (e *Encoder) Dim() int { return e.pooler.Dim() }

// VocabSize returns |V|.
func (e *Encoder) VocabSize() int { return e.c.Tokenizer.VocabSize() }

// Token returns the vocabulary entry of id, or "" if there is none.
func (e *Encoder) Token(id int32) string { return e.c.Tokenizer.Token(id) }

// Fingerprint identifies the vector space. The probe vectors are shared: do not write to them.
func (e *Encoder) Fingerprint() encoder.Fingerprint { return e.print }

// Close waits for running calls of Encode and frees the model. Encode and a second Close answer
// encoder.ErrClosed.
func (e *Encoder) Close() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed {
		return encoder.ErrClosed
	}
	e.closed = true
	return e.c.Model.Close()
}

// Tokenize returns the tokens that Encode would feed to the model.
func (e *Encoder) Tokenize(role encoder.Role, text string) encoder.Tokens {
	return e.tokens(role, text)
}

// Encode encodes texts in one role; see encoder.Encoder. Cancellation takes effect between batches at the
// latest.
//
// Errors: encoder.ErrNoHidden for NeedHidden if states cannot follow the model's vectors (modelspec.Pooler),
// encoder.ErrNoLogits for NeedLogits without a masked-language-model head, encoder.ErrClosed, ErrModel of
// the model's package if the model refuses a batch or its states cannot be pooled, ctx's error.
func (e *Encoder) Encode(ctx context.Context, role encoder.Role, in []encoder.Input, need encoder.Need) ([]encoder.Output, error) {
	e.mu.RLock()
	defer e.mu.RUnlock()
	if e.closed {
		return nil, encoder.ErrClosed
	}
	if need&encoder.NeedLogits != 0 && !e.c.Logits {
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
		rest := need
		if role == encoder.Query && e.queries != nil && need&encoder.NeedLogits != 0 {
			for i := start; i < end; i++ {
				if i%64 == 0 && ctx.Err() != nil {
					return nil, ctx.Err()
				}
				out[i].Logits = make([]float32, len(e.queries))
				for _, id := range out[i].Tokens.IDs {
					out[i].Logits[id] = e.queries[id]
				}
			}
			rest &^= encoder.NeedLogits
		}
		if rest == 0 {
			continue
		}
		if err := e.runAll(ctx, role, out[start:end], rest); err != nil {
			return nil, err
		}
	}
	return out, ctx.Err()
}

// EncodeTokens returns the vectors of texts of a role that are given as tokens, which the model sees as they are: at most
// some thousand texts, each of at most as many tokens as the model takes. Errors are those of Encode.
func (e *Encoder) EncodeTokens(ctx context.Context, role encoder.Role, texts []encoder.Tokens) ([][]float32, error) {
	e.mu.RLock()
	defer e.mu.RUnlock()
	if e.closed {
		return nil, encoder.ErrClosed
	}
	out := make([]encoder.Output, len(texts))
	for i, t := range texts {
		out[i].Tokens = t
	}
	if err := e.runAll(ctx, role, out, encoder.NeedDense); err != nil {
		return nil, err
	}
	vectors := make([][]float32, len(out))
	for i := range out {
		vectors[i] = out[i].Dense
	}
	return vectors, nil
}

// runAll encodes texts whose tokens are known, in batches beside each other.
func (e *Encoder) runAll(ctx context.Context, role encoder.Role, texts []encoder.Output, need encoder.Need) error {
	return e.slots.Run(ctx, e.c.Packing.Pack(texts), func(ctx context.Context, batch []int) error {
		return e.run(ctx, role, texts, batch, need)
	})
}

// run encodes the texts of one batch.
func (e *Encoder) run(ctx context.Context, role encoder.Role, out []encoder.Output, batch []int, need encoder.Need) error {
	return e.c.Model.Run(ctx, out, batch, need&encoder.NeedLogits != 0, func(i int, states, logits []float32) error {
		if need&encoder.NeedLogits != 0 {
			out[i].Logits = logits
		}
		if need&encoder.NeedHidden != 0 {
			out[i].Hidden = e.pooler.Hidden(states)
		}
		if need&encoder.NeedDense != 0 {
			var ok bool
			if out[i].Dense, ok = e.pooler.Pool(role, states); !ok {
				return fmt.Errorf("%w: its states of a text of %d tokens cannot be pooled (infinite, not a number or all zero)",
					e.c.ErrModel, len(out[i].Tokens.IDs))
			}
		}
		return nil
	})
}
